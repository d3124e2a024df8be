package analytics

import (
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
)

// Replay rebuilds visitors' days from raw events in memory, with the functions of the folds: the
// same events yield what the folds store. It answers questions that no statistics cover. The zero
// value is ready for use. It is not safe for concurrent use.
type Replay struct {
	days map[VisitorKey]*Visitor
}

// Add adds an event and returns its visitor's day, or nil for an erased event. Visits of the day
// may change until all events were added; their order does not matter. An error means that the
// event is unreadable; then no fold counts it either.
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

// SessionsOf returns the sessions of a visitor's day, in the order of its visits.
func SessionsOf(v *Visitor) []Session { return sessionsOf(v) }

// Claims reports whether an event belongs to the session, given that the session's visitor sent it
// between start and end. It is for sessions whose visitor's day is gone. It compares session IDs,
// which are derived from the client's session ID, if any.
func (s *Session) Claims(e *Event) bool {
	key := VisitorKey{SiteID: s.SiteID, VisitorID: s.VisitorID}
	of := func(own string) bool { return sessionID(&key, &visits.Visit{Own: own, Start: s.Start}) == s.SessionID }
	return of(e.SessionID) || e.SessionID != "" && of(visits.OtherOwn)
}
