// Package episode is the machine that makes alerts of a series: when one becomes pending, fires and is resolved, in event
// time. It is pure, and a part of telemetry: alerts run it over what is stored, back-tests over what was.
package episode

import (
	"cmp"

	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// Key is the place of a point in its series. Points of one millisecond are told apart, and ordered, by Disc.
type Key struct {
	At   int64 // epoch milliseconds
	Disc string
}

// Compare orders keys as the table does.
func (k Key) Compare(o Key) int { return cmp.Or(cmp.Compare(k.At, o.At), cmp.Compare(k.Disc, o.Disc)) }

// Point is one value of a series.
type Point struct {
	Key
	Value decimalsum.Decimal
}

// Levels say which values breach, and for how long they have to. Below mirrors the comparisons.
type Levels struct {
	Raise, Clear decimalsum.Decimal // Clear is not above Raise, or with Below not below it
	Below        bool
	For, KeepFor int64 // milliseconds of event time
}

// Breaches reports whether a value is beyond the raise level.
func (l *Levels) Breaches(v *decimalsum.Decimal) bool { return l.beyond(v, &l.Raise) }

// Keeps reports whether a value is beyond the clear level, so that it keeps what fires.
func (l *Levels) Keeps(v *decimalsum.Decimal) bool { return l.beyond(v, &l.Clear) }

func (l *Levels) beyond(v, level *decimalsum.Decimal) bool {
	if l.Below {
		return v.Cmp(level) < 0
	}
	return v.Cmp(level) > 0
}

// Phase says where a machine is.
type Phase string

// The phases.
const (
	Idle    Phase = ""
	Pending Phase = "pending"
	Firing  Phase = "firing"
)

// Episode is what there is of one so far.
type Episode struct {
	First    Key                // its first point, which breached
	Fired    int64              // when it began to fire; 0: it is pending
	Last     Key                // the last point that kept it
	Resolved int64              // when it ended; 0: it has not
	Value    decimalsum.Decimal // of Last
	Peak     decimalsum.Decimal // the worst value
}

// Machine steps over the points of a series, in order. The zero value is idle, before all points.
//
// A point that breaches begins an episode, pending. A pending one is dropped by the first point that does not breach, and
// fires at the first that does For or more after it began. While it fires, a point beyond the clear level keeps it; one
// that is not resolves it, once KeepFor has passed since the last that kept it. An episode that fires for no time at all
// would share its first millisecond with the next one, so one is resolved after its first millisecond.
type Machine struct {
	Phase   Phase
	Episode Episode // unless idle
}

// Step goes over the next point. It returns the episode if this point ends one that fired.
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

// keep notes a point that keeps the episode.
func (m *Machine) keep(l *Levels, p *Point) {
	e := &m.Episode
	e.Last, e.Value = p.Key, p.Value
	if l.beyond(&p.Value, &e.Peak) {
		e.Peak = p.Value
	}
}
