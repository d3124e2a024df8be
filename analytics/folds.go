package analytics

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics/internal/throttle"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// FoldGroup names the folds of this package where workers keep their positions.
const FoldGroup = "analytics"

// Config says what the folds need to know of sites. The zero value keeps everything for the default times.
type Config struct {
	// Retention is asked before every write of a derived item, so it must answer from memory, as that of SiteRetention
	// does. nil: the defaults, whatever sites say.
	Retention func(siteID string) Retention
	// Wait is how long visitors' days, and the breakdowns of hours, wait for more to come before they are written: what is
	// told of visits is as much behind, and their breakdowns twice that. 0: not beyond the worker's flush. See fold.Hold.
	Wait time.Duration
}

// SiteRetention tells the folds how long sites keep what is derived. It reads a site when it is asked for the first
// time, and again after ten seconds. A site that cannot be read has the defaults: what is then written lives for
// another time, and until the next write.
func SiteRetention(t *table.Table) func(siteID string) Retention {
	sites := newSiteCache(t, throttle.Retry{})
	sites.within = retentionTimeout
	return func(siteID string) Retention {
		s, err := sites.get(context.Background(), siteID)
		if err != nil {
			return Retention{}
		}
		return s.site.Retention
	}
}

const retentionTimeout = 5 * time.Second

func (c Config) retention(siteID string) Retention {
	if c.Retention == nil {
		return Retention{}
	}
	return c.Retention(siteID)
}

// Folds are all folds of the package. Events make visitors' days, statistics, breakdowns and realtime; the changes of
// visitors' days make sessions, and go on into statistics and breakdowns; changed hours mark their day for a roll-up.
//
// The removal of an event is no change to what is derived from it: events go when they have lived long enough.
func Folds(c Config) []*fold.Fold {
	names, events := &calendar.HourNames{}, eventFacts()
	return []*fold.Fold{
		foldVisitors(c, events),
		foldSessions(c),
		foldStats(c, names, events),
		foldBreakdowns(c, names, events),
		foldRealtime(events),
		foldRollupMarks(),
	}
}

func foldVisitors(c Config, events *fold.Facts[EventChange]) *fold.Fold {
	return fold.New("analytics.visitors", Visitors, (*Visitor).merge,
		fold.OnEach(events, func(ch *EventChange, at func(VisitorKey) *Visitor) error {
			switch {
			case ch.Old == nil:
				return addToVisitor(ch.New, at)
			case ch.New.silent():
				return nil
			}
			return changeGoals(ch.Old, ch.New, at)
		}),
	).With(fold.Logged(VisitLog), fold.Hold(c.Wait), fold.Finish(func(v *Visitor) {
		v.ExpiresAt = v.Expiry(c.retention(v.SiteID).Of(Hour))
	}))
}

// changeGoals counts other goals for an event that its visitor's day has.
func changeGoals(before, after *Event, at func(VisitorKey) *Visitor) error {
	if slices.Equal(before.Goals, after.Goals) {
		return nil
	}
	visit, err := visitOfGoals(before, after)
	if err != nil {
		return err
	}
	v := at(VisitorKey{after.SiteID, after.VisitorShard, after.VisitorID, calendar.DayOf(visit.Start, after.ZoneMinutes)})
	v.Parts = max(v.Parts, after.Parts)
	v.Visits.Add(&visit)
	return nil
}

// addToVisitor puts an event into its visitor's day.
func addToVisitor(e *Event, at func(VisitorKey) *Visitor) error {
	if e.silent() {
		return addEngagement(e, at)
	}
	visit, err := visitOf(e)
	if err != nil {
		return err
	}
	v := at(VisitorKey{e.SiteID, e.VisitorShard, e.VisitorID, calendar.DayOf(visit.Start, e.ZoneMinutes)})
	v.Kept.note(arrivalOf(e, visit.Start))
	v.Parts = max(v.Parts, e.Parts)
	v.Visits.Add(&visit)
	return nil
}

// addEngagement notes how deep a visitor saw a page. It neither makes a visit nor changes how long one was.
func addEngagement(e *Event, at func(VisitorKey) *Visitor) error {
	ms, err := eventMS(e.EventID)
	if err != nil || e.Scroll == 0 || e.Path == "" {
		return err
	}
	v := at(VisitorKey{e.SiteID, e.VisitorShard, e.VisitorID, calendar.DayOf(ms, e.ZoneMinutes)})
	v.Kept.note(arrivalOf(e, ms))
	v.Parts = max(v.Parts, e.Parts)
	if e.Arrived == 0 {
		v.EngagedAt = max(v.EngagedAt, ms/1000)
	}
	v.Scrolls.Add(visits.Depth{Page: e.Path, Percent: int64(e.Scroll)})
	return nil
}

