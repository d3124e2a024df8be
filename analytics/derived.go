package analytics

import "github.com/onefold/onefold/internal/calendar"

// Derived holds everything derived from a set of events, computed in memory by the functions of the
// folds. It equals what the folds store for these events, except that breakdowns are unbounded. It
// is not safe for concurrent use.
type Derived struct {
	Visitors   map[VisitorKey]*Visitor
	Sessions   map[SessionKey]*Session
	Stats      map[StatsKey]*Stats         // of hours
	Breakdowns map[BreakdownKey]*Breakdown // of hours

	names calendar.HourNames
}

func NewDerived() *Derived {
	return &Derived{
		Visitors: make(map[VisitorKey]*Visitor), Sessions: make(map[SessionKey]*Session),
		Stats: make(map[StatsKey]*Stats), Breakdowns: make(map[BreakdownKey]*Breakdown),
	}
}

// Add applies the folds of events. Erased events are ignored. Errors are dropped: an event that a
// fold cannot process becomes a dead letter and is in none of its items.
func (d *Derived) Add(e *Event) {
	if e.Erased {
		return
	}
	_ = addToVisitor(e, d.visitor)
	_ = addEventToStats(e, +1, &d.names, d.hour)
	_ = addEventToBreakdowns(e, +1, &d.names, d.breakdown)
}

// Follow applies the folds of visitors' days. Call it after all events are added.
func (d *Derived) Follow() {
	for _, v := range d.Visitors {
		addToSessions(nil, v, d.session)
		addVisitorToStats(nil, v, &d.names, d.hour)
		addVisitorToBreakdowns(nil, v, &d.names, d.breakdown)
	}
}

func (d *Derived) visitor(k VisitorKey) *Visitor { return at(d.Visitors, k, Visitor{VisitorKey: k}) }

func (d *Derived) session(k SessionKey) *Session { return at(d.Sessions, k, Session{SessionKey: k}) }

func (d *Derived) hour(k StatsKey) *Stats { return at(d.Stats, k, Stats{StatsKey: k}) }

func (d *Derived) breakdown(k BreakdownKey) *Breakdown {
	return at(d.Breakdowns, k, Breakdown{BreakdownKey: k})
}

func at[K comparable, S any](states map[K]*S, k K, zero S) *S {
	s := states[k]
	if s == nil {
		s = &zero
		states[k] = s
	}
	return s
}
