package analytics

import (
	"cmp"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// merge adds the events of another part of the same visitor's day.
func (v *Visitor) merge(o *Visitor) {
	v.Visits = visits.Union(v.Visits, o.Visits)
	v.Scrolls.Merge(o.Scrolls)
	v.EngagedAt = max(v.EngagedAt, o.EngagedAt)
	v.Arrivals.Merge(o.Arrivals)
}

func visitOf(e *Event) (visits.Visit, error) {
	at, err := eventMS(e.EventID)
	if err != nil {
		return visits.Visit{}, err
	}
	v := visits.Visit{
		Start: at, End: at, FirstID: e.EventID, Own: e.SessionID,
		Hours:  []visits.Hour{{Hour: calendar.HourOf(at, e.ZoneMinutes)}},
		Traits: e.Traits, Host: e.Host, Goals: e.Goals,
	}
	if v.Revenue, err = decimal.Parse(e.Revenue); err != nil {
		return visits.Visit{}, fmt.Errorf("analytics: revenue of event %s: %w", e.EventID, err)
	}
	if e.UserID != "" {
		v.UserID, v.UserAt = e.UserID, e.EventID
	}
	if e.Name != "" {
		v.Events = 1
		return v, nil
	}
	v.Hours[0].Views = 1
	v.Entry = visits.Landing{Path: e.Path, ID: e.EventID}
	v.Exit = v.Entry
	if e.Path != "" {
		v.Pages = []string{e.Path}
	}
	return v, nil
}

// silent reports whether an event only measures a page. Such events are not part of a visit.
func (e *Event) silent() bool { return e.Name == EngagementEvent || e.Name == VitalsEvent }

// visitOfGoals returns what a visit gains when one of its events now reaches other goals.
func visitOfGoals(before, after *Event) (visits.Visit, error) {
	v, err := visitOf(after)
	v.Goals = after.Goals.Minus(before.Goals)
	v.Events, v.Revenue, v.UserID, v.UserAt = 0, "", "", ""
	v.Entry, v.Exit, v.Pages = visits.Landing{}, visits.Landing{}, nil
	if len(v.Hours) > 0 {
		v.Hours[0].Views = 0
	}
	return v, err
}

// Time returns the time in the event's ID.
func (e *Event) Time() (time.Time, error) {
	ms, err := eventMS(e.EventID)
	return time.UnixMilli(ms).UTC(), err
}

// Visitor returns the key of the visitor's day that contains the event.
func (e *Event) Visitor() (VisitorKey, error) {
	ms, err := eventMS(e.EventID)
	return VisitorKey{e.SiteID, e.VisitorShard, e.VisitorID, calendar.DayOf(ms, e.ZoneMinutes)}, err
}

// eventMS returns the time in an event's ID, in epoch milliseconds.
func eventMS(id string) (int64, error) {
	u, err := ulid.ParseStrict(id)
	if err != nil {
		return 0, fmt.Errorf("analytics: event id %q: %w", id, err)
	}
	return int64(u.Time()), nil
}

// arrivalOf returns when an event arrived, in epoch seconds. An event within a day of its time, at,
// counts as having arrived at once.
func arrivalOf(e *Event, at int64) int64 { return cmp.Or(e.Arrived, at/1000) }

// lateUntil returns the arrival of the last fact more than a day late, epoch seconds; 0: none.
// Facts in time count as arriving at once, none later than the day's last event.
func (v *Visitor) lateUntil() int64 {
	last := v.EngagedAt
	for i := range v.Visits {
		last = max(last, v.Visits[i].End/1000)
	}
	if v.Until <= last {
		return 0
	}
	return v.Until
}

// note adds the arrival of a fact, in epoch seconds.
func (k *Arrivals) note(at int64) {
	if k.Since == 0 || at < k.Since {
		k.Since = at
	}
	k.Until = max(k.Until, at)
}

// Merge adds the arrivals of another range.
func (k *Arrivals) Merge(o Arrivals) {
	if o.Until == 0 {
		return
	}
	k.note(o.Since)
	k.note(o.Until)
}
