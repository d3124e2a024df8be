package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ErrSealed is returned if some aggregates cannot be recomputed, because readings may have expired
// or are unreadable: they would shrink. All other aggregates of the range were processed.
var ErrSealed = errors.New("telemetry: aggregates are sealed")

// Folded waits until all writes are folded. *fold.Worker implements it.
type Folded interface {
	// Drain returns when every change now in the stream, and every change that folding it causes,
	// is folded and durable.
	Drain(ctx context.Context) error
}

// Differences is the result of comparing the aggregates of a range.
type Differences struct {
	Readings    int64        // readings read
	Items       int          // hourly and ten-minute aggregates compared
	Count       int          // aggregates that differed
	List        []Difference // the first two hundred of these
	Sealed      []string     // the first two hundred of SealedItems aggregates that can no longer be compared
	SealedItems int
	Busy        int // aggregates that kept being written
}

// Difference is an aggregate unlike its readings or hours. A missing side has no readings.
type Difference struct{ Stored, Want Aggregate }

const (
	maxListed = 200 // more than the aggregates of a day
	maxTries  = 6
)

// Verify recomputes the hourly and ten-minute aggregates of a device's days from its readings,
// without retracted ones, and compares. Readings may arrive meanwhile. Errors: ErrSealed, ErrRange,
// table.ErrNotFound.
func Verify(ctx context.Context, t *table.Table, w Folded, deviceID string, from, to time.Time) (Differences, error) {
	return reconcile(ctx, t, w, deviceID, from, to, false)
}

// Rebuild is Verify and also repairs differences. Each item is replaced in one write, on condition
// that it is still the one that was compared. Days follow at the next RollUp.
func Rebuild(ctx context.Context, t *table.Table, w Folded, deviceID string, from, to time.Time) (Differences, error) {
	return reconcile(ctx, t, w, deviceID, from, to, true)
}

func reconcile(ctx context.Context, t *table.Table, w Folded, deviceID string, from, to time.Time, repair bool) (Differences, error) {
	r := reconciler{t: t, w: w, deviceID: deviceID, repair: repair}
	err := r.run(ctx, from, to)
	if err == nil && r.found.SealedItems > 0 {
		err = fmt.Errorf("%w: %d, the first %s", ErrSealed, r.found.SealedItems, r.found.Sealed[0])
	}
	if err != nil {
		return r.found, fmt.Errorf("telemetry: aggregates of device %q: %w", shorten(deviceID), err)
	}
	return r.found, nil
}

// reconciler compares a device's aggregates with its readings while readings arrive: it reads an
// aggregate's version, then the readings, waits until all is folded, and reads the version again.
// If it is unchanged, the aggregate counts exactly these readings; otherwise it is tried again.
type reconciler struct {
	t        *table.Table
	w        Folded
	deviceID string
	zone     calendar.Zone
	repair   bool
	found    Differences
}

