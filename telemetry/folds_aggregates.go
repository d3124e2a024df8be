package telemetry

import (
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/order"
	"github.com/onefold/onefold/telemetry/readings"
)

func foldAggregates(c Config) *fold.Fold {
	names := &calendar.HourNames{}
	return fold.New("telemetry.aggregates", Aggregates, (*Aggregate).merge,
		fold.OnEach(readings.Facts, func(a *readings.Arrival, at func(AggregateKey) *Aggregate) error {
			addToAggregates(a.Reading, names, at)
			return nil
		}),
	).With(fold.Hold(c.Wait), fold.Finish(func(a *Aggregate) {
		a.Metrics.Fit()
		a.ExpiresAt = expiryOf(a, c.retention(a.FleetID))
	}))
}

// merge adds the readings of another part of the same bucket.
//
// Invariant: an aggregate is a function of the multiset of its readings. Counts are sums, all other
// fields are lattices, and bucket.Metrics has the same property.
func (a *Aggregate) merge(o *Aggregate) {
	a.addFigures(o)
	a.Metrics.Merge(o.Metrics)
}

// addFigures is merge without the metrics.
func (a *Aggregate) addFigures(o *Aggregate) {
	a.FleetID, a.Day = max(a.FleetID, o.FleetID), max(a.Day, o.Day)
	a.Readings += o.Readings
	a.Late += o.Late
	a.Corrections += o.Corrections
	a.Latest = max(a.Latest, o.Latest)
	if a.RawUntil == 0 || o.RawUntil != 0 && o.RawUntil < a.RawUntil {
		a.RawUntil = o.RawUntil
	}
}

// addToAggregates counts a reading at its own time.
func addToAggregates(r *Reading, names *calendar.HourNames, at func(AggregateKey) *Aggregate) {
	if slices.Contains(r.Void, allMetrics) || len(r.Void) == len(r.Values) {
		return
	}
	ms := r.At.UnixMilli()
	addTo(r, at(AggregateKey{r.DeviceID, Hourly, names.Of(calendar.HourOf(ms, r.ZoneMinutes))}), ms)
	if r.Fine {
		addTo(r, at(AggregateKey{r.DeviceID, TenMinutes, tenMinutesOf(ms, r.ZoneMinutes)}), ms)
	}
}

// tenMinutesOf returns the start of a time's ten minutes, at a UTC offset in minutes.
func tenMinutesOf(ms int64, minutes int) string {
	const width = 600
	local := ms/1000 + int64(minutes)*60
	return time.Unix(ms/1000-local%width, 0).UTC().Format(calendar.HourLayout)
}

func addTo(r *Reading, a *Aggregate, ms int64) {
	one := Aggregate{FleetID: r.FleetID, Day: a.Day, Readings: 1, Latest: r.Arrived, RawUntil: r.ExpiresAt.Unix()}
	if one.Day == "" {
		one.Day = calendar.DayOf(ms, r.ZoneMinutes)
	}
	if r.Late {
		one.Late = 1
	}
	if r.Correction {
		one.Corrections = 1
	}
	a.addFigures(&one)
	place := r.Place()
	for name, v := range r.Values {
		if slices.Contains(r.Void, name) {
			continue
		}
		AddValue(&a.Metrics, r, place, name, v)
	}
}

// AddValue adds a value of a reading to a bucket, as the kind that the reading says it is.
func AddValue(m *bucket.Metrics, r *Reading, place order.Position, name string, v Value) {
	if !v.IsNumber() || slices.Contains(r.States, name) {
		m.At(name, bucket.State).Named(place, v.String(), formOf(v))
		return
	}
	d, err := decimalsum.Parse(v.String())
	if err != nil {
		return // impossible for a Collector, which parsed it before
	}
	kind := bucket.Gauge
	if slices.Contains(r.Counters, name) {
		kind = bucket.Counter
	}
	m.At(name, kind).Number(place, d)
}

// formOf returns the type in which a state was sent.
func formOf(v Value) counterseries.Form {
	switch {
	case v.IsNumber():
		return counterseries.Number
	case v.IsText():
		return counterseries.Text
	}
	return counterseries.Truth
}

// StateOf returns a state in the type in which it was sent.
func StateOf(p counterseries.Point) Value {
	switch p.Form {
	case counterseries.Number:
		if v, err := Number(p.Name); err == nil {
			return v
		}
	case counterseries.Truth:
		return Bool(p.Name == Bool(true).String())
	}
	return Text(p.Name)
}

// width returns the length of a bucket; of a day, about.
func (p Period) width() time.Duration {
	switch p {
	case TenMinutes:
		return 10 * time.Minute
	case Hourly:
		return time.Hour
	}
	return 24 * time.Hour
}

// startOf returns the start of a bucket; of a day, in UTC.
func (k *AggregateKey) startOf() time.Time {
	layout := calendar.HourLayout
	if k.Period == Daily {
		layout = calendar.DayLayout
	}
	at, err := time.Parse(layout, k.Start)
	if err != nil {
		return time.Time{}
	}
	return at
}

// expiryOf returns when an aggregate may be deleted: its lifetime counts from the end of the bucket
// or the last arrival, whichever is later. Zero: never.
func expiryOf(a *Aggregate, r Retention) time.Time {
	keep := r.Of(a.Period)
	if keep == 0 {
		return time.Time{}
	}
	return latest(a.startOf().Add(a.Period.width()), time.UnixMilli(a.Latest)).Add(keep)
}

// datedAggregate is the part of an hour that a roll-up mark needs. Decoding the metrics before and
// after every change would cost more than the rest of the fold.
type datedAggregate struct {
	AggregateKey
	FleetID string `dynamodbav:"fleet"`
	Day     string `dynamodbav:"day"`
}

var aggregateDays = table.Define[datedAggregate, AggregateKey](Aggregates.Name(), table.Def[datedAggregate]{PK: devicePK, SK: "AGG#{period}#{start}"})

// foldRollupMarks marks days. An hour marks its day when it begins and at every change after its
// end. Changes in between need no mark, because the day's roll-up happens later.
func foldRollupMarks() *fold.Fold {
	return fold.New("telemetry.rollups", RollupMarks, (*RollupMark).merge,
		fold.On(aggregateDays, func(ch fold.Typed[datedAggregate], at func(RollupKey) *RollupMark) error {
			a := ch.New
			if a == nil || a.Period != Hourly || a.Day == "" {
				return nil
			}
			if ch.Old == nil || ch.At.Add(markEarly).After(a.startOf().Add(time.Hour)) {
				m := at(RollupKey{table.Shard(a.DeviceID, Shards), a.Day, a.DeviceID})
				m.FleetID, m.Changed = a.FleetID, max(m.Changed, ch.At.Unix())
			}
			return nil
		}),
	)
}

// markEarly is the maximum lag of a change's timestamp.
const markEarly = time.Minute

// merge keeps the later change.
func (m *RollupMark) merge(o *RollupMark) {
	m.FleetID, m.Changed = max(m.FleetID, o.FleetID), max(m.Changed, o.Changed)
}
