package alerts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// Errors of actions on an alert.
var (
	// ErrEnded is returned when acknowledging or snoozing an alert that has ended.
	ErrEnded = errors.New("alerts: the alert is closed")
	// ErrSnooze is returned for a snooze that ends in the past, or more than 31 days from now.
	ErrSnooze = errors.New("alerts: the end of a snooze must be within the next 31 days")
	// ErrComment is returned for a comment that is empty or longer than 2,000 bytes.
	ErrComment = errors.New("alerts: a comment must have 1 to 2,000 bytes")
)

const (
	maxSnooze  = 31 * 24 * time.Hour
	maxComment = 2000
)

// Acknowledge records who takes care of an alert. Repeating it changes nothing. Errors: ErrEnded,
// table.ErrNotFound.
func Acknowledge(ctx context.Context, t *table.Table, k telemetry.AlertKey, by string) (telemetry.Alert, error) {
	return act(ctx, t, k, "acknowledge", func(a *telemetry.Alert, now time.Time) error {
		if a.State == telemetry.Resolved {
			return ErrEnded
		}
		if !a.AckedAt.IsZero() {
			return nil
		}
		a.AckedAt, a.AckedBy = now, by
		note(a, telemetry.AlertNote{At: now, By: by, What: "acknowledged"})
		return nil
	})
}

// Snooze suppresses notifications of an alert until a time. A zero time ends a snooze. Errors:
// ErrEnded, ErrSnooze, table.ErrNotFound.
func Snooze(ctx context.Context, t *table.Table, k telemetry.AlertKey, by string, until time.Time) (telemetry.Alert, error) {
	return act(ctx, t, k, "snooze", func(a *telemetry.Alert, now time.Time) error {
		if a.State == telemetry.Resolved {
			return ErrEnded
		}
		if until = until.UTC().Truncate(time.Millisecond); until.IsZero() {
			note(a, telemetry.AlertNote{At: now, By: by, What: "unsnoozed"})
		} else if !until.After(now) || until.Sub(now) > maxSnooze {
			return ErrSnooze
		} else {
			note(a, telemetry.AlertNote{At: now, By: by, What: "snoozed", Text: "until " + until.Format(time.RFC3339)})
		}
		a.SnoozedUntil = until
		return nil
	})
}

// Comment adds a comment to an alert's history. Errors: ErrComment, table.ErrNotFound.
func Comment(ctx context.Context, t *table.Table, k telemetry.AlertKey, by, text string) (telemetry.Alert, error) {
	return act(ctx, t, k, "comment on", func(a *telemetry.Alert, now time.Time) error {
		if text = strings.ToValidUTF8(strings.TrimSpace(text), "?"); text == "" || len(text) > maxComment {
			return ErrComment
		}
		note(a, telemetry.AlertNote{At: now, By: by, What: "commented", Text: text})
		return nil
	})
}

func act(ctx context.Context, t *table.Table, k telemetry.AlertKey, what string, do func(*telemetry.Alert, time.Time) error) (telemetry.Alert, error) {
	a, err := telemetry.Alerts.Modify(ctx, t, k, func(a *telemetry.Alert) error {
		if err := do(a, t.Now().UTC().Truncate(time.Millisecond)); err != nil {
			return err
		}
		a.Rev++
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("alerts: %s alert %s: %w", what, k.AlertID, err)
	}
	return a, nil
}

// Pending returns the rules that may soon fire for a device, with the time since when each has been
// breached without interruption.
func Pending(ctx context.Context, t *table.Table, deviceID string) (map[string]time.Time, error) {
	pending := make(map[string]time.Time)
	for w, err := range watchesOf.All(ctx, t, telemetry.DeviceIn{DeviceID: deviceID}) {
		if err != nil {
			return nil, fmt.Errorf("alerts: pending of device %s: %w", deviceID, err)
		}
		if w.Phase == episode.Pending {
			pending[w.RuleID] = moment(w.FirstAt)
		}
	}
	return pending, nil
}
