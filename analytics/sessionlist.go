package analytics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// SessionsIn selects a site's sessions by start; SessionsBetween and SessionsOfSite make it.
type SessionsIn struct {
	SiteID   string
	From, To string // IDs, half-open; "": open
	Shards   []int
	// Damaged receives the errors of unreadable pages, which are skipped; nil: they are errors.
	Damaged func(error)

	zone calendar.Zone
	one  bool // a single session
}

// SessionsOfSite selects all sessions of a site. Errors: an invalid time zone.
func SessionsOfSite(site *Site) (SessionsIn, error) {
	zone, err := calendar.LoadZone(site.TimeZone)
	return SessionsIn{SiteID: site.SiteID, Shards: site.Sharding.Over(time.Time{}, time.Time{}), zone: zone}, err
}

// SessionsBetween selects the sessions that started in [from, to).
func SessionsBetween(site *Site, from, to time.Time) (SessionsIn, error) {
	in, err := SessionsOfSite(site)
	in.From, in.To = FirstID(from), FirstID(to)
	return in, err
}

const lastDay = "9999-12-31"

// pages returns the query for the pages of one shard that change sessions of the range.
func (in SessionsIn) pages(shard int) VisitsIn {
	ask := VisitsIn{SiteID: in.SiteID, Shards: []int{shard}, To: lastDay, Until: endOfTime}
	if in.From != "" {
		ask.Since = max(timeIn(in.From), 0)
		ask.From = in.zone.Day(time.UnixMilli(ask.Since))
	}
	if in.To != "" {
		ask.Until = max(timeIn(in.To[:min(len(in.To), ulid.EncodedSize)]), 0)
		ask.To = calendar.ShiftDay(in.zone.Day(time.UnixMilli(ask.Until)), 1)
	}
	return ask
}

// latestPages yields these pages, latest first. The first requests are small: most lists are short.
func (in SessionsIn) latestPages(ctx context.Context, t *table.Table, shard int) iter.Seq2[VisitPage, error] {
	query := VisitPagesByTime
	if in.one {
		query = VisitPagesOfSession
	}
	return func(yield func(VisitPage, error) bool) {
		ask := in.pages(shard)
		cursor := ""
		for limit := fewPages; ; limit = min(4*limit, manyPages) {
			some, err := query.Page(ctx, t, ask, cursor, limit)
			if err != nil {
				yield(VisitPage{}, err)
				return
			}
			for i := range some.Items {
				if !yield(some.Items[i], nil) {
					return
				}
			}
			if cursor = some.Next; cursor == "" {
				return
			}
		}
	}
}

const (
	fewPages  = 4
	manyPages = 256
)

func (in SessionsIn) wants(id string) bool { return id >= in.From && (in.To == "" || id < in.To) }

// Latest yields the sessions, latest start first. It reads pages as the caller takes sessions.
// Errors: those of the store; fold.ErrPage.
func (in SessionsIn) Latest(ctx context.Context, t *table.Table) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		var shards []*shardSessions
		for _, shard := range in.Shards {
			next, stop := iter.Pull2(in.latestPages(ctx, t, shard))
			defer stop()
			shards = append(shards, &shardSessions{in: in, pages: next, seen: make(map[string]bool)})
		}
		for {
			var first *shardSessions
			for _, s := range shards {
				if err := s.prepare(); err != nil {
					yield(Session{}, err)
					return
				}
				if len(s.ready) > 0 && (first == nil || s.ready[0].SessionID > first.ready[0].SessionID) {
					first = s
				}
			}
			if first == nil || !yield(first.ready[0], nil) {
				return
			}
			first.ready = first.ready[1:]
		}
	}
}

// shardSessions yields the sessions of one shard, latest first. Pages are read backward, so the
// first page that mentions a session has its final state. A session is ready as soon as no earlier
// page can change a session that started later.
type shardSessions struct {
	in    SessionsIn
	pages func() (VisitPage, error, bool)
	next  *VisitPage // read, but not processed
	ended bool
	seen  map[string]bool // sessions that were returned or are gone
	later []Session       // not ready yet
	ready []Session       // latest first
}

// prepare reads pages until a session is ready or all pages are read.
func (s *shardSessions) prepare() error {
	for len(s.ready) == 0 && !(s.ended && s.next == nil && len(s.later) == 0) {
		p := s.next
		if err := s.read(); err != nil {
			return err
		}
		if p != nil {
			if err := s.take(p); err != nil {
				return err
			}
		}
		s.release(s.bound(p))
	}
	return nil
}

func (s *shardSessions) read() error {
	s.next = nil
	if s.ended {
		return nil
	}
	p, err, ok := s.pages()
	if err != nil {
		return fmt.Errorf("analytics: sessions of %s: %w", s.in.SiteID, err)
	}
	if s.ended = !ok; ok {
		s.next = &p
	}
	return nil
}

