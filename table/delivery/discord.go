package delivery

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/onefold/onefold/internal/webhook"
)

const (
	maxDiscordTitle = 256  // characters of an embed's title
	maxDiscordText  = 3900 // of its description, which has 4,096 characters
)

var discord = Kind{
	Kind: Discord, Label: "Discord",
	Fields: []Field{{
		Name: "url", Label: "Webhook URL", Help: "URL of a webhook of a Discord channel.", Example: "https://discord.com/api/webhooks/…", Type: "url", Required: true,
		text: func(s *Settings) *string { return &s.URL }, check: webhook.CheckURL,
	}},
	open: func(o Options) (send, error) {
		return jsonSender(webhook.NewClient(webhook.Options{Private: o.Private}), discordBody), nil
	},
}

// discordBody formats a message as https://docs.discord.com/developers/resources/webhook#execute-webhook
// specifies. The text is a code block, which shows columns and interprets nothing; mentions are off.
func discordBody(m *Message) any {
	text := strings.ReplaceAll(m.Text, "```", "'''")
	embed := map[string]any{
		"title":       cutRunes(escapeMarkdown(oneLine(m.Title)), maxDiscordTitle),
		"description": "```\n" + cutRunes(text, maxDiscordText) + "\n```",
		"color":       colors[m.Urgency],
	}
	if m.Link != "" {
		embed["url"] = m.Link
	}
	return map[string]any{"embeds": []any{embed}, "allowed_mentions": map[string]any{"parse": []string{}}}
}

// colors of messages, as in the dashboard.
var colors = map[Urgency]int{Calm: 0x4f46e5, Info: 0x4f46e5, Warning: 0xd97706, Critical: 0xdc2626, Recovered: 0x16a34a}

// escapeMarkdown keeps punctuation from being markup.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_~|<>[]()#@:", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func postJSON(ctx context.Context, client *webhook.Client, address string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	return client.Post(ctx, address, text, h)
}
