package analytics

import (
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
)

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

// Claims reports whether an event that the session's visitor sent between its start and its end is taken for one of the
// session's when the visitor's day, which knows, is gone. The session's id tells: it is made of the session id that the
// client sent, if any.
func (s *Session) Claims(e *Event) bool {
	key := VisitorKey{SiteID: s.SiteID, VisitorID: s.VisitorID}
	of := func(own string) bool { return sessionID(&key, &visits.Visit{Own: own, Start: s.Start}) == s.SessionID }
	return of(e.SessionID) || e.SessionID != "" && of(visits.OtherOwn)
}
