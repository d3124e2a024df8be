package alerts

import (
	"context"
	"encoding/json"
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

// ErrPrivate is returned for a channel with a private or loopback address.
var ErrPrivate = webhook.ErrPrivate

// message is the body of a webhook.
type message struct {
	ID    string        `json:"id"`
	Event string        `json:"event"`
	Alert AlertSnapshot `json:"alert"`
}

// webhookSender posts notifications as JSON, signed according to standardwebhooks.com. The header
// webhook-id is the notification's ID.
func webhookSender(to *webhook.Client) send {
	return func(ctx context.Context, c *Channel, n *Notification, now time.Time) error {
		body, err := json.Marshal(message{n.NotificationID, "alert." + string(n.Event), n.Alert})
		if err != nil {
			return err
		}
		return to.Post(ctx, c.URL, body, webhook.Header("application/json", n.NotificationID, now, body, c.Secret))
	}
}

// Sign returns the webhook-signature of a message. A secret with the prefix whsec_ is base64 after
// it.
func Sign(secret, id, timestamp string, body []byte) string {
	return webhook.Sign(secret, id, timestamp, body)
}

// CheckPublicURL rejects a channel whose URL has a private or loopback address. Names other than
// localhost are not resolved; their addresses are checked at each call. Errors: a *RuleError.
func CheckPublicURL(c *Channel) error {
	if webhook.IsPrivate(c.URL) {
		return &RuleError{Code: "channel_url_private", Field: "url", What: "a private or loopback address, which this server does not call unless it was started with --webhook-private"}
	}
	return nil
}