// take collects the sessions of a page that no later page mentioned.
func (s *shardSessions) take(p *VisitPage) error {
	changes, err := VisitLog.ChangesIn(p)
	if err != nil {
		if s.in.Damaged == nil {
			return err
		}
		s.in.Damaged(err)
		return nil
	}
	for _, c := range slices.Backward(changes) { // a page has each visitor once
		eachSessionChange(c.Before, c.After, func(_, session *Session) {
			if s.seen[session.SessionID] || !s.in.wants(session.SessionID) {
				return
			}
			if s.seen[session.SessionID] = true; !session.Gone {
				s.later = append(s.later, *session)
			}
		})
	}
	return nil
}

// bound returns an upper bound, in epoch milliseconds, of starts that pages before p change.
func (s *shardSessions) bound(p *VisitPage) int64 {
	switch {
	case s.next == nil:
		return -1
	case p == nil:
		return endOfTime
	case p.Day != s.next.Day:
		if start, err := s.in.zone.Start(p.Day); err == nil {
			return start.UnixMilli() - 1
		}
		return endOfTime
	}
	return s.next.startedBefore()
}

// release makes the sessions ready that started after bound.
func (s *shardSessions) release(bound int64) {
	slices.SortFunc(s.later, func(a, b Session) int { return cmp.Compare(a.SessionID, b.SessionID) })
	i := len(s.later)
	for i > 0 && s.later[i-1].Start > bound {
		i--
		s.ready = append(s.ready, s.later[i])
	}
	s.later = s.later[:i]
}

// All yields the sessions by start, day by day. Errors: as Latest.
func (in SessionsIn) All(ctx context.Context, t *table.Table) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		for day, err := in.pages(0).From, error(nil); ; day = calendar.ShiftDay(day, 1) {
			var of []Session
			if day, err = in.dayFrom(ctx, t, day); err == nil && day == "" {
				return
			}
			if err == nil {
				of, err = in.day(ctx, t, day)
			}
			if err != nil {
				yield(Session{}, err)
				return
			}
			for _, s := range slices.Backward(of) {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// dayFrom returns the first day, from the given day on, with pages in the range; "": none.
func (in SessionsIn) dayFrom(ctx context.Context, t *table.Table, from string) (first string, err error) {
	for _, shard := range in.Shards {
		ask := in.pages(shard)
		ask.From = from
		p, err := VisitDays.First(ctx, t, ask)
		switch {
		case errors.Is(err, table.ErrNotFound):
		case err != nil:
			return "", fmt.Errorf("analytics: sessions of %s: %w", in.SiteID, err)
		case first == "" || p.Day < first:
			first = p.Day
		}
	}
	return first, nil
}

// day returns the sessions of a day in the range, latest first.
func (in SessionsIn) day(ctx context.Context, t *table.Table, day string) (all []Session, err error) {
	from, to, err := in.zone.Bounds(day)
	if err != nil {
		return nil, err
	}
	in.From = max(in.From, FirstID(from))
	if end := FirstID(to); in.To == "" || end < in.To {
		in.To = end
	}
	for s, err := range in.Latest(ctx, t) {
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// First returns the session that started first. Errors: table.ErrNotFound; those of All.
func (in SessionsIn) First(ctx context.Context, t *table.Table) (Session, error) {
	for s, err := range in.All(ctx, t) {
		return s, err
	}
	return Session{}, table.ErrNotFound
}

// RecentSessions yields the sessions of a site, latest start first: none for an unknown site.
// Errors: those of Latest.
func RecentSessions(ctx context.Context, t *table.Table, siteID string) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		site, err := GetSite(ctx, t, siteID)
		if errors.Is(err, table.ErrNotFound) {
			return // a site that nobody has created has no sessions
		}
		var in SessionsIn
		if err == nil {
			in, err = SessionsOfSite(&site)
		}
		if err != nil {
			yield(Session{}, err)
			return
		}
		in.Latest(ctx, t)(yield)
	}
}

// GetSession returns a session of a site. Errors: table.ErrNotFound; table.ErrKeyValue for an
// impossible ID; fold.ErrPage if the session may be in a damaged page.
func GetSession(ctx context.Context, t *table.Table, site *Site, sessionID string) (Session, error) {
	if _, err := Sessions.Key(SessionKey{site.SiteID, sessionID}); err != nil {
		return Session{}, fmt.Errorf("analytics: session: %w", err)
	}
	start := timeIn(sessionID)
	if start < 0 {
		return Session{}, table.ErrNotFound
	}
	in, err := SessionsBetween(site, time.UnixMilli(start), time.UnixMilli(start+1))
	if err != nil {
		return Session{}, err
	}
	in.From, in.To, in.one = sessionID, sessionID+"0", true
	var damaged error
	in.Damaged = func(err error) { damaged = errors.Join(damaged, err) }
	for s, err := range in.Latest(ctx, t) {
		return s, err
	}
	return Session{}, cmp.Or(damaged, table.ErrNotFound)
}
