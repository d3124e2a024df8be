package alerts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

const (
	maxAttempts = 12 // over about five hours
	claimFor    = 2 * time.Minute
	firstPause  = 10 * time.Second
	longPause   = time.Hour
	maxError    = 500 // bytes
)

// Options configure how a process sends notifications. The zero value sends none by email, and
// calls only public addresses.
type Options struct {
	Private bool // call private and loopback addresses, too
	Mail    Mail // the mail server; none without Addr
}

// send makes one attempt to send a notification.
type send func(ctx context.Context, c *Channel, n *Notification, now time.Time) error

// Senders sends notifications by kind of channel. An attempt of a kind that is not configured fails
// and is retried; the zero value has none.
type Senders struct {
	Random func() float64 // jitter in [0, 1); default math/rand
	by     map[ChannelKind]send
}

// NewSenders returns senders of all kinds for which the options suffice. Errors:
// telemetry.ErrInvalid (a *RuleError) for invalid options.
func NewSenders(o Options) (Senders, error) {
	s := Senders{by: map[ChannelKind]send{}}
	for i := range Kinds {
		one, err := Kinds[i].open(o)
		if err != nil {
			return s, err
		}
		s.by[Kinds[i].Kind] = one
	}
	return s, nil
}

// Deliver sends all due notifications once, and returns how many were sent. If an answer is lost,
// the notification is sent again with the same ID. Deliver may run concurrently: each notification
// is claimed for two minutes. Failed attempts are retried with exponential backoff; after twelve
// attempts the notification is a dead letter, see Resend.
func Deliver(ctx context.Context, t *table.Table, s Senders) (sent int, err error) {
	if s.Random == nil {
		s.Random = rand.Float64
	}
	for shard := range Shards {
		in := dueIn{Shard: shard, To: t.Now().UTC().Add(time.Millisecond)}
		due, err := dueNotifications.Page(ctx, t, in, "", 100)
		if err != nil {
			return sent, fmt.Errorf("alerts: deliver: %w", err)
		}
		for i := range due.Items {
			ok, err := s.deliver(ctx, t, due.Items[i].NotificationKey)
			if err != nil {
				return sent, fmt.Errorf("alerts: deliver %s: %w", due.Items[i].NotificationID, err)
			}
			if ok {
				sent++
			}
		}
	}
	return sent, nil
}

var errNotDue = errors.New("alerts: not due")

func (s *Senders) deliver(ctx context.Context, t *table.Table, k NotificationKey) (sent bool, err error) {
	n, err := Notifications.Modify(ctx, t, k, func(n *Notification) error {
		if n.State != Waiting || n.Due.After(t.Now()) {
			return errNotDue
		}
		n.Due, n.Attempts = t.Now().UTC().Add(claimFor), n.Attempts+1
		return nil
	})
	if errors.Is(err, errNotDue) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	skip, failed := s.try(ctx, t, &n)
	if ctx.Err() != nil {
		return false, ctx.Err() // the result is unknown: retry when the claim ends
	}
	_, err = Notifications.Modify(ctx, t, k, func(n *Notification) error {
		n.settle(t.Now().UTC().Truncate(time.Millisecond), skip, failed, s.Random())
		return nil
	})
	return err == nil && !skip && failed == nil, err
}

// try sends a notification, unless it is no longer wanted.
func (s *Senders) try(ctx context.Context, t *table.Table, n *Notification) (skip bool, failed error) {
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
	return false, s.send(ctx, &c, n, t.Now())
}

func (s *Senders) send(ctx context.Context, c *Channel, n *Notification, now time.Time) error {
	send := s.by[c.Kind]
	if send == nil {
		return fmt.Errorf("this server is not configured to send notifications by %s", c.Kind)
	}
	return send(ctx, c, n, now)
}

// tested is the event of a test message.
const tested telemetry.Transition = "test"

// Test sends a test message to a channel, once, and returns its ID. It is not stored and not
// retried.
func (s *Senders) Test(ctx context.Context, c *Channel, now time.Time) (id string, err error) {
	id = fmt.Sprintf("%s.%s.%s", ulid.Make(), tested, c.ChannelID)
	now = now.UTC().Truncate(time.Millisecond)
	return id, s.send(ctx, c, &Notification{
		NotificationKey: NotificationKey{c.FleetID, id}, ChannelID: c.ChannelID, Event: tested, CreatedAt: now,
		Alert: AlertSnapshot{FleetID: c.FleetID, Message: "a message to see whether it arrives", Severity: telemetry.Info, Since: now, FiredAt: now},
	}, now)
}

// settle records the result of an attempt.
func (n *Notification) settle(now time.Time, skip bool, failed error, random float64) {
	switch {
	case skip:
		n.State, n.ExpiresAt = Skipped, now.Add(keepSent)
	case failed == nil:
		n.State, n.SentAt, n.LastError, n.ExpiresAt = Sent, now, "", now.Add(keepSent)
	default:
		text := failed.Error()
		n.LastError = strings.ToValidUTF8(text[:min(len(text), maxError)], "?")
		if n.Attempts >= maxAttempts {
			n.State, n.ExpiresAt = Dead, now.Add(keepDead)
			return
		}
		pause := min(firstPause<<min(n.Attempts-1, 20), longPause)
		n.Due = now.Add(pause/2 + time.Duration(random*float64(pause/2))).Truncate(time.Millisecond)
	}
}

// Resend makes a dead-lettered or skipped notification due again. Others stay as they are. Errors:
// table.ErrNotFound.
func Resend(ctx context.Context, t *table.Table, k NotificationKey) (Notification, error) {
	n, err := Notifications.Modify(ctx, t, k, func(n *Notification) error {
		if n.State == Dead || n.State == Skipped {
			n.State, n.Attempts, n.Due, n.ExpiresAt = Waiting, 0, t.Now().UTC().Truncate(time.Millisecond), time.Time{}
		}
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("alerts: resend %s: %w", k.NotificationID, err)
	}
	return n, nil
}
