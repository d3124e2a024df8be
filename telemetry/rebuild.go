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

// ErrSealed is returned when aggregates may no longer be made again, because some of the readings that they were made of
// may have expired or cannot be read: they would shrink. All others of the range were done.
var ErrSealed = errors.New("telemetry: aggregates are sealed")

// Folded waits until what was written is folded. *fold.Worker is one.
type Folded interface {
	// Drain returns when every change that is in the stream now, and every change that its folding makes, is folded
	// and durable.
	Drain(ctx context.Context) error
}

// Differences is what aggregates of a range were found to be.
type Differences struct {
	Readings    int64        // that were read
	Items       int          // hourly and ten-minute aggregates that were compared
	Count       int          // that differed
	List        []Difference // the first two hundred of these
	Sealed      []string     // the first two hundred, of SealedItems, that cannot be compared any more
	SealedItems int
	Busy        int // that were written again and again meanwhile
}

// Difference is an aggregate that is not what its readings, or its hours, make. Both sides have its key; the side that is
// missing has no readings.
type Difference struct{ Stored, Want Aggregate }

const (
	maxListed = 200 // no day has more hours and tens of minutes
	maxTries  = 6
)

// Verify makes the hourly and ten-minute aggregates of a device's days again, from its readings but for what is
// retracted, and compares. Readings may come meanwhile. Errors: ErrSealed, table.ErrNotFound.
func Verify(ctx context.Context, t *table.Table, w Folded, deviceID string, from, to time.Time) (Differences, error) {
	return reconcile(ctx, t, w, deviceID, from, to, false)
}

// Rebuild is Verify that also mends what differs, each item in one write on condition that it is still the one that was
// compared. Days follow at the next RollUp.
func Rebuild(ctx context.Context, t *table.Table, w Folded, deviceID string, from, to time.Time) (Differences, error) {
	return reconcile(ctx, t, w, deviceID, from, to, true)
}

func reconcile(ctx context.Context, t *table.Table, w Folded, deviceID string, from, to time.Time, mend bool) (Differences, error) {
	r := reconciler{t: t, w: w, deviceID: deviceID, mend: mend}
	err := r.run(ctx, from, to)
	if err == nil && r.found.SealedItems > 0 {
		err = fmt.Errorf("%w: %d, the first %s", ErrSealed, r.found.SealedItems, r.found.Sealed[0])
	}
	if err != nil {
		return r.found, fmt.Errorf("telemetry: aggregates of device %q: %w", shorten(deviceID), err)
	}
	return r.found, nil
}

// reconciler compares one device's aggregates with its readings. An aggregate is compared with exactly the readings that
// it counts, while readings come: its version is read, then the readings, then everything is folded, then it is read
// again. If its version still is the same it counts just these; else it is tried again.
type reconciler struct {
	t        *table.Table
	w        Folded
	deviceID string
	zone     calendar.Zone
	mend     bool
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
		if err := r.day(ctx, day); err != nil {
			return err
		}
	}
	return nil
}

// day compares the aggregates of one day, until all are settled or it was tried often enough.
func (r *reconciler) day(ctx context.Context, day string) error {
	if err := r.w.Drain(ctx); err != nil {
		return err
	}
	keys, err := r.storedKeys(ctx, day)
	if err != nil {
		return err
	}
	want, _, err := r.derive(ctx, day)
	if errors.Is(err, ErrDamaged) {
		r.leaveOutDay(day, keys)
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

// derive makes the aggregates of a day from its readings.
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

// attempt compares aggregates, and returns those that were written meanwhile.
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
		err := r.settle(ctx, &after[i], want[k], retractions)
		if errors.Is(err, table.ErrConflict) {
			left = append(left, k)
		} else if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// settle compares one aggregate with what its readings make; nil is nothing.
func (r *reconciler) settle(ctx context.Context, stored *fold.Stored[Aggregate], want *Aggregate, retractions []Retraction) error {
	k := stored.State.AggregateKey
	if want == nil {
		want = &Aggregate{AggregateKey: k}
	}
	if s := &stored.State; s.RawUntil != 0 && r.t.Now().Unix() >= s.RawUntil {
		if !wholly(s, retractions) {
			if s.Readings > 0 {
				r.leaveOut(k)
			}
			return nil
		}
		want = &Aggregate{AggregateKey: k} // of nothing, whatever it was
	}
	want.keepRuns(&stored.State)
	if sameReadings(&stored.State, want) {
		return nil
	}
	if r.mend {
		if err := r.replace(ctx, stored, want); err != nil {
			return err
		}
	}
	if r.found.Count++; len(r.found.List) < maxListed {
		r.found.List = append(r.found.List, Difference{stored.State, *want})
	}
	return nil
}

// leaveOut notes an aggregate that cannot be compared any more.
func (r *reconciler) leaveOut(k AggregateKey) {
	if r.found.SealedItems++; len(r.found.Sealed) < maxListed {
		r.found.Sealed = append(r.found.Sealed, string(k.Period)+" "+k.Start)
	}
}

// leaveOutDay notes that no aggregate of a day can be compared, because some of its readings cannot be read.
func (r *reconciler) leaveOutDay(day string, stored []AggregateKey) {
	if len(stored) == 0 {
		stored = []AggregateKey{{Period: Daily, Start: day}}
	}
	for _, k := range stored {
		r.leaveOut(k)
	}
}

// wholly reports whether everything of a bucket is retracted: then it can be emptied without its readings.
func wholly(a *Aggregate, retractions []Retraction) bool {
	start := a.startOf()
	return slices.ContainsFunc(retractions, func(w Retraction) bool {
		return w.LiftedAt.IsZero() && len(w.Metrics) == 0 && !w.From.After(start) && !w.To.Before(start.Add(a.Period.width()))
	})
}

// keepRuns takes over what was derived before from as many readings.
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

// sameReadings compares what is stored with what is wanted. What is stored may know of later arrivals and earlier
// expiries: those of readings that were retracted.
func sameReadings(stored, want *Aggregate) bool {
	w := *want
	w.keep(stored)
	w.FleetID, w.Day = stored.FleetID, stored.Day
	return sameAggregate(stored, &w)
}

// keep takes over what outlives the readings that were counted: an aggregate that has lost all of them stays, with
// nothing counted, to know until when it can be made again.
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
