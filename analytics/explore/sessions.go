package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// Limits of a page of sessions.
const (
	defaultPage = 50
	maxPage     = 1000
	maxPassed   = 50_000 // sessions examined for one page
)

// SessionsIn selects the sessions of a range, latest start first.
type SessionsIn struct {
	Range
	Filters []Filter
	Cursor  string // from the previous page; "": the first page
	Limit   int    // 1 to 1,000; default 50
}

// SessionPage is a page of sessions.
type SessionPage struct {
	Sessions []analytics.Session
	Cursor   string // of the next page; "": this is the last. A page may be short and still have a next one
	Source   Source
	Notes    []string
}

// Sessions lists sessions. Filters on fields of a session are answered from stored sessions;
// filters on its events from raw events, day by day. Errors: ErrQuestion, ErrTooMuch, ErrGone,
// table.ErrNotFound, table.ErrCursor.
func (x *Explorer) Sessions(ctx context.Context, in SessionsIn) (SessionPage, error) {
	if in.Limit <= 0 {
		in.Limit = defaultPage
	}
	in.Limit = min(in.Limit, maxPage)
	if in.Cursor != "" {
		if _, err := ulid.ParseStrict(in.Cursor); err != nil {
			return SessionPage{}, fmt.Errorf("explore: sessions: %w", table.ErrCursor)
		}
	}
	if needEvents(in.Filters) {
		return x.rawSessions(ctx, in)
	}
	return x.keptSessions(ctx, in)
}

// ofSessions reports whether stored sessions have the dimension.
func ofSessions(d analytics.Dimension) bool {
	f, known := facetOf(d)
	return known && f.ofVisit() && d != analytics.ByHostname
}

// keptSessions lists stored sessions.
func (x *Explorer) keptSessions(ctx context.Context, in SessionsIn) (SessionPage, error) {
	page := SessionPage{Source: FromStatistics, Notes: []string{}}
	all, err := conditions(in.Filters)
	if err != nil {
		return page, err
	}
	s, err := x.siteOf(ctx, in.Range)
	if err != nil {
		return page, err
	}
	if s.outlived(in.Range) {
		if page, err := x.rawSessions(ctx, in); !errors.Is(err, ErrGone) {
			return page, err
		}
	}
	ids, err := s.sessionIDs(in.Range)
	if err != nil {
		return page, err
	}
	if in.Cursor != "" {
		ids.To = min(ids.To, in.Cursor)
	}
	ids.Damaged = func(error) { page.damaged() }
	passed := 0
	last := ""
	for session, err := range ids.Latest(ctx, x.t) {
		if err != nil {
			return page, fmt.Errorf("explore: sessions of %s: %w", in.Site, err)
		}
		if len(page.Sessions) == in.Limit || passed == maxPassed {
			page.Cursor = last
			break
		}
		passed++
		last = session.SessionID
		if selected(all, &session) {
			page.Sessions = append(page.Sessions, session)
		}
	}
	return page, nil
}

// damaged adds a note, once, that sessions are missing.
func (p *SessionPage) damaged() {
	const note = "Some sessions are missing: a page of visits is damaged."
	if !slices.Contains(p.Notes, note) {
		p.Notes = append(p.Notes, note)
	}
}

// selected reports whether a session matches all conditions, which may use only fields of a
// session.
func selected(all []*condition, s *analytics.Session) bool {
	if len(all) == 0 {
		return true
	}
	v := &visit{Visit: &visits.Visit{
		Entry: visits.Landing{Path: s.EntryPath}, Exit: visits.Landing{Path: s.ExitPath}, Traits: s.Traits,
		Hours: []visits.Hour{{}},
	}}
	return len(columnsOf([]*visit{v}, new(calendar.HourNames), new(userKey)).chosen(all)) == 1
}

// sessionIDs selects the sessions of a range.
func (s *scan) sessionIDs(r Range) (in analytics.SessionsIn, err error) {
	start, err := s.cal.Start(r.From)
	if err != nil {
		return in, err
	}
	_, end, err := s.cal.Bounds(r.To)
	if err != nil {
		return in, err
	}
	return analytics.SessionsBetween(&s.site, start, end)
}

