package telemetry

import (
	"context"
	"time"
)

// maxLooked limits the readings examined to find whether a metric has few enough for a curve.
const maxLooked = 20_000

// finest reads a curve in the finest resolution that is kept for the whole range and has at most
// MaxPoints points. Readings are counted, because not every reading has every metric.
func (r *seriesReader) finest(ctx context.Context, s *Series) error {
	s.Resolution = Raw
	if found, err := r.few(ctx, s); found || err != nil {
		return err
	}
	for _, p := range []Period{TenMinutes, Hourly} {
		if p == TenMinutes && !r.fleet.TenMinutes || r.in.To.Sub(r.in.From)/p.width() > time.Duration(r.in.MaxPoints) {
			continue
		}
		buckets, err := r.starts(p)
		if err != nil {
			return err
		}
		if len(buckets) > r.in.MaxPoints {
			continue
		}
		kept, err := r.kept(ctx, p)
		if err != nil {
			return err
		}
		if kept {
			s.Resolution = p
			return r.buckets(ctx, s, buckets)
		}
	}
	s.Resolution = Daily
	return r.read(ctx, s)
}

// few reads the readings if they are few enough and none has expired.
func (r *seriesReader) few(ctx context.Context, s *Series) (found bool, err error) {
	looked, err := r.raw(ctx, s, r.in.MaxPoints, maxLooked)
	found = err == nil && len(s.Points) <= r.in.MaxPoints && looked <= maxLooked
	if found && r.age() >= r.fleet.Retention.Raw() {
		if found = len(s.Points) > 0; found { // imported readings are kept from their import on
			found, err = r.rawKept(ctx)
		}
	}
	if !found {
		s.Points = nil
	}
	return found, err
}

// age returns the age of the start of the range.
func (r *seriesReader) age() time.Duration { return r.t.Now().Sub(r.in.From) }

// rawKept reports whether no reading of the range's days has expired.
func (r *seriesReader) rawKept(ctx context.Context) (bool, error) {
	for day, err := range AggregatesByTime.All(ctx, r.t, r.days()) {
		if err != nil || day.RawUntil <= r.t.Now().Unix() {
			return false, err
		}
	}
	return true, nil
}

// days selects the daily aggregates of the range.
func (r *seriesReader) days() AggregatesIn {
	return AggregatesIn{r.in.DeviceID, Daily, r.zone.Day(r.in.From), r.zone.Day(r.in.To.Add(-1)) + "~"}
}

// kept reports whether all buckets of the range still exist. They are kept for the fleet's
// retention, and those of imported readings from the import on: then the buckets of a day have as
// many readings as the day itself.
func (r *seriesReader) kept(ctx context.Context, p Period) (bool, error) {
	if keep := r.fleet.Retention.Of(p); keep == 0 || r.age() < keep {
		return true, nil
	}
	in := r.days()
	from, _, err := r.zone.Bounds(r.zone.Day(r.in.From))
	if err != nil {
		return false, err
	}
	_, to, err := r.zone.Bounds(r.zone.Day(r.in.To.Add(-1)))
	if err != nil {
		return false, err
	}
	whole := *r
	whole.in.From, whole.in.To = from, to
	buckets, err := whole.starts(p)
	if err != nil || len(buckets) == 0 {
		return false, err
	}
	counted := make(map[string]int64)
	for a, err := range AggregatesByTime.All(ctx, r.t, AggregatesIn{r.in.DeviceID, p, buckets[0].name, buckets[len(buckets)-1].name + "~"}) {
		if err != nil {
			return false, err
		}
		counted[a.Day] += a.Readings
	}
	for day, err := range AggregatesByTime.All(ctx, r.t, in) {
		if err != nil || counted[day.Start] < day.Readings {
			return false, err
		}
	}
	return len(counted) > 0, nil
}
