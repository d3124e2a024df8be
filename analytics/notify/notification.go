package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

// NotificationKey names a message about a site. The ID consists of what it reports, the site, the
// channel and, for mail, a hash of the recipient.
type NotificationKey struct {
	SiteID         string `dynamodbav:"siteId"`
	NotificationID string `dynamodbav:"notificationId"`
}

// Notification is a message to one channel, or one recipient of a mail channel.
type Notification struct {
	NotificationKey
	ChannelID string `dynamodbav:"channelId"`
	To        string `dynamodbav:"to,omitempty"` // recipient of mail
	Shard     int    `dynamodbav:"shard"`
	Event     string `dynamodbav:"event"`   // such as report.weekly
	Title     string `dynamodbav:"title"`   // what lists of messages show
	Content   string `dynamodbav:"content"` // JSON
	delivery.Status
}

// Notifications holds the messages about sites.
var Notifications = table.Define[Notification, NotificationKey]("analytics.notification", table.Def[Notification]{
	PK: "SITE#{siteId}", SK: "NOTIFICATION#{notificationId}",
	Indexes: []table.Index[Notification]{{
		Name: "gsi1", PK: "SITE_OUTBOX#{shard}", SK: "DUE#{due:ms}#{siteId}#{notificationId}",
		When: func(n *Notification) bool { return n.State == delivery.Waiting }, WhenReads: []string{"state"},
	}},
	Doc: "A report or alert of a site through one channel, with its delivery status.",
	Example: func(n *Notification) {
		n.Event, n.State, n.Attempts, n.LastError, n.Content = "report.weekly", delivery.Waiting, 0, "", `{"every": "weekly"}`
	},
})

// NotificationsIn selects the messages of a site by state; "" means all.
type NotificationsIn struct {
	SiteID string         `dynamodbav:"siteId"`
	State  delivery.State `dynamodbav:"-"`
}

var notificationState = table.FieldOf(Notifications, func(n *Notification) *delivery.State { return &n.State })

// NotificationsOfSite queries the messages of a site.
var NotificationsOfSite = table.NewQuery(Notifications, table.QueryDef[NotificationsIn]{
	ID: "WN2", Question: "the messages of a site, including dead letters", Desc: true,
	Filter: func(in NotificationsIn) table.Cond {
		if in.State == "" {
			return table.Cond{}
		}
		return notificationState.Eq(in.State)
	},
	Load: table.Load{PerSecond: 0.01, Items: 50, ItemBytes: 3_000},
})

type dueIn struct {
	Shard int       `dynamodbav:"shard"`
	To    time.Time `dynamodbav:"to"`
}

var dueNotifications = table.NewQuery(Notifications, table.QueryDef[dueIn]{
	ID: "WN3", Question: "the messages about sites that are due", Index: "gsi1", From: "DUE#", To: "DUE#{to:ms}",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 3_000},
})

// Schema holds the entities and access patterns of this package.
var Schema = table.MustSchema("analytics.notify", Channels, ChannelsOfSite, Notifications, NotificationsOfSite, dueNotifications)

// News is something to tell about a site.
type News struct {
	SiteID string
	// ID names it, with letters, digits and . _ - ; whatever has the same ID is told once. Lists of
	// messages are in the order of IDs, last first.
	ID      string
	Event   string // PREFIX.EVENT, such as report.weekly. The prefix says which Render makes the message
	Title   string
	Content any      // becomes JSON
	Through []string // channel IDs; empty: all channels
}

// Enqueue creates the messages that tell news, unless they exist, and returns how many there are. They
// are sent by the Outbox.
func Enqueue(ctx context.Context, t *table.Table, n News) (messages int, err error) {
	content, err := json.Marshal(n.Content)
	if err != nil {
		return 0, fmt.Errorf("notify: %s: %w", n.ID, err)
	}
	channels, err := ChannelsOfSite.Collect(ctx, t, SiteIn{n.SiteID})
	if err != nil {
		return 0, fmt.Errorf("notify: %s: %w", n.ID, err)
	}
	for i := range channels {
		c := &channels[i]
		if c.Off || len(n.Through) > 0 && !slices.Contains(n.Through, c.ChannelID) {
			continue
		}
		for _, to := range c.recipients() {
			id := messageID(n.ID, n.SiteID, c.ChannelID, to)
			one := Notification{
				NotificationKey: NotificationKey{n.SiteID, id}, ChannelID: c.ChannelID, To: to, Shard: table.Shard(id, delivery.Shards),
				Event: n.Event, Title: n.Title, Content: string(content), Status: delivery.NewStatus(t.Now()),
			}
			if err := Notifications.Create(ctx, t, &one); err != nil && !errors.Is(err, table.ErrExists) {
				return messages, fmt.Errorf("notify: %s: %w", id, err)
			}
			messages++
		}
	}
	return messages, nil
}

// messageID returns an ID that no other message has, whatever its site: receivers drop a message whose
// ID they have seen.
func messageID(news, site, channel, to string) string {
	id := news + "." + site + "." + channel
	if to != "" {
		sum := sha256.Sum256([]byte(to))
		id += "." + hex.EncodeToString(sum[:8])
	}
	return id
}

// Resend makes a dead-lettered or skipped message due again. Others stay as they are. Errors:
// table.ErrNotFound.
func Resend(ctx context.Context, t *table.Table, k NotificationKey) (Notification, error) {
	n, err := Notifications.Modify(ctx, t, k, func(n *Notification) error {
		n.Status.Resend(t.Now())
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("notify: resend %s: %w", k.NotificationID, err)
	}
	return n, nil
}

// reachable reports whether a message is still wanted: the site and the channel exist, and the
// recipient has not left.
func (n *Notification) reachable(ctx context.Context, t *table.Table) (c Channel, ok bool, err error) {
	if _, err := analytics.GetSite(ctx, t, n.SiteID); err != nil {
		return c, false, missing(err)
	}
	if c, err = Channels.Get(ctx, t, ChannelKey{n.SiteID, n.ChannelID}); err != nil {
		return c, false, missing(err)
	}
	return c, !c.Off && slices.Contains(c.recipients(), n.To), nil
}

func missing(err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}
