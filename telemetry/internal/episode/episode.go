// Package episode is the state machine that turns a series into alerts: it decides in event time
// when an alert becomes pending, fires and is resolved. It is pure. Alerts run it over stored
// readings, and back-tests over past ones.
package episode

import (
	"cmp"

	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// Key is the position of a point in its series. Disc distinguishes and orders points of one
// millisecond.
type Key struct {
	At   int64 // epoch milliseconds
	Disc string
}

// Compare orders keys in the order of the table.
func (k Key) Compare(o Key) int { return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.Disc, o.Disc)) }

// Point is one value of a series.
type Point struct {
	Key
	Value decimalsum.Decimal
}

// Levels are the thresholds of a rule and their durations. Below mirrors the comparisons.
type Levels struct {
	Raise, Clear decimalsum.Decimal // Clear is not above Raise, or with Below not below it
	Below        bool
	For, KeepFor int64 // milliseconds of event time
}

// Breaches reports whether a value is beyond the raise level.
func (l *Levels) Breaches(v *decimalsum.Decimal) bool { return l.beyond(v, &l.Raise) }

// Keeps reports whether a value is beyond the clear level, so that it sustains a firing episode.
func (l *Levels) Keeps(v *decimalsum.Decimal) bool { return l.beyond(v, &l.Clear) }

func (l *Levels) beyond(v, level *decimalsum.Decimal) bool {
	if l.Below {
		return v.Cmp(level) < 0
	}
	return v.Cmp(level) > 0
}

// Phase is the state of a machine.
type Phase string

// The phases.
const (
	Idle    Phase = ""
	Pending Phase = "pending"
	Firing  Phase = "firing"
)

// Episode is an episode so far.
type Episode struct {
	First    Key                // first point, which breached
	Fired    int64              // when it began to fire; 0: pending
	Last     Key                // last point that sustained it
	Resolved int64              // when it ended; 0: not yet
	Value    decimalsum.Decimal // value of Last
	Peak     decimalsum.Decimal // worst value
}

// Machine processes the points of a series in order. The zero value is idle, before all points.
//
// A breaching point starts a pending episode. The first point that does not breach drops it; the
// first breaching point at least For after the start fires it. While it fires, points beyond the
// clear level sustain it; any other point resolves it, if KeepFor has passed since the last
// sustaining point. An episode never ends in its first millisecond, because it could then share
// that millisecond with the next episode.
type Machine struct {
	Phase   Phase
	Episode Episode // unless idle
}

// Step processes the next point. It returns the firing episode that the point ends, if any.
func (m *Machine) Step(l *Levels, p *Point) (ended *Episode) {
	switch m.Phase {
	case Idle:
		if l.Breaches(&p.Value) {
			m.Phase, m.Episode = Pending, Episode{First: p.Key, Last: p.Key, Value: p.Value, Peak: p.Value}
			m.fire(l, p)
		}
	case Pending:
		if !l.Breaches(&p.Value) {
			*m = Machine{}
			return nil
		}
		m.keep(l, p)
		m.fire(l, p)
	case Firing:
		if l.Keeps(&p.Value) {
			m.keep(l, p)
			return nil
		}
		if p.At-m.Episode.Last.At < l.KeepFor || p.At <= m.Episode.First.At {
			return nil
		}
		e := m.Episode
		e.Resolved = p.At
		*m = Machine{}
		return &e
	}
	return nil
}

func (m *Machine) fire(l *Levels, p *Point) {
	if p.At-m.Episode.First.At >= l.For {
		m.Phase, m.Episode.Fired = Firing, p.At
	}
}

// keep records a sustaining point.
func (m *Machine) keep(l *Levels, p *Point) {
	e := &m.Episode
	e.Last, e.Value = p.Key, p.Value
	if l.beyond(&p.Value, &e.Peak) {
		e.Peak = p.Value
	}
}
