// Package episode is the state machine that turns a series into alerts: it decides in event time
// when an alert becomes pending, fires and is resolved. It is pure. Alerts of devices run it over stored
// readings, alerts of sites over statistics, and back-tests over past ones.
package episode

import "cmp"

// Key is the position of a point in its series. Disc distinguishes and orders points of one
// millisecond.
type Key struct {
	At   int64 // epoch milliseconds
	Disc string
}

// Compare orders keys in the order of the table.
func (k Key) Compare(o Key) int { return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.Disc, o.Disc)) }

// Point is one value of a series.
type Point[V any] struct {
	Key
	Value V
}

// Levels are the thresholds of a rule and their durations. Below mirrors the comparisons.
type Levels[V any] struct {
	Raise, Clear V // Clear is not above Raise, or with Below not below it
	Below        bool
	For, KeepFor int64             // milliseconds of event time
	Cmp          func(a, b *V) int // compares values; required
}

// Breaches reports whether a value is beyond the raise level.
func (l *Levels[V]) Breaches(v *V) bool { return l.beyond(v, &l.Raise) }

// Keeps reports whether a value is beyond the clear level, so that it sustains a firing episode.
func (l *Levels[V]) Keeps(v *V) bool { return l.beyond(v, &l.Clear) }

func (l *Levels[V]) beyond(v, level *V) bool {
	if l.Below {
		return l.Cmp(v, level) < 0
	}
	return l.Cmp(v, level) > 0
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
type Episode[V any] struct {
	First    Key   // first point, which breached
	Fired    int64 // when it began to fire; 0: pending
	Last     Key   // last point that sustained it
	Resolved int64 // when it ended; 0: not yet
	Value    V     // value of Last
	Peak     V     // worst value
}

// Machine processes the points of a series in order. The zero value is idle, before all points.
//
// A breaching point starts a pending episode. The first point that does not breach drops it; the
// first breaching point at least For after the start fires it. While it fires, points beyond the
// clear level sustain it; any other point resolves it, if KeepFor has passed since the last
// sustaining point. An episode never ends in its first millisecond, because it could then share
// that millisecond with the next episode.
type Machine[V any] struct {
	Phase   Phase
	Episode Episode[V] // unless idle
}

// Step processes the next point. It returns the firing episode that the point ends, if any.
func (m *Machine[V]) Step(l *Levels[V], p *Point[V]) (ended *Episode[V]) {
	switch m.Phase {
	case Idle:
		if l.Breaches(&p.Value) {
			m.Phase, m.Episode = Pending, Episode[V]{First: p.Key, Last: p.Key, Value: p.Value, Peak: p.Value}
			m.fire(l, p)
		}
	case Pending:
		if !l.Breaches(&p.Value) {
			*m = Machine[V]{}
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
		*m = Machine[V]{}
		return &e
	}
	return nil
}

func (m *Machine[V]) fire(l *Levels[V], p *Point[V]) {
	if p.At-m.Episode.First.At >= l.For {
		m.Phase, m.Episode.Fired = Firing, p.At
	}
}

// keep records a sustaining point.
func (m *Machine[V]) keep(l *Levels[V], p *Point[V]) {
	e := &m.Episode
	e.Last, e.Value = p.Key, p.Value
	if l.beyond(&p.Value, &e.Peak) {
		e.Peak = p.Value
	}
}