// rawSessions lists the sessions of selected visits, day by day from the last.
func (x *Explorer) rawSessions(ctx context.Context, in SessionsIn) (SessionPage, error) {
	page := SessionPage{Source: FromRaw, Notes: []string{}}
	s, err := x.scan(ctx, in.Range, in.Filters)
	if err != nil {
		return page, err
	}
	page.Source, page.Notes = s.source(), append(page.Notes, s.notes()...)
	slices.Reverse(s.days)
	if in.Cursor != "" {
		day := s.cal.Day(time.UnixMilli(timeOf(in.Cursor)))
		s.days = slices.DeleteFunc(s.days, func(d string) bool { return d > day })
	}
	err = s.eachRaw(ctx, func(_ string, all []*visit) error {
		for _, v := range all {
			session := analytics.SessionsOf(v.who)[v.place]
			if in.Cursor == "" || session.SessionID < in.Cursor {
				page.Sessions = append(page.Sessions, session)
			}
		}
		if len(page.Sessions) > in.Limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return page, err
	}
	slices.SortFunc(page.Sessions, func(a, b analytics.Session) int { return cmp.Compare(b.SessionID, a.SessionID) })
	if len(page.Sessions) > in.Limit {
		page.Sessions = page.Sessions[:in.Limit]
		page.Cursor = page.Sessions[in.Limit-1].SessionID
	}
	return page, nil
}

// Timeline is a session with its events.
type Timeline struct {
	Session analytics.Session
	Events  []analytics.Event // in order, without measurements of pages
	Notes   []string
}

// maxTimeline limits the events of a timeline.
const maxTimeline = 10_000

// Timeline returns a session and its events. Errors: table.ErrNotFound for an unknown site or
// session; ErrArchive.
func (x *Explorer) Timeline(ctx context.Context, siteID, sessionID string) (Timeline, error) {
	site, err := analytics.GetSite(ctx, x.t, siteID)
	if err != nil {
		return Timeline{}, err
	}
	session, err := x.session(ctx, &site, sessionID)
	if err != nil {
		return Timeline{}, fmt.Errorf("explore: session: %w", err)
	}
	out := Timeline{Session: session, Events: []analytics.Event{}, Notes: []string{}}
	belongs, err := x.belongs(ctx, &session)
	if err != nil {
		return Timeline{}, fmt.Errorf("explore: session %s: %w", sessionID, err)
	}
	if err := out.take(analytics.EventsOfSession(&site, &session).All(ctx, x.t), belongs); err != nil {
		return Timeline{}, fmt.Errorf("explore: events of session %s: %w", sessionID, err)
	}
	if x.o.Archive != nil && out.lacks() {
		fromTable := out.Events
		out.Events, out.Notes = []analytics.Event{}, []string{}
		err := out.take(x.archived(ctx, siteID, time.UnixMilli(session.Start), time.UnixMilli(session.End+1)), func(e *analytics.Event) bool {
			return e.VisitorID == session.VisitorID && e.VisitorShard == session.VisitorShard && belongs(e)
		})
		if err != nil {
			return Timeline{}, fmt.Errorf("explore: events of session %s: %w", sessionID, err)
		}
		if len(out.Events) < len(fromTable) {
			out.Events = fromTable
		}
	}
	if out.lacks() && len(out.Notes) == 0 {
		out.Notes = append(out.Notes, "Some of its raw events have expired.")
	}
	return out, nil
}

// session returns a stored session, or one whose raw events outlived it. Errors: table.ErrNotFound.
func (x *Explorer) session(ctx context.Context, site *analytics.Site, sessionID string) (analytics.Session, error) {
	stored, missing := analytics.GetSession(ctx, x.t, site, sessionID)
	if !errors.Is(missing, table.ErrNotFound) {
		return stored, missing
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return stored, err
	}
	day := cal.Day(TimeOf(&analytics.Event{EventKey: analytics.EventKey{EventID: sessionID}}))
	s, err := x.scan(ctx, Range{Site: site.SiteID, From: day, To: day}, nil)
	if errors.Is(err, ErrGone) {
		return stored, missing
	}
	if err != nil {
		return stored, err
	}
	err = s.eachRaw(ctx, func(_ string, all []*visit) error {
		for _, v := range all {
			if session := analytics.SessionsOf(v.who)[v.place]; session.SessionID == sessionID {
				stored, missing = session, nil
				return errEnough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return stored, err
	}
	return stored, missing
}

// lacks reports whether events are missing.
func (t *Timeline) lacks() bool {
	return int64(len(t.Events)) < t.Session.PageViews+t.Session.Events
}

// take adds the events of the session, up to maxTimeline.
func (t *Timeline) take(events iter.Seq2[analytics.Event, error], belongs func(*analytics.Event) bool) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if silent(&e) || e.Erased || !belongs(&e) {
			continue
		}
		if len(t.Events) == maxTimeline {
			t.Notes = append(t.Notes, fmt.Sprintf("Only the first %d events are shown.", maxTimeline))
			return nil
		}
		t.Events = append(t.Events, e)
	}
	return nil
}

// belongs returns a function that separates the events of a session from those of the visitor's
// other sessions at the same time.
func (x *Explorer) belongs(ctx context.Context, s *analytics.Session) (func(*analytics.Event) bool, error) {
	key := analytics.VisitorKey{SiteID: s.SiteID, Shard: s.VisitorShard, VisitorID: s.VisitorID, Day: s.Day}
	who, err := analytics.VisitLog.Get(ctx, x.t, key)
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	mine := make([]*visit, len(who.Visits))
	var it *visit
	for i, session := range analytics.SessionsOf(&who) {
		mine[i] = &visit{Visit: &who.Visits[i], place: i}
		if session.SessionID == s.SessionID {
			it = mine[i]
		}
	}
	if it == nil {
		return s.Claims, nil
	}
	return func(e *analytics.Event) bool {
		return visitOf(mine, &fact{own: e.SessionID, at: timeOf(e.EventID)}) == it
	}, nil
}

// UserSessions returns a page of the sessions of a site's user, latest first. A page may be short
// and still have a next one. Errors: table.ErrNotFound for the site, table.ErrCursor,
// table.ErrKeyValue for an impossible user ID.
func (x *Explorer) UserSessions(ctx context.Context, siteID, userID, cursor string, limit int) (SessionPage, error) {
	if _, err := analytics.GetSite(ctx, x.t, siteID); err != nil {
		return SessionPage{}, err
	}
	found, err := analytics.SessionsOfUser.Page(ctx, x.t, analytics.UserIn{UserID: userID}, cursor, min(limit, maxPage))
	if err != nil {
		return SessionPage{}, fmt.Errorf("explore: sessions of a user of %s: %w", siteID, err)
	}
	of := slices.DeleteFunc(found.Items, func(s analytics.Session) bool { return s.SiteID != siteID })
	return SessionPage{Sessions: of, Cursor: found.Next, Source: FromStatistics, Notes: []string{}}, nil
}
