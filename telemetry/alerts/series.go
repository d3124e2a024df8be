package alerts

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// compiled is a rule that is ready to run.
type compiled struct {
	telemetry.Rule
	levels episode.Levels
	since  int64 // epoch milliseconds: readings that arrived earlier are ignored; 0: none are
}

// made returns when the rule was created, in epoch milliseconds; 0 for built-in rules.
func (c *compiled) made() int64 {
	if c.CreatedAt.IsZero() {
		return 0
	}
	return c.CreatedAt.UnixMilli()
}

// begun returns the watch of the rule for a device. It is reset if the stored watch belongs to
// another version, or to an earlier rule with the same ID.
func (c *compiled) begun(w Watch) Watch {
	if w.Version != c.Version || w.RuleMade != 0 && w.RuleMade != c.made() {
		w = Watch{WatchKey: w.WatchKey, Version: c.Version, Rev: w.Rev}
	}
	w.RuleMade = c.made()
	return w
}

func compile(r telemetry.Rule) (*compiled, error) {
	c := &compiled{Rule: r}
	c.levels.Cmp, c.levels.Below, c.levels.For, c.levels.KeepFor = (*decimalsum.Decimal).Cmp, r.Below, int64(r.For)*1000, int64(r.KeepFor)*1000
	if r.NoData {
		return c, nil
	}
	var err error
	if c.levels.Raise, err = decimalsum.Parse(r.Raise); err != nil {
		return nil, fmt.Errorf("%w: raise: %w", telemetry.ErrInvalid, err)
	}
	if c.levels.Clear = c.levels.Raise; r.Clear != "" {
		if c.levels.Clear, err = decimalsum.Parse(r.Clear); err != nil {
			return nil, fmt.Errorf("%w: clear: %w", telemetry.ErrInvalid, err)
		}
	}
	return c, nil
}

// point returns a reading as a point of the rule's series; ok is false if the rule ignores it.
func (c *compiled) point(r *telemetry.Reading, retractions []telemetry.Retraction) (p episode.Point, ok bool) {
	v, there := r.Values[c.Metric]
	if !there || !v.IsNumber() || r.Arrived < c.since || telemetry.Retracted(retractions, r.At, c.Metric) {
		return p, false
	}
	p.Key = episode.Key{At: r.At.UnixMilli(), Disc: r.Disc}
	var err error
	p.Value, err = decimalsum.Parse(v.String())
	return p, err == nil
}

// series is what a rule runs over for one device: points in order from a key on, and backward from
// a key that is itself excluded.
type series interface {
	from(ctx context.Context, k episode.Key) iter.Seq2[episode.Point, error]
	back(ctx context.Context, k episode.Key) iter.Seq2[episode.Point, error]
	// exists reports which keys still have a stored item, whether or not it is a point.
	exists(ctx context.Context, keys []episode.Key) (map[episode.Key]bool, error)
}

func seriesOf(t *table.Table, c *compiled, deviceID string, retractions []telemetry.Retraction) series {
	if c.Over != "" {
		return &aggregates{t, c, deviceID}
	}
	return &rawSeries{t, c, deviceID, retractions}
}

// rawSeries is the series of a metric's readings.
type rawSeries struct {
	t           *table.Table
	rule        *compiled
	deviceID    string
	retractions []telemetry.Retraction
}

func (s *rawSeries) from(ctx context.Context, k episode.Key) iter.Seq2[episode.Point, error] {
	in := telemetry.ReadingsIn{DeviceID: s.deviceID, From: time.UnixMilli(k.At).UTC(), Partial: true}
	return points(in.All(ctx, s.t), s.point, func(p *episode.Point) bool { return p.Compare(k) >= 0 })
}

func (s *rawSeries) back(ctx context.Context, k episode.Key) iter.Seq2[episode.Point, error] {
	in := telemetry.ReadingsIn{DeviceID: s.deviceID, To: time.UnixMilli(k.At + 1).UTC(), Partial: true}
	return points(in.Back(ctx, s.t), s.point, func(p *episode.Point) bool { return p.Compare(k) < 0 })
}

func (s *rawSeries) exists(ctx context.Context, keys []episode.Key) (map[episode.Key]bool, error) {
	ask := make([]telemetry.ReadingKey, len(keys))
	for i, k := range keys {
		ask[i] = telemetry.ReadingKey{DeviceID: s.deviceID, At: time.UnixMilli(k.At).UTC(), Disc: k.Disc}
	}
	in := telemetry.ReadingsIn{DeviceID: s.deviceID, Partial: true}
	all, err := in.Exists(ctx, s.t, ask)
	there := make(map[episode.Key]bool, len(all))
	for r := range all {
		there[episode.Key{At: r.At.UnixMilli(), Disc: r.Disc}] = true
	}
	return there, err
}

func (s *rawSeries) point(r *telemetry.Reading) (episode.Point, bool) {
	return s.rule.point(r, s.retractions)
}

