package delivery

import (
	"context"
	"time"

	"github.com/onefold/onefold/internal/webhook"
)

var webhookKind = Kind{
	Kind: Webhook, Label: "Webhook", signs: true,
	Fields: []Field{{
		Name: "url", Label: "URL", Help: "URL to post signed JSON to.", Example: "https://example.com/alerts", Type: "url", Required: true,
		text: func(s *Settings) *string { return &s.URL }, check: webhook.CheckURL,
	}},
	open: func(o Options) (send, error) {
		return webhookSender(webhook.NewClient(webhook.Options{Private: o.Private})), nil
	},
}

// webhookSender posts the JSON of messages, signed according to standardwebhooks.com. The header
// webhook-id is the message's ID.
func webhookSender(client *webhook.Client) send {
	return func(ctx context.Context, to *Target, m *Message, now time.Time) error {
		return client.Post(ctx, to.URL, m.Body, webhook.Header("application/json", m.ID, now, m.Body, to.Secret))
	}
}

// Sign returns the webhook-signature of a message. A secret with the prefix whsec_ is base64 after
// it.
func Sign(secret, id, timestamp string, body []byte) string {
	return webhook.Sign(secret, id, timestamp, body)
}
