package alerts

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/webhook"
	"github.com/onefold/onefold/telemetry"
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

// ntfySender publishes notifications as https://docs.ntfy.sh/publish/ specifies, in plain text.
func ntfySender(to *webhook.Client) send {
	return func(ctx context.Context, c *Channel, n *Notification, _ time.Time) error {
		priority, tag := urgency(n)
		h := http.Header{}
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Priority", priority)
		h.Set("Tags", tag+","+string(n.Event))
		h.Set("Title", mime.QEncoding.Encode("utf-8", cutTo(oneLine(n.subject()), maxTitle)))
		if c.Click != "" {
			h.Set("Click", c.Click)
		}
		if c.Token != "" {
			h.Set("Authorization", "Bearer "+c.Token)
		}
		return to.Post(ctx, c.URL, []byte(cutTo(n.Alert.text(), maxText)), h)
	}
}

// urgency returns a priority of ntfy and a tag that it shows as an emoji. Only alerts that fire may
// interrupt people.
func urgency(n *Notification) (priority, tag string) {
	switch {
	case n.Event == telemetry.Resolves || n.Event == telemetry.Withdraws:
		return "default", "white_check_mark"
	case n.Alert.Severity == telemetry.Critical:
		return "urgent", "rotating_light"
	case n.Alert.Severity == telemetry.Warning:
		return "high", "warning"
	}
	return "default", "information_source"
}

func cutTo(s string, size int) string { return strings.ToValidUTF8(s[:min(len(s), size)], "") }

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