func (r *reconciler) run(ctx context.Context, from, to time.Time) error {
	if !from.Before(to) || to.Sub(from) > maxRange {
		return fmt.Errorf("%w: from %s to %s", ErrRange, from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	d, err := GetDevice(ctx, r.t, r.deviceID)
	if err != nil {
		return err
	}
	fleet, err := GetFleet(ctx, r.t, d.FleetID)
	if err != nil {
		return err
	}
	if r.zone, err = calendar.LoadZone(fleet.TimeZone); err != nil {
		return err
	}
	for _, day := range calendar.Days(r.zone.Day(from), r.zone.Day(to.Add(-1))) {
		if err := r.compareDay(ctx, day); err != nil {
			return err
		}
	}
	return nil
}

// compareDay compares the aggregates of one day until all are settled or maxTries is reached.
func (r *reconciler) compareDay(ctx context.Context, day string) error {
	if err := r.w.Drain(ctx); err != nil {
		return err
	}
	keys, err := r.storedKeys(ctx, day)
	if err != nil {
		return err
	}
	want, _, err := r.derive(ctx, day)
	if errors.Is(err, ErrDamaged) {
		r.addSealedDay(day, keys)
		return nil
	}
	if err != nil {
		return err
	}
	for k := range want {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b AggregateKey) int {
		return cmp.Or(cmp.Compare(a.Period, b.Period), cmp.Compare(a.Start, b.Start))
	})
	r.found.Items += len(keys)
	for try := 0; len(keys) > 0 && try < maxTries; try++ {
		if keys, err = r.attempt(ctx, day, keys); err != nil {
			return err
		}
	}
	r.found.Busy += len(keys)
	return nil
}

func (r *reconciler) storedKeys(ctx context.Context, day string) (keys []AggregateKey, err error) {
	from, to, err := r.zone.HourRange(day, day)
	if err != nil {
		return nil, err
	}
	for _, p := range []Period{Hourly, TenMinutes} {
		for a, err := range AggregatesByTime.All(ctx, r.t, AggregatesIn{r.deviceID, p, from, to}) {
			if err != nil {
				return nil, err
			}
			keys = append(keys, a.AggregateKey)
		}
	}
	return keys, nil
}

// derive computes the aggregates of a day from its readings.
func (r *reconciler) derive(ctx context.Context, day string) (map[AggregateKey]*Aggregate, []Retraction, error) {
	start, end, err := r.zone.Bounds(day)
	if err != nil {
		return nil, nil, err
	}
	retractions, err := RetractionsOfDevice.Collect(ctx, r.t, DeviceIn{r.deviceID})
	if err != nil {
		return nil, nil, err
	}
	var names calendar.HourNames
	want := make(map[AggregateKey]*Aggregate)
	for one, err := range (ReadingsIn{DeviceID: r.deviceID, From: start, To: end}).All(ctx, r.t) {
		if err != nil {
			return nil, nil, err
		}
		r.found.Readings++
		one.Void = voidOf(retractions, &one)
		addToAggregates(&one, &names, func(k AggregateKey) *Aggregate {
			if want[k] == nil {
				want[k] = &Aggregate{AggregateKey: k}
			}
			return want[k]
		})
	}
	for _, a := range want {
		a.Metrics.Fit()
	}
	return want, retractions, nil
}

// attempt compares aggregates and returns those that were written in the meantime.
func (r *reconciler) attempt(ctx context.Context, day string, keys []AggregateKey) (left []AggregateKey, err error) {
	before, err := fold.Load(ctx, r.t, Aggregates, keys)
	if err != nil {
		return nil, err
	}
	want, retractions, err := r.derive(ctx, day)
	if err != nil {
		return nil, err
	}
	if err := r.w.Drain(ctx); err != nil {
		return nil, err
	}
	after, err := fold.Load(ctx, r.t, Aggregates, keys)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		if before[i].Version != after[i].Version {
			left = append(left, k)
			continue
		}
		err := r.compareAggregate(ctx, &after[i], want[k], retractions)
		if errors.Is(err, table.ErrConflict) {
			left = append(left, k)
		} else if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// compareAggregate compares one aggregate with the computed one; nil means no readings.
func (r *reconciler) compareAggregate(ctx context.Context, stored *fold.Stored[Aggregate], want *Aggregate, retractions []Retraction) error {
	k := stored.State.AggregateKey
	if want == nil {
		want = &Aggregate{AggregateKey: k}
	}
	if s := &stored.State; s.RawUntil != 0 && r.t.Now().Unix() >= s.RawUntil {
		if !isFullyRetracted(s, retractions) {
			if s.Readings > 0 {
				r.addSealed(k)
			}
			return nil
		}
		want = &Aggregate{AggregateKey: k} // everything is retracted, so the readings are not needed
	}
	want.keepRuns(&stored.State)
	if sameReadings(&stored.State, want) {
		return nil
	}
	if r.repair {
		if err := r.replace(ctx, stored, want); err != nil {
			return err
		}
	}
	if r.found.Count++; len(r.found.List) < maxListed {
		r.found.List = append(r.found.List, Difference{stored.State, *want})
	}
	return nil
}

// addSealed records an aggregate that can no longer be compared.
func (r *reconciler) addSealed(k AggregateKey) {
	if r.found.SealedItems++; len(r.found.Sealed) < maxListed {
		r.found.Sealed = append(r.found.Sealed, string(k.Period)+" "+k.Start)
	}
}

// addSealedDay records that no aggregate of a day can be compared: it has unreadable readings.
func (r *reconciler) addSealedDay(day string, stored []AggregateKey) {
	if len(stored) == 0 {
		stored = []AggregateKey{{Period: Daily, Start: day}}
	}
	for _, k := range stored {
		r.addSealed(k)
	}
}

// isFullyRetracted reports whether a bucket is completely retracted and can be emptied without its readings.
func isFullyRetracted(a *Aggregate, retractions []Retraction) bool {
	start := a.startOf()
	return slices.ContainsFunc(retractions, func(w Retraction) bool {
		return w.LiftedAt.IsZero() && len(w.Metrics) == 0 && !w.From.After(start) && !w.To.Before(start.Add(a.Period.width()))
	})
}

// keepRuns keeps runs that were derived earlier from the same number of readings.
func (a *Aggregate) keepRuns(stored *Aggregate) {
	for i := range stored.Metrics {
		s := &stored.Metrics[i]
		if s.Run == nil {
			continue
		}
		for j := range a.Metrics {
			if m := &a.Metrics[j]; m.Name == s.Name && m.Kind == s.Kind && m.Count == s.Known {
				m.Run, m.Known = s.Run, s.Known
			}
		}
	}
}

// sameReadings compares stored with wanted aggregates. Stored ones may have later arrivals and
// earlier expiries, of readings that were retracted.
func sameReadings(stored, want *Aggregate) bool {
	w := *want
	w.keep(stored)
	w.FleetID, w.Day = stored.FleetID, stored.Day
	return sameAggregate(stored, &w)
}

// keep keeps what must outlive retracted readings. An aggregate that lost all readings stays, with
// zero counts, to record until when it can be recomputed.
func (a *Aggregate) keep(stored *Aggregate) {
	was := *stored
	was.Readings, was.Late, was.Corrections = 0, 0, 0
	a.addFigures(&was)
}

func (r *reconciler) replace(ctx context.Context, stored *fold.Stored[Aggregate], want *Aggregate) error {
	want.keep(&stored.State)
	f, err := GetFleet(ctx, r.t, want.FleetID)
	if err != nil {
		return err
	}
	want.ExpiresAt = expiryOf(want, f.Retention)
	return fold.ReplaceState(ctx, r.t, Aggregates, want.AggregateKey, *want, stored.Version)
}
