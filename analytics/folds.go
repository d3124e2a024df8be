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

// FoldGroup is the name under which workers store the positions of this package's folds.
const FoldGroup = "analytics"

// Config configures the folds. The zero value uses the default retention for all sites.
type Config struct {
	// Retention returns a site's retention. It is called before every write of a derived item, so
	// it must answer from memory, as SiteRetention does. nil: the defaults, whatever sites chose.
	Retention func(siteID string) Retention
	// Wait is how long visitors' days and hourly breakdowns are held for more changes before they
	// are written. Figures of visits lag by Wait, their breakdowns by twice Wait. 0: only until the
	// worker's flush. See fold.Hold.
	Wait time.Duration
}

// SiteRetention returns a function for Config.Retention that caches each site for ten seconds. If a
// site cannot be read, its items get the default lifetime until they are written again.
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

// Folds returns all folds of the package. Events are folded into visitors' days, statistics,
// breakdowns and realtime; changes of visitors' days into sessions, statistics and breakdowns;
// changes of hours into roll-up marks. The expiry of an event changes nothing derived.
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

// changeGoals updates the goals of an event that is already part of its visitor's day.
func changeGoals(before, after *Event, at func(VisitorKey) *Visitor) error {
	if slices.Equal(before.Goals, after.Goals) {
		return nil
	}
	visit, err := visitOfGoals(before, after)
	if err != nil {
		return err
	}
	v := at(VisitorKey{after.SiteID, after.VisitorShard, after.VisitorID, calendar.DayOf(visit.Start, after.ZoneMinutes)})
	v.Visits.Add(&visit)
	return nil
}

func addToVisitor(e *Event, at func(VisitorKey) *Visitor) error {
	if e.silent() {
		return addEngagement(e, at)
	}
	visit, err := visitOf(e)
	if err != nil {
		return err
	}
	v := at(VisitorKey{e.SiteID, e.VisitorShard, e.VisitorID, calendar.DayOf(visit.Start, e.ZoneMinutes)})
	v.Arrivals.note(arrivalOf(e, visit.Start))
	v.Visits.Add(&visit)
	return nil
}

// addEngagement records the scroll depth of a page. It neither starts nor extends a visit.
func addEngagement(e *Event, at func(VisitorKey) *Visitor) error {
	ms, err := eventMS(e.EventID)
	if err != nil || e.Scroll == 0 || e.Path == "" {
		return err
	}
	v := at(VisitorKey{e.SiteID, e.VisitorShard, e.VisitorID, calendar.DayOf(ms, e.ZoneMinutes)})
	v.Arrivals.note(arrivalOf(e, ms))
	if e.Arrived == 0 {
		v.EngagedAt = max(v.EngagedAt, ms/1000)
	}
	v.Scrolls.Add(visits.Depth{Page: e.Path, Percent: int64(e.Scroll)})
	return nil
}

// mostlyNew is the share of users' sessions, among those not cached, that must be new for all to be
// assumed new. fold.ExpectNew requires that sites keep sessions for at least two days after their
// last event arrived; minRawDays ensures it.
const mostlyNew = 0.9

func foldSessions(c Config) *fold.Fold {
	return fold.New("analytics.sessions", Sessions, (*Session).merge,
		fold.OnEach(VisitLog.Changes(), func(ch *fold.Typed[Visitor], at func(SessionKey) *Session) error {
			addToSessions(ch.Old, ch.New, at)
			return nil
		}),
	).With(
		fold.CacheSize(1024), // an ongoing visit is loaded again
		fold.ExpectNew(mostlyNew),
		fold.Removable(func(s *Session) bool { return s.Gone }),
		fold.Finish(func(s *Session) {
			s.ExpiresAt = s.Expiry(c.retention(s.SiteID).Of(Hour))
		}),
	)
}

// merge replaces the session, because changes of a visitor's day arrive in order.
func (s *Session) merge(o *Session) {
	if o.Start != 0 || o.Gone {
		*s = *o
	}
}

// addToSessions writes the sessions of identified users that a change of a visitor's day created or
// changed, and marks sessions as gone that were merged into others. A nil visitor has no sessions.
func addToSessions(before, after *Visitor, at func(SessionKey) *Session) {
	eachSessionChange(before, after, func(was, is *Session) {
		switch {
		case is.UserID != "":
			*at(is.SessionKey) = *is
		case was != nil && was.UserID != "": // merged away, or the events that identified the user are erased
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

// sessionsOf returns the sessions of a visitor's day, none for nil.
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
			Conversions: conversionsOf(visit), Traits: visit.Traits,
		}
		all[i].Arrivals.note(max(late, visit.End/1000))
	}
	return all
}

// conversionsOf returns the number of a visit's conversions, of all goals.
func conversionsOf(v *visits.Visit) (n int64) {
	for i := range v.Goals {
		reached, _ := v.Goals[i].Worth()
		n += reached
	}
	return n
}

// sessionID returns the ULID of a visit: its start, and a hash of site, visitor and own session ID.
func sessionID(k *VisitorKey, v *visits.Visit) string {
	var buf [256]byte
	whose := append(buf[:0], k.SiteID...)
	whose = append(append(whose, 0), k.VisitorID...)
	whose = append(append(whose, 0), v.Own...)
	whose = binary.BigEndian.AppendUint64(append(whose, 0), uint64(v.Start))
	var id ulid.ULID
	binary.BigEndian.PutUint64(id[8:], xxhash.Sum64(whose))
	binary.BigEndian.PutUint16(id[6:], uint16(xxhash.Sum64(append(whose, 1))))
	start := uint64(v.Start) // from an event's ID, so it has 48 bits
	binary.BigEndian.PutUint32(id[0:], uint32(start>>16))
	binary.BigEndian.PutUint16(id[4:], uint16(start))
	return id.String()
}

// Expiry returns when the item expires: keep after the arrival of its last fact, rounded up to a
// whole hour.
func (k Arrivals) Expiry(keep time.Duration) time.Time {
	return wholeHour(time.Unix(k.Until, 0).Add(keep))
}

// HourExpiry returns when the derived items of an hour expire: hours are kept for their retention
// after both the end of the hour and the arrival of their last fact.
func HourExpiry(start string, k Arrivals, r Retention) time.Time {
	until := time.Unix(k.Until, 0)
	if at, err := time.Parse(calendar.HourLayout, start); err == nil && at.Add(time.Hour).After(until) {
		until = at.Add(time.Hour)
	}
	return wholeHour(until.Add(r.Of(Hour)))
}
