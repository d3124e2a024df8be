package query

import (
	"context"
	"fmt"
	"sort"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/quantiles"
	"github.com/onefold/onefold/telemetry/readings"
)

// device evaluates the query for one device.
type device struct {
	*run
	id    string
	parts []fragment // by segment
}

// fragment is what is known of a segment.
type fragment struct {
	raw     bool          // to be read from readings
	expired string        // hour whose readings it needs, which are no longer kept
	numbers bucket.Metric // gauges and counters together, without percentiles
	count   int64         // of numbers and states
	first   counterseries.Point
	last    counterseries.Point
	values  map[string]int64      // for percentiles: how often each number occurs
	series  counterseries.Run     // for increases and durations
	points  []counterseries.Point // of series, while readings are read
}

// merge adds the state of one kind of the metric.
func (f *fragment) merge(m *bucket.Metric) {
	if f.count == 0 || counterseries.Before(m.First, f.first) {
		f.first = m.First
	}
	if f.count == 0 || counterseries.Before(f.last, m.Last) {
		f.last = m.Last
	}
	if f.count += m.Count; m.Kind != bucket.State {
		whole := *m
		whole.Spread = quantiles.Spread{}
		f.numbers.Parts(&whole)
	}
}

func (f *fragment) counts(v decimalsum.Decimal, n int64) {
	if f.values == nil {
		f.values = map[string]int64{}
	}
	f.values[v.String()] += n
}

// evaluate returns what the device contributes to each step; nil for a step without values.
func (d *device) evaluate(ctx context.Context) ([]*part, error) {
	d.parts = make([]fragment, len(d.plan.segments))
	for i := range d.plan.segments {
		d.parts[i].raw = d.plan.segments[i].hour == ""
	}
	if err := d.aggregates(ctx); err != nil {
		return nil, err
	}
	if err := d.readings(ctx); err != nil {
		return nil, err
	}
	if hour := d.missing(); hour != "" {
		return nil, fmt.Errorf("%w: %s of %s needs the readings of %s of device %q, which are no longer kept: use another function, whole hours as steps, or a later range",
			ErrExpired, d.in.Function, d.in.Metric, hour, d.id)
	}
	return d.steps(), nil
}

// aggregates fills the segments that the aggregates of hours answer exactly.
func (d *device) aggregates(ctx context.Context) error {
	if d.plan.start == "" {
		return nil
	}
	at, n := 0, 0
	ask := telemetry.AggregatesIn{DeviceID: d.id, Period: telemetry.Hourly, From: d.plan.start, To: d.plan.end}
	for a, err := range telemetry.EncodedAggregatesByTime.All(ctx, d.t, ask) {
		if err != nil {
			return err
		}
		n++
		for at < len(d.parts) && d.plan.segments[at].hour < a.Start { // hours are in the order of their names
			at++
		}
		if at < len(d.parts) && d.plan.segments[at].hour == a.Start {
			err = d.hour(&d.parts[at], &a)
		} else {
			err = d.cut(&a)
		}
		if err != nil {
			return err
		}
	}
	return d.charge(n, 0)
}

// cut notes which parts of an hour need readings that are no longer kept.
func (d *device) cut(a *telemetry.EncodedAggregate) error {
	if d.now.Unix() < a.RawUntil {
		return nil
	}
	found, err := a.Metrics.Only(d.in.Metric, false)
	if err != nil {
		return err
	}
	all := d.plan.segments
	for _, m := range found {
		if m.Count == 0 {
			continue
		}
		first := sort.Search(len(all), func(i int) bool { return all[i].to.UnixMilli() > m.First.At })
		for i := first; i < len(all) && all[i].from.UnixMilli() <= m.Last.At; i++ {
			if all[i].hour == "" {
				d.parts[i].expired = a.Start
			}
		}
	}
	return nil
}

// missing returns the hour of readings that a figure needs and that are no longer kept, or "". What
// precedes the range needs only its last value.
func (d *device) missing() string {
	for i := len(d.parts) - 1; i >= 0; i-- {
		f := &d.parts[i]
		if f.expired != "" {
			return f.expired
		}
		if d.plan.segments[i].step == before && (f.series.N > 0 || d.in.Function == Derivative && f.numbers.Count > 0) {
			return ""
		}
	}
	return ""
}

// hour uses the aggregate of an hour, or leaves the hour to readings.
func (d *device) hour(f *fragment, a *telemetry.EncodedAggregate) error {
	found, err := a.Metrics.Only(d.in.Metric, d.percent > 0)
	if err != nil {
		return err
	}
	exact := true
	for i := range found {
		if m := &found[i]; m.Count > 0 {
			exact = exact && d.exact(f, m)
			f.merge(m)
		}
	}
	if exact {
		return nil
	}
	*f = fragment{raw: true}
	if d.now.Unix() >= a.RawUntil {
		*f = fragment{expired: a.Start}
	}
	return nil
}

// exact reports whether the aggregate of an hour has the exact figure, and adds what merge does not.
func (d *device) exact(f *fragment, m *bucket.Metric) (known bool) {
	switch {
	case d.percent > 0 && m.Kind == bucket.Gauge:
		return m.Spread.Each(f.counts)
	case d.percent > 0:
		return m.Kind == bucket.State
	case !d.wants(m.Kind):
		return true
	case m.Kind == bucket.Gauge:
		return false
	}
	f.series, known = m.Whole()
	return known
}

