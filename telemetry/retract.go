package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/metric"
)

const maxRetractions = 200 // per device: every reading is compared with all of them

// Retract excludes the readings of a device in [From, To), including later arrivals, from all
// aggregates. It takes effect when maintenance or ApplyRetractions runs. Errors: ErrInvalid,
// ErrRange, table.ErrNotFound.
func Retract(ctx context.Context, t *table.Table, n Retraction) (Retraction, error) {
	err := n.check()
	if err == nil {
		_, err = GetDevice(ctx, t, n.DeviceID)
	}
	if err == nil {
		err = roomForOne(ctx, t, n.DeviceID)
	}
	if err == nil {
		n.RetractionID, n.CreatedAt, n.AppliedAt, n.LiftedAt = ulid.Make().String(), nowOf(t), time.Time{}, time.Time{}
		n.From, n.To = n.From.UTC().Truncate(time.Millisecond), n.To.UTC().Truncate(time.Millisecond)
		if err = ask(ctx, t, ToRetract, n.DeviceID); err == nil {
			err = Retractions.Create(ctx, t, &n)
		}
	}
	if err != nil {
		return n, fmt.Errorf("telemetry: retract: %w", err)
	}
	return n, nil
}

// covers reports whether the retraction is in force for readings of a time.
func (w *Retraction) covers(at time.Time) bool {
	return w.LiftedAt.IsZero() && !at.Before(w.From) && at.Before(w.To)
}

func (w *Retraction) check() error {
	if !w.From.Before(w.To) || w.To.Sub(w.From) > maxRange {
		return fmt.Errorf("%w: from %s to %s", ErrRange, w.From.Format(time.RFC3339), w.To.Format(time.RFC3339))
	}
	if len(w.Metrics) > maxMetrics || len(w.Reason) > maxName || len(w.By) > maxName {
		return fmt.Errorf("%w: use at most %d metrics and a reason of at most %d bytes", ErrInvalid, maxMetrics, maxName)
	}
	for _, name := range w.Metrics {
		if !metric.Valid(name) {
			return fmt.Errorf("%w: metric %q", ErrInvalid, shorten(name))
		}
	}
	return nil
}

func roomForOne(ctx context.Context, t *table.Table, deviceID string) error {
	all, err := RetractionsOfDevice.Collect(ctx, t, DeviceIn{deviceID})
	if err == nil && len(all) >= maxRetractions {
		err = fmt.Errorf("%w: the device has %d retractions; it can have at most %d", ErrInvalid, len(all), maxRetractions)
	}
	return err
}

// Lift lifts a retraction. Errors: table.ErrNotFound.
func Lift(ctx context.Context, t *table.Table, k RetractionKey) error {
	err := ask(ctx, t, ToRetract, k.DeviceID)
	if err == nil {
		_, err = Retractions.Modify(ctx, t, k, func(w *Retraction) error {
			if w.LiftedAt.IsZero() {
				w.LiftedAt = nowOf(t)
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("telemetry: lift retraction %s: %w", k.RetractionID, err)
	}
	return nil
}

// ApplyRetractions recomputes the aggregates in the ranges of new and lifted retractions. waiting
// means that collectors may still use the old retractions, so it must run again after
// SettingsNotice. Sealed aggregates are emptied if retracted completely; otherwise they stay, and
// the error is ErrSealed. Days follow at the next RollUp.
func ApplyRetractions(ctx context.Context, t *table.Table, w Folded, deviceID string) (waiting bool, err error) {
	all, err := RetractionsOfDevice.Collect(ctx, t, DeviceIn{deviceID})
	if err != nil {
		return false, err
	}
	all = slices.DeleteFunc(all, func(x Retraction) bool { return !x.AppliedAt.IsZero() && x.LiftedAt.IsZero() })
	for i := range all {
		x := &all[i]
		settled := latest(x.CreatedAt, x.LiftedAt).Add(SettingsNotice)
		_, err := Rebuild(ctx, t, w, deviceID, x.From, x.To)
		if err != nil && !errors.Is(err, ErrSealed) {
			return waiting, err
		}
		if t.Now().Before(settled) {
			waiting = true
			continue
		}
		if note := x.applied(ctx, t); note != nil || err != nil {
			return waiting, errors.Join(note, err)
		}
	}
	return waiting, nil
}

// applied records that the aggregates reflect a retraction, and deletes a lifted one.
func (w *Retraction) applied(ctx context.Context, t *table.Table) error {
	if !w.LiftedAt.IsZero() {
		return Retractions.Delete(ctx, t, w.RetractionKey)
	}
	_, err := Retractions.Modify(ctx, t, w.RetractionKey, func(x *Retraction) error {
		x.AppliedAt = nowOf(t)
		return nil
	})
	return err
}
