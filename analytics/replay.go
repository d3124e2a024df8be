package analytics

import "github.com/onefold/onefold/internal/calendar"

// Replay joins raw events into visitors' days in memory, by the functions that the folds use: of the same events it says
// what the folds store. Questions that no statistics were kept for are answered with it. The zero value is ready; it is
// for one goroutine.
type Replay struct {
	days map[VisitorKey]*Visitor
}

// Add joins an event, and returns the visitor's day that it is in; nil for one that was erased. What
// the day says of its visits may change until all events are there; their order makes no difference. The error says that
// the event cannot be read; no fold has counted it then.
func (r *Replay) Add(e *Event) (day *Visitor, err error) {
	ms, err := eventMS(e.EventID)
	if err != nil || e.Erased {
		return nil, err
	}
	if r.days == nil {
		r.days = make(map[VisitorKey]*Visitor)
	}
	key := VisitorKey{e.SiteID, e.VisitorShard, e.VisitorID, calendar.DayOf(ms, e.ZoneMinutes)}
	day = at(r.days, key, Visitor{VisitorKey: key})
	return day, addToVisitor(e, func(VisitorKey) *Visitor { return day })
}

// SessionsOf are the sessions of a visitor's day, in the order of its visits.
func SessionsOf(v *Visitor) []Session { return sessionsOf(v) }