// mostlyNew is how many of the sessions of users that are not in memory must be new so that all are taken for new. Sites keep them for at
// least two days after the arrival of their last event (minRawDays), as fold.ExpectNew asks.
const mostlyNew = 0.9

func foldSessions(c Config) *fold.Fold {
	return fold.New("analytics.sessions", Sessions, (*Session).merge,
		fold.OnEach(VisitLog.Changes(), func(ch *fold.Typed[Visitor], at func(SessionKey) *Session) error {
			addToSessions(ch.Old, ch.New, at)
			return nil
		}),
	).With(
		fold.CacheSize(1024), // a visit that goes on is loaded again
		fold.ExpectNew(mostlyNew),
		fold.Removable(func(s *Session) bool { return s.Gone }),
		fold.Finish(func(s *Session) {
			s.ExpiresAt = s.Expiry(c.retention(s.SiteID).Of(Hour))
		}),
	)
}

// merge replaces what was known of the session: changes of a visitor's day come in order.
func (s *Session) merge(o *Session) {
	if o.Start != 0 || o.Gone {
		*s = *o
	}
}

// addToSessions writes the sessions of users that a change of a visitor's day makes or changes, and takes away those that were merged into
// others. A nil visitor has none.
func addToSessions(before, after *Visitor, at func(SessionKey) *Session) {
	eachSessionChange(before, after, func(was, is *Session) {
		switch {
		case is.UserID != "":
			*at(is.SessionKey) = *is
		case was != nil && was.UserID != "": // it is gone, or the events are erased that said whose it is
			*at(is.SessionKey) = Session{SessionKey: is.SessionKey, Gone: true}
		}
	})
}

func findSession(all []Session, k SessionKey) *Session {
	for i := range all {
		if all[i].SessionKey == k {
			return &all[i]
		}
	}
	return nil
}

// sessionsOf are the sessions of a visitor's day; nil has none.
func sessionsOf(v *Visitor) []Session {
	if v == nil {
		return nil
	}
	late := v.lateUntil()
	all := make([]Session, len(v.Visits))
	for i := range v.Visits {
		visit := &v.Visits[i]
		all[i] = Session{
			SessionKey: SessionKey{v.SiteID, sessionID(&v.VisitorKey, visit)},
			VisitorID:  v.VisitorID, VisitorShard: v.Shard, Day: v.Day, UserID: visit.UserID,
			Start: visit.Start, End: visit.End, EntryPath: visit.Entry.Path, ExitPath: visit.Exit.Path,
			PageViews: visit.Views(), Events: visit.Events, Revenue: visit.Revenue,
			Conversions: conversionsOf(visit), Source: visit.Source, Client: visit.Client,
		}
		all[i].Kept.note(max(late, visit.End/1000))
	}
	return all
}

// conversionsOf are a visit's conversions, of all goals.
func conversionsOf(v *visits.Visit) (n int64) {
	for i := range v.Goals {
		reached, _ := v.Goals[i].Worth()
		n += reached
	}
	return n
}

// sessionID is the ULID of a visit: its start, and a hash of whose it is.
func sessionID(k *VisitorKey, v *visits.Visit) string {
	var buf [256]byte
	whose := append(buf[:0], k.SiteID...)
	whose = append(append(whose, 0), k.VisitorID...)
	whose = append(append(whose, 0), v.Own...)
	whose = binary.BigEndian.AppendUint64(append(whose, 0), uint64(v.Start))
	var id ulid.ULID
	binary.BigEndian.PutUint64(id[8:], xxhash.Sum64(whose))
	binary.BigEndian.PutUint16(id[6:], uint16(xxhash.Sum64(append(whose, 1))))
	start := uint64(v.Start) // of an event's id, so it has 48 bits
	binary.BigEndian.PutUint32(id[0:], uint32(start>>16))
	binary.BigEndian.PutUint16(id[4:], uint16(start))
	return id.String()
}

// Expiry is when an item may be deleted that is kept so long after the arrival of its last fact.
func (k Kept) Expiry(keep time.Duration) time.Time { return wholeHour(time.Unix(k.Until, 0).Add(keep)) }

// HourExpiry is when the derived items of an hour may be deleted: both the hour and the arrival of its last fact are
// over for as long as hours are kept.
func HourExpiry(start string, k Kept, r Retention) time.Time {
	until := time.Unix(k.Until, 0)
	if at, err := time.Parse(calendar.HourLayout, start); err == nil && at.Add(time.Hour).After(until) {
		until = at.Add(time.Hour)
	}
	return wholeHour(until.Add(r.Of(Hour)))
}
