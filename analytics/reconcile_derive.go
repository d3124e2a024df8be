package analytics

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/internal/calendar"
)

// derived is what a set of events makes, computed in memory by the functions of the folds. Breakdowns are not bounded.
type derived struct {
	names      calendar.HourNames
	visitors   map[VisitorKey]*Visitor
	sessions   map[SessionKey]*Session
	stats      map[StatsKey]*Stats
	breakdowns map[BreakdownKey]*Breakdown
	dead       int64 // how often an event could not be taken by a fold
}

// derive reads the raw events of a day and computes what is derived from them.
func (r *reconciler) derive(ctx context.Context, day string) (*derived, error) {
	from, to, err := r.cal.Bounds(day)
	if err != nil {
		return nil, err
	}
	d := &derived{
		visitors: make(map[VisitorKey]*Visitor), sessions: make(map[SessionKey]*Session),
		stats: make(map[StatsKey]*Stats), breakdowns: make(map[BreakdownKey]*Breakdown),
	}
	for e, err := range EventsByTime.All(ctx, r.t, EventsBetween(&r.site, from, to, "")) {
		if err != nil {
			return nil, fmt.Errorf("read the events of %s: %w", day, err)
		}
		if !e.Erased {
			d.add(&e)
		}
		if r.found.Events++; r.found.Events%progressEvery == 0 {
			r.at.Day = day
			r.tell()
		}
	}
	d.follow()
	return d, nil
}

// progressEvery is how many events are read between two reports of progress.
const progressEvery = 50_000

func (d *derived) visitor(k VisitorKey) *Visitor {
	return at(d.visitors, k, Visitor{VisitorKey: k})
}

func (d *derived) hour(k StatsKey) *Stats { return at(d.stats, k, Stats{StatsKey: k}) }

func (d *derived) breakdown(k BreakdownKey) *Breakdown {
	return at(d.breakdowns, k, Breakdown{BreakdownKey: k})
}

func (d *derived) session(k SessionKey) *Session {
	return at(d.sessions, k, Session{SessionKey: k})
}

func at[K comparable, S any](states map[K]*S, k K, zero S) *S {
	s := states[k]
	if s == nil {
		s = &zero
		states[k] = s
	}
	return s
}

// add does what the folds of events do. An event that one of them cannot take is in its dead letters, and so in none of
// its items: the error says nothing about what is stored.
func (d *derived) add(e *Event) {
	for _, err := range []error{
		addToVisitor(e, d.visitor),
		addEventToStats(e, +1, &d.names, d.hour),
		addEventToBreakdowns(e, +1, &d.names, d.breakdown),
	} {
		if err != nil {
			d.dead++
		}
	}
}

// follow does what the folds of visitors' days do.
func (d *derived) follow() {
	for _, v := range d.visitors {
		addToSessions(nil, v, d.session)
		addVisitorToStats(nil, v, &d.names, d.hour)
		addVisitorToBreakdowns(nil, v, &d.names, d.breakdown)
	}
}
