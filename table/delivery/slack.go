package delivery

import (
	"context"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/webhook"
)

const (
	maxSlackTitle = 150  // characters of a header block
	maxSlackText  = 2900 // of a section, which has 3,000 characters
)

var slack = Kind{
	Kind: Slack, Label: "Slack",
	Fields: []Field{{
		Name: "url", Label: "Webhook URL", Help: "URL of an incoming webhook of Slack, Mattermost or Rocket.Chat.", Example: "https://hooks.slack.com/services/…", Type: "url", Required: true,
		text: func(s *Settings) *string { return &s.URL }, check: webhook.CheckURL,
	}},
	open: func(o Options) (send, error) {
		return jsonSender(webhook.NewClient(webhook.Options{Private: o.Private}), slackBody), nil
	},
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type slackBlock struct {
	Type string     `json:"type"`
	Text *slackText `json:"text"`
}

// slackBody formats a message as https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
// specifies. Texts of a message are never markup, so that nobody can be mentioned, or a link be
// disguised, through a page's title or a device's name.
func slackBody(m *Message) any {
	title := oneLine(m.Title)
	blocks := []slackBlock{
		{"header", &slackText{"plain_text", cutRunes(title, maxSlackTitle)}},
		{"section", &slackText{"plain_text", cutRunes(m.Text, maxSlackText)}},
	}
	if m.Link != "" {
		blocks = append(blocks, slackBlock{"section", &slackText{"mrkdwn", "<" + slackLink.Replace(m.Link) + "|Open in onefold>"}})
	}
	return map[string]any{"text": slackEscape.Replace(title), "blocks": blocks} // text is what notifications show
}

// Markup of Slack has three characters to escape in texts, and one more in links.
var (
	slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	slackLink   = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C")
)

// cutRunes shortens a text to a number of characters.
func cutRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// jsonSender posts what a format makes of messages.
func jsonSender(client *webhook.Client, format func(*Message) any) send {
	return func(ctx context.Context, to *Target, m *Message, _ time.Time) error {
		return postJSON(ctx, client, to.URL, format(m))
	}
}
