package alerts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var webhook = Kind{
	Kind: Webhook, Label: "Webhook", signs: true,
	Fields: []Field{{
		Name: "url", Label: "URL", Help: "URL to post signed JSON to.", Example: "https://example.com/alerts", Type: "url", Required: true,
		text: func(s *Settings) *string { return &s.URL }, check: checkURL,
	}},
	open: func(o Options) (send, error) { return webhookSender(newCaller(o.Private)), nil },
}

// message is the body of a webhook.
type message struct {
	ID    string `json:"id"`
	Event string `json:"event"`
	Alert Told   `json:"alert"`
}

// webhookSender posts notifications as JSON, signed according to standardwebhooks.com. The header
// webhook-id is the notification's ID, the same at every attempt; webhook-timestamp is the time of
// the attempt in epoch seconds; webhook-signature is "v1," and the HMAC-SHA256 of
// "id.timestamp.body" with the channel's secret, in base64.
func webhookSender(to caller) send {
	return func(ctx context.Context, c *Channel, n *Notification, now time.Time) error {
		body, err := json.Marshal(message{n.NotificationID, "alert." + string(n.Event), n.Alert})
		if err != nil {
			return err
		}
		at := strconv.FormatInt(now.Unix(), 10)
		return to.post(ctx, c.URL, body, "Content-Type", "application/json",
			"webhook-id", n.NotificationID, "webhook-timestamp", at, "webhook-signature", Sign(c.Secret, n.NotificationID, at, body))
	}
}

// Sign returns the webhook-signature of a message. A secret with the prefix whsec_ is base64 after
// it.
func Sign(secret, id, timestamp string, body []byte) string {
	key := []byte(secret)
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
			key = raw
		}
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