// points yields the wanted points of items.
func points[T any](items iter.Seq2[T, error], point func(*T) (episode.Point, bool), wanted func(*episode.Point) bool) iter.Seq2[episode.Point, error] {
	return func(yield func(episode.Point, error) bool) {
		for one, err := range items {
			if err != nil {
				yield(episode.Point{}, err)
				return
			}
			if p, ok := point(&one); ok && wanted(&p) && !yield(p, nil) {
				return
			}
		}
	}
}

// stepwise reads pages of increasing size, because most callers need one item.
func stepwise[In, T, K any](ctx context.Context, t *table.Table, q *table.Query[In, T, K], in In) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		cursor, limit := "", 4
		for {
			page, err := q.Page(ctx, t, in, cursor, limit)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range page.Items {
				if !yield(one, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			cursor, limit = page.Next, min(limit*8, 1000)
		}
	}
}

// aggregates is the series of an aggregate's figure, each bucket at its start. A bucket becomes a
// point when a later one has begun: then it is complete, except for late readings.
type aggregates struct {
	t        *table.Table
	rule     *compiled
	deviceID string
}

func (s *aggregates) in(from, to string) telemetry.AggregatesIn {
	return telemetry.AggregatesIn{DeviceID: s.deviceID, Period: s.rule.Over, From: from, To: to}
}

func (s *aggregates) from(ctx context.Context, k episode.Key) iter.Seq2[episode.Point, error] {
	all := telemetry.AggregatesByTime.All(ctx, s.t, s.in(bucketName(s.rule.Over, k.At), ""))
	whole := func(yield func(telemetry.Aggregate, error) bool) {
		var held *telemetry.Aggregate
		for one, err := range all {
			if err != nil {
				yield(one, err)
				return
			}
			if held != nil && !yield(*held, nil) {
				return
			}
			held = &one
		}
	}
	return points(whole, s.point, func(p *episode.Point) bool { return p.Compare(k) >= 0 })
}

func (s *aggregates) back(ctx context.Context, k episode.Key) iter.Seq2[episode.Point, error] {
	return points(stepwise(ctx, s.t, aggregatesBack, s.in("", bucketName(s.rule.Over, k.At))), s.point,
		func(p *episode.Point) bool { return p.Compare(k) < 0 })
}

func (s *aggregates) exists(ctx context.Context, keys []episode.Key) (map[episode.Key]bool, error) {
	ask := make([]telemetry.AggregateKey, len(keys))
	for i, k := range keys {
		ask[i] = telemetry.AggregateKey{DeviceID: s.deviceID, Period: s.rule.Over, Start: bucketName(s.rule.Over, k.At)}
	}
	all, err := telemetry.Aggregates.GetMany(ctx, s.t, ask)
	there := make(map[episode.Key]bool, len(all))
	for _, a := range all {
		if at, err := bucketStart(a.Period, a.Start); err == nil {
			there[episode.Key{At: at.UnixMilli()}] = true
		}
	}
	return there, err
}

func (s *aggregates) point(a *telemetry.Aggregate) (p episode.Point, ok bool) {
	at, err := bucketStart(a.Period, a.Start)
	if err != nil || a.Latest < s.rule.since {
		return p, false
	}
	for _, f := range telemetry.FiguresOf(a) {
		if f.Metric == s.rule.Metric {
			p.At = at.UnixMilli()
			p.Value, err = decimalsum.Parse(figures[s.rule.Function](&f))
			return p, err == nil
		}
	}
	return p, false
}

// figures maps the functions of rules over aggregates to figures.
var figures = map[string]func(*telemetry.Figures) string{
	"mean":      func(f *telemetry.Figures) string { return f.Mean },
	"min":       func(f *telemetry.Figures) string { return f.Min },
	"max":       func(f *telemetry.Figures) string { return f.Max },
	"sum":       func(f *telemetry.Figures) string { return f.Sum },
	"deviation": func(f *telemetry.Figures) string { return f.Deviation },
	"first":     func(f *telemetry.Figures) string { return f.First },
	"last":      func(f *telemetry.Figures) string { return f.Last },
	"p50":       func(f *telemetry.Figures) string { return f.P50 },
	"p90":       func(f *telemetry.Figures) string { return f.P90 },
	"p95":       func(f *telemetry.Figures) string { return f.P95 },
	"p99":       func(f *telemetry.Figures) string { return f.P99 },
	"increase":  func(f *telemetry.Figures) string { return f.Increase },
	"rate":      func(f *telemetry.Figures) string { return f.Rate },
	"count":     func(f *telemetry.Figures) string { return fmt.Sprint(f.Count) },
}

const bucketLayout = "2006-01-02T15:04:05Z"

// bucketStart returns the start of a bucket. Days are treated as UTC, which is sufficient to order
// them.
func bucketStart(p telemetry.Period, start string) (time.Time, error) {
	if p == telemetry.Daily {
		return time.Parse(time.DateOnly, start)
	}
	return time.Parse(bucketLayout, start)
}

func bucketName(p telemetry.Period, at int64) string {
	if p == telemetry.Daily {
		return time.UnixMilli(at).UTC().Format(time.DateOnly)
	}
	return time.UnixMilli(at).UTC().Format(bucketLayout)
}