// wants reports whether the function needs the series of a kind.
func (d *device) wants(k bucket.Kind) bool {
	switch d.in.Function {
	case Increase, Rate:
		return k != bucket.State
	case Durations:
		return k == bucket.State
	}
	return false
}

// readings fills the segments that need readings, one query for adjacent ones.
func (d *device) readings(ctx context.Context) error {
	var retractions []telemetry.Retraction
	for i := 0; i < len(d.parts); i++ {
		if !d.parts[i].raw {
			continue
		}
		first := i
		for i+1 < len(d.parts) && d.parts[i+1].raw {
			i++
		}
		if retractions == nil {
			var err error
			if retractions, err = telemetry.RetractionsOfDevice.Collect(ctx, d.t, telemetry.DeviceIn{DeviceID: d.id}); err != nil {
				return err
			}
			retractions = append(make([]telemetry.Retraction, 0, 1), retractions...)
		}
		if err := d.read(ctx, first, i, retractions); err != nil {
			return err
		}
	}
	for i := range d.parts {
		if f := &d.parts[i]; f.points != nil {
			f.series, f.points = counterseries.RunOfAny(f.points), nil
		}
	}
	return nil
}

// chargedAtOnce is how many readings are charged to the query's limit at a time.
const chargedAtOnce = 1000

// read reads the readings of the segments first to last.
func (d *device) read(ctx context.Context, first, last int, retractions []telemetry.Retraction) error {
	waiting, err := d.waiting(ctx)
	if err != nil {
		return err
	}
	all := d.plan.segments
	in := readings.In{FleetID: d.in.FleetID, DeviceID: d.id, From: all[first].from, To: all[last].to, Partial: true, Waiting: waiting}
	n := 0
	for r, err := range in.All(ctx, d.t) {
		if err != nil {
			return err
		}
		if n++; n == chargedAtOnce {
			if err := d.charge(0, n); err != nil {
				return err
			}
			n = 0
		}
		if v, there := r.Values[d.in.Metric]; there && !telemetry.Retracted(retractions, r.At, d.in.Metric) {
			i := first + sort.Search(last-first, func(i int) bool { return r.At.Before(all[first+i].to) })
			d.add(&d.parts[i], &r, v)
		}
	}
	return d.charge(0, n)
}

// add adds a value of a reading to a segment.
func (d *device) add(f *fragment, r *telemetry.Reading, v telemetry.Value) {
	var all bucket.Metrics
	telemetry.AddValue(&all, r, r.Place(), d.in.Metric, v)
	for i := range all {
		m := &all[i]
		f.merge(m)
		if d.percent > 0 && m.Kind != bucket.State {
			f.counts(m.Last.Number, 1)
		}
		if d.wants(m.Kind) {
			p := m.Last
			if m.Kind != bucket.State {
				p = p.Counted()
			}
			f.points = append(f.points, p)
		}
	}
}

// carry is what precedes a step.
type carry struct {
	series counterseries.Run   // only the last point matters
	number counterseries.Point // the last number
	known  bool                // there is a number
}

// steps combines the segments of each step.
func (d *device) steps() []*part {
	all := make([]*part, len(d.plan.steps))
	var c carry
	for i := 0; i < len(d.parts); {
		step := d.plan.segments[i].step
		var p part
		var series counterseries.Run
		for ; i < len(d.parts) && d.plan.segments[i].step == step; i++ {
			d.join(&p, &d.parts[i])
			series = series.Then(d.parts[i].series)
		}
		if step >= 0 {
			d.continued(&p, d.plan.steps[step], series, &c)
			if p.count > 0 || p.changed || len(p.lasted) > 0 {
				all[step] = &p
			}
		}
		if series.N > 0 {
			c.series = series
		}
		if p.numbers.Count > 0 {
			c.number, c.known = p.numbers.Last, true
		}
	}
	return all
}

// join adds a segment to a step.
func (d *device) join(p *part, f *fragment) {
	if f.count == 0 {
		return
	}
	if !p.first.there {
		p.first = edge{f.first, d.id, true}
	}
	p.last = edge{f.last, d.id, true}
	p.count += f.count
	p.numbers.Parts(&f.numbers)
	if p.values == nil {
		p.values = f.values
		return
	}
	for text, n := range f.values {
		p.values[text] += n
	}
}

// continued sets the figures of a step that depend on what was before.
func (d *device) continued(p *part, s span, series counterseries.Run, c *carry) {
	end := earlier(s.to, d.now)
	ms := end.Sub(s.from).Milliseconds()
	previous := counterseries.Run{}
	if c.series.N > 0 {
		previous = counterseries.Run{N: 1, First: c.series.Last, Last: c.series.Last}
	}
	switch d.in.Function {
	case Increase, Rate:
		if series.N == 0 {
			return
		}
		p.change, p.changed = previous.Then(series).Increase, true
	case Derivative:
		from := p.numbers.First
		if c.known {
			from = c.number
		}
		if ms := p.numbers.Last.At - from.At; p.numbers.Count > 0 && ms > 0 {
			p.change, p.changed = decimalsum.Mean(p.numbers.Last.Number.Minus(from.Number).Times(decimalsum.Of(1000)), ms), true
		}
	case Durations:
		if previous.N > 0 && ms > 0 {
			previous.Last.At = max(previous.Last.At, s.from.UnixMilli())
			series = previous.Then(series)
		}
		p.lasted = series.Until(end.UnixMilli()).Lasted
	}
}
