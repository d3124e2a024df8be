package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

// Links are the URLs that a message may have. They are "" if the URL of the server is unknown.
type Links struct {
	Site        string // dashboard of the site
	Settings    string // where its reports and alerts are set
	Unsubscribe string // only for mail
}

// Render makes a message of a notification's content: title, texts, urgency and link. The rest is
// filled in.
type Render func(n *Notification, links Links) (delivery.Message, error)

// Renders are the ways to make messages, by the prefix of the event.
type Renders map[string]Render

// Options configure an Outbox.
type Options struct {
	Senders delivery.Senders
	BaseURL string // URL of the server, for links; "": none
	Renders Renders
	Counts  *delivery.Counts // counts attempts; default: none
}

// NewOutbox returns the messages about all sites.
func NewOutbox(o Options) *delivery.Outbox[Notification, NotificationKey] {
	return &delivery.Outbox[Notification, NotificationKey]{
		Name: "notify", Items: Notifications,
		Key:    func(n *Notification) NotificationKey { return n.NotificationKey },
		Status: func(n *Notification) *delivery.Status { return &n.Status }, Counts: o.Counts,
		Receiver: receiver,
		Due: func(ctx context.Context, t *table.Table, shard int, before time.Time) ([]Notification, error) {
			due, err := dueNotifications.Page(ctx, t, dueIn{Shard: shard, To: before}, "", 100)
			return due.Items, err
		},
		Send: o.send,
	}
}

// receiver names what takes a message: a channel, or for mail one of a few connections to the mail
// server.
func receiver(n *Notification) string {
	if n.To != "" {
		return fmt.Sprint("mail ", n.Shard)
	}
	return n.SiteID + "#" + n.ChannelID
}

func (o *Options) send(ctx context.Context, t *table.Table, n *Notification) (skip bool, failed error) {
	c, ok, err := n.reachable(ctx, t)
	if err != nil || !ok {
		return err == nil, err
	}
	m, err := o.message(n, &c)
	if err != nil {
		return false, err
	}
	return false, o.Senders.Send(ctx, c.Target, m, t.Now())
}

// webhookBody is the body of a webhook. The content is under the prefix of the event.
func webhookBody(n *Notification, prefix string) ([]byte, error) {
	return json.Marshal(map[string]any{"id": n.NotificationID, "event": n.Event, "site": n.SiteID, prefix: json.RawMessage(n.Content)})
}

func (o *Options) message(n *Notification, c *Channel) (*delivery.Message, error) {
	prefix, _, _ := strings.Cut(n.Event, ".")
	render := o.Renders[prefix]
	if render == nil {
		return nil, fmt.Errorf("this version of onefold cannot send %q", n.Event)
	}
	links := Links{Unsubscribe: c.UnsubscribeURL(o.BaseURL, n.To)}
	if o.BaseURL != "" {
		links.Site = strings.TrimSuffix(o.BaseURL, "/") + "/sites/" + url.PathEscape(n.SiteID)
		links.Settings = links.Site + "/settings/reports"
	}
	m, err := render(n, links)
	if err != nil {
		return nil, err
	}
	m.ID, m.Event, m.Unsubscribe = n.NotificationID, n.Event, links.Unsubscribe
	if n.To != "" {
		m.To = []string{n.To}
	}
	m.Body, err = webhookBody(n, prefix)
	return &m, err
}

// Test sends a test message through a channel, once, to all recipients, and returns its ID. It is not
// stored and not retried.
func Test(ctx context.Context, senders delivery.Senders, c *Channel, now time.Time) (id string, err error) {
	id = ulid.Make().String() + ".test." + c.ChannelID
	body, err := json.Marshal(map[string]any{"id": id, "event": "test", "site": c.SiteID})
	if err != nil {
		return id, err
	}
	return id, senders.Send(ctx, c.Target, &delivery.Message{
		ID: id, Event: "test", Title: "Test message from onefold: " + c.SiteID, Urgency: delivery.Info, Body: body,
		Text: "This channel works. Reports and alerts of the site " + c.SiteID + " can be sent through it.\n",
	}, now)
}
