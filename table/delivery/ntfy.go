package delivery

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/webhook"
)

const (
	maxTitle = 250
	maxText  = 4000 // ntfy turns messages of more than 4,096 bytes into attachments
	maxToken = 200
)

var ntfy = Kind{
	Kind: Ntfy, Label: "ntfy",
	Fields: []Field{{
		Name: "url", Label: "Topic URL", Help: "URL of the ntfy topic to publish to.", Example: "https://ntfy.sh/your-topic", Type: "url", Required: true,
		text: func(s *Settings) *string { return &s.URL }, check: checkTopic,
	}, {
		Name: "token", Label: "Access token", Help: "Access token of the ntfy topic (default: none).", Type: "text", Secret: true,
		text: func(s *Settings) *string { return &s.Token }, check: checkToken,
	}, {
		Name: "click", Label: "Link", Help: "Page to open when a message is tapped, such as the dashboard (default: none).", Example: "https://onefold.example.com", Type: "url",
		text: func(s *Settings) *string { return &s.Click }, check: webhook.CheckURL,
	}},
	open: func(o Options) (send, error) {
		return ntfySender(webhook.NewClient(webhook.Options{Private: o.Private})), nil
	},
}

// ntfySender publishes messages as https://docs.ntfy.sh/publish/ specifies, in plain text.
func ntfySender(client *webhook.Client) send {
	return func(ctx context.Context, to *Target, m *Message, _ time.Time) error {
		h := http.Header{}
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Priority", priorities[m.Urgency])
		h.Set("Tags", tags[m.Urgency]+","+m.kindOfEvent())
		h.Set("Title", mime.QEncoding.Encode("utf-8", cut(oneLine(m.Title), maxTitle)))
		if click := cmp.Or(to.Click, m.Link); click != "" {
			h.Set("Click", click)
		}
		if to.Token != "" {
			h.Set("Authorization", "Bearer "+to.Token)
		}
		return client.Post(ctx, to.URL, []byte(cut(m.Text, maxText)), h)
	}
}

// Priorities of ntfy, and tags that it shows as emojis. Only problems may interrupt people.
var (
	priorities = map[Urgency]string{Calm: "default", Info: "default", Warning: "high", Critical: "urgent", Recovered: "default"}
	tags       = map[Urgency]string{Calm: "bar_chart", Info: "information_source", Warning: "warning", Critical: "rotating_light", Recovered: "white_check_mark"}
)

func checkTopic(address string) string {
	if problem := webhook.CheckURL(address); problem != "" {
		return problem
	}
	if u, err := url.Parse(address); err != nil || strings.Trim(u.Path, "/") == "" {
		return "end the URL with a topic, such as https://ntfy.sh/your-topic"
	}
	return ""
}

func checkToken(token string) string {
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "use at most 200 letters, digits and punctuation marks, without spaces"
	}
	return ""
}
