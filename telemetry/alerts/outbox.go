package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
)

// NewOutbox returns the notifications of all fleets, to be sent with senders. Attempts are counted in
// counts, unless it is nil.
func NewOutbox(senders delivery.Senders, counts *delivery.Counts) *delivery.Outbox[Notification, NotificationKey] {
	return &delivery.Outbox[Notification, NotificationKey]{
		Name: "alerts", Items: Notifications,
		Key:    func(n *Notification) NotificationKey { return n.NotificationKey },
		Status: func(n *Notification) *delivery.Status { return &n.Status }, Counts: counts,
		Receiver: func(n *Notification) string { return n.FleetID + "#" + n.ChannelID },
		Due: func(ctx context.Context, t *table.Table, shard int, before time.Time) ([]Notification, error) {
			due, err := dueNotifications.Page(ctx, t, dueIn{Shard: shard, To: before}, "", 100)
			return due.Items, err
		},
		Send: func(ctx context.Context, t *table.Table, n *Notification) (bool, error) {
			return try(ctx, t, senders, n)
		},
	}
}

// try sends a notification, unless it is no longer wanted.
func try(ctx context.Context, t *table.Table, senders delivery.Senders, n *Notification) (skip bool, failed error) {
	c, err := Channels.Get(ctx, t, ChannelKey{n.FleetID, n.ChannelID})
	if errors.Is(err, table.ErrNotFound) || err == nil && c.Off {
		return true, nil
	} else if err != nil {
		return false, err
	}
	a, err := telemetry.Alerts.Get(ctx, t, telemetry.AlertKey{DeviceID: n.Alert.DeviceID, AlertID: n.Alert.AlertID})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return false, err
	}
	if t.Now().Before(a.SnoozedUntil) {
		return true, nil
	}
	m, err := n.message()
	if err != nil {
		return false, err
	}
	return false, senders.Send(ctx, c.target(), m, t.Now())
}

// tested is the event of a test message.
const tested telemetry.Transition = "test"

// Test sends a test message to a channel, once, and returns its ID. It is not stored and not
// retried.
func Test(ctx context.Context, senders delivery.Senders, c *Channel, now time.Time) (id string, err error) {
	id = fmt.Sprintf("%s.%s.%s", ulid.Make(), tested, c.ChannelID)
	now = now.UTC().Truncate(time.Millisecond)
	n := Notification{
		NotificationKey: NotificationKey{c.FleetID, id}, ChannelID: c.ChannelID, Event: tested,
		Alert: AlertSnapshot{FleetID: c.FleetID, Message: "a message to see whether it arrives", Severity: telemetry.Info, Since: now, FiredAt: now},
	}
	m, err := n.message()
	if err != nil {
		return id, err
	}
	return id, senders.Send(ctx, c.target(), m, now)
}

// Resend makes a dead-lettered or skipped notification due again. Others stay as they are. Errors:
// table.ErrNotFound.
func Resend(ctx context.Context, t *table.Table, k NotificationKey) (Notification, error) {
	n, err := Notifications.Modify(ctx, t, k, func(n *Notification) error {
		n.Status.Resend(t.Now())
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("alerts: resend %s: %w", k.NotificationID, err)
	}
	return n, nil
}
