package query

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/quantiles"
)

// part is what one device contributes to a step.
type part struct {
	numbers bucket.Metric // of gauges and counters together
	count   int64         // of numbers and states
	values  map[string]int64
	first   edge
	last    edge
	change  decimalsum.Decimal // increase, rate or derivative
	changed bool
	lasted  []counterseries.StateDuration
}

// edge is the first or last value of a step. Values of one time are in the order of device IDs.
type edge struct {
	counterseries.Point
	device string
	there  bool
}

func (e *edge) before(o *edge) bool {
	return cmp.Or(e.Position.Compare(o.Position), strings.Compare(e.device, o.device)) < 0
}

// cell accumulates the parts of all devices of a group in a step.
type cell struct {
	part
	devices int64 // with a change
	states  map[string]int64
}

func (c *cell) add(p *part) {
	c.numbers.Parts(&p.numbers)
	c.count += p.count
	if c.values == nil && p.values != nil {
		c.values = make(map[string]int64, len(p.values))
	}
	for text, n := range p.values {
		c.values[text] += n
	}
	if p.first.there && (!c.first.there || p.first.before(&c.first)) {
		c.first = p.first
	}
	if p.last.there && (!c.last.there || c.last.before(&p.last)) {
		c.last = p.last
	}
	if p.changed {
		c.change, c.devices = c.change.Plus(p.change), c.devices+1
	}
	if c.states == nil && p.lasted != nil {
		c.states = map[string]int64{}
	}
	for _, l := range p.lasted {
		c.states[l.Name] += l.MS
	}
}

// rows appends the rows of the cell. ms is the length of the step until now.
func (c *cell) rows(to []Row, row Row, f Function, ms int64) []Row {
	if f == Durations {
		for _, name := range slices.Sorted(maps.Keys(c.states)) {
			row.State, row.Value = name, numberOf(decimalsum.Mean(decimalsum.Of(c.states[name]), 1000))
			to = append(to, row)
		}
		return to
	}
	if f == Rate {
		c.change, c.devices = decimalsum.Mean(c.change.Times(decimalsum.Of(1000)), max(ms, 1)), c.devices*min(max(ms, 0), 1)
	}
	var ok bool
	if row.Value, ok = c.figure(f); ok {
		to = append(to, row)
	}
	return to
}

// figure returns the figure of a function other than durations. ok is false without values.
func (c *cell) figure(f Function) (v telemetry.Value, ok bool) {
	n := &c.numbers
	switch f {
	case Count:
		return numberOf(decimalsum.Of(c.count)), c.count > 0
	case First:
		return c.first.value(), c.first.there
	case Last:
		return c.last.value(), c.last.there
	case Increase, Rate:
		return numberOf(c.change), c.devices > 0
	case Derivative:
		if c.devices == 0 {
			return v, false
		}
		return numberOf(decimalsum.Mean(c.change, c.devices)), true
	}
	if n.Count == 0 {
		return v, false
	}
	switch f {
	case Minimum:
		return numberOf(n.Min), true
	case Maximum:
		return numberOf(n.Max), true
	case Sum:
		return numberOf(n.Sum), true
	case Average:
		return numberOf(decimalsum.Mean(n.Sum, n.Count)), true
	case Deviation:
		return numberOf(decimalsum.Deviation(n.Sum, n.Squares, n.Count)), true
	}
	return percentile(c.values, n.Count, f.percent()), true
}

func numberOf(d decimalsum.Decimal) telemetry.Value {
	v, err := telemetry.Number(d.String())
	if err != nil { // more digits than a measurement may have, as a sum of many
		v, _ = telemetry.Float(d.Float()) //nolint:errcheck // finite: sums of measurements are below 1e60
	}
	return v
}

// value returns the value in the type in which it was sent.
func (e *edge) value() telemetry.Value {
	if e.Name != "" {
		return telemetry.StateOf(e.Point)
	}
	return numberOf(e.Number)
}

// percentile returns the value of a percentile among total values.
func percentile(counts map[string]int64, total int64, p float64) telemetry.Value {
	type counted struct {
		v decimalsum.Decimal
		n int64
	}
	all := make([]counted, 0, len(counts))
	for text, n := range counts {
		v, err := decimalsum.Parse(text)
		if err == nil { // always: the text is that of a decimal
			all = append(all, counted{v, n})
		}
	}
	slices.SortFunc(all, func(a, b counted) int { return a.v.Cmp(&b.v) })
	rank := quantiles.RankOf(p, total)
	for i := range all {
		if rank -= all[i].n; rank <= 0 {
			return numberOf(all[i].v)
		}
	}
	return telemetry.Value{}
}
