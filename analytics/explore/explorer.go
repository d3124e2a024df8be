package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// Options bound what one question may take. The zero value has good defaults.
type Options struct {
	AtOnce    int // questions that read raw events at the same time, and exports, others wait; default 2
	Events    int // raw events that one question may read; default 5,000,000
	DayEvents int // raw events of one day, which are kept in memory while the day is looked at; default 1,000,000
	Values    int // distinct values of a breakdown, those beyond are counted together; default 100,000
	Users     int // users whose coming back is followed; default 500,000
	KeepBytes int // of days that were read, which are kept in memory if the table's API is Watched, or from the Archive; default 128 MB

	Archive       Archive // of raw events that have expired; nil: there is none
	ArchiveEvents int     // raw events that one question may read when some are the Archive's; default 50,000,000
	LargeDay      int     // page views and events of a day from which on it is read from the Archive, though the table has it; default 50,000
}

func (o *Options) defaults() {
	for _, d := range []struct {
		of *int
		is int
	}{{&o.AtOnce, 2}, {&o.Events, 5_000_000}, {&o.DayEvents, 1_000_000}, {&o.Values, 100_000}, {&o.Users, 500_000}, {&o.KeepBytes, 128 << 20},
		{&o.ArchiveEvents, 50_000_000}, {&o.LargeDay, 50_000}} {
		if *d.of <= 0 {
			*d.of = d.is
		}
	}
}

// An Explorer answers questions about the sites of a table. It is safe for concurrent use.
type Explorer struct {
	t    *table.Table
	o    Options
	turn chan struct{} // a place for each question that reads raw events
	out  chan struct{} // a place for each export, which may take as long as its reader wants

	watched   *Watched // nil: nobody tells of writes, so no day is kept
	shelf     shelf
	preparing preparations
	hours     calendar.HourNames

	mu      sync.Mutex
	cubes   map[string]*cube   // that were made a moment ago
	flights map[string]*flight // that are being made
	asked   map[*scan]bool     // questions that wait for an answer
}

// New makes an Explorer.
func New(t *table.Table, o Options) *Explorer {
	o.defaults()
	watched, _ := t.API().(*Watched)
	return &Explorer{
		t: t, o: o, turn: make(chan struct{}, o.AtOnce), out: make(chan struct{}, o.AtOnce),
		watched: watched, shelf: shelf{most: o.KeepBytes, days: map[dayKey]*shelved{}, claims: map[dayKey]chan struct{}{}},
		cubes: map[string]*cube{}, flights: map[string]*flight{}, asked: map[*scan]bool{},
	}
}

// maxDays is the longest range of a question, in days.
const maxDays = 3_660

// Range is a range of days of a site, in its zone, YYYY-MM-DD, both inclusive.
type Range struct {
	Site     string
	From, To string
}

func (r *Range) check() error {
	for _, day := range []string{r.From, r.To} {
		if _, err := calendar.ParseDay(day); err != nil {
			return fmt.Errorf("%w: %w", ErrQuestion, err)
		}
	}
	if n := calendar.DaysBetween(r.From, r.To) + 1; n < 1 || n > maxDays {
		return fmt.Errorf("%w: %s to %s are %d days: want 1 to %d", ErrQuestion, r.From, r.To, n, maxDays)
	}
	return nil
}

// A scan reads the raw events of a range of days, one day after the other.
type scan struct {
	x          *Explorer
	site       analytics.Site
	cal        calendar.Zone
	days       []string          // whose raw events are all there
	archived   map[string]uint64 // those of days that are read from the archive, with its version of them
	lost       []string          // whose raw events are gone, some or all
	conditions []*condition
	most       int          // events that may be read
	left       atomic.Int64 // events that may still be read
	readers    int          // shards of a day that are read at the same time
	turn       chan struct{}
	progress   progress // the Explorer's mu guards it
}

// scan begins a question about the visits of a range that fulfil all filters. Errors: ErrQuestion, ErrGone when there is
// no day to look at, table.ErrNotFound.
func (x *Explorer) scan(ctx context.Context, r Range, filters []Filter) (*scan, error) {
	s, err := x.siteOf(ctx, r)
	if err != nil {
		return nil, err
	}
	if s.conditions, err = conditions(filters); err != nil {
		return nil, err
	}
	if err := s.divide(ctx, calendar.Days(r.From, r.To)); err != nil {
		return nil, fmt.Errorf("explore: %s: %w", r.Site, err)
	}
	if len(s.days) == 0 {
		return nil, fmt.Errorf("%w: those of %s to %s; ask for later days, or without filters", ErrGone, r.From, r.To)
	}
	return s, nil
}

// siteOf begins a question without looking at days. Errors: ErrQuestion, table.ErrNotFound.
func (x *Explorer) siteOf(ctx context.Context, r Range) (s *scan, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s = &scan{x: x, turn: x.turn, readers: readersAtOnce, most: x.o.Events}
	s.left.Store(int64(x.o.Events))
	if s.site, err = analytics.GetSite(ctx, x.t, r.Site); err != nil {
		return nil, err
	}
	if s.cal, err = calendar.LoadZone(s.site.TimeZone); err != nil {
		return nil, fmt.Errorf("explore: site %s: %w", r.Site, err)
	}
	return s, nil
}

// divide tells the days whose raw events are all there from the others.
func (s *scan) divide(ctx context.Context, days []string) error {
	now := s.x.t.Now()
	raw := s.site.Retention.Raw()
	oldest := s.cal.Day(now.Add(-raw)) // whatever came in time on a later day is there
	var old []string
	for _, day := range days {
		if day <= oldest {
			old = append(old, day)
		} else {
			s.days = append(s.days, day)
		}
	}
	gone, of, err := s.gone(ctx, old, now.Add(-raw))
	if err != nil {
		return err
	}
	var kept []string
	for _, day := range old {
		if gone[day] {
			s.lost = append(s.lost, day)
		} else {
			kept = append(kept, day)
		}
	}
	s.days = append(kept, s.days...)
	return s.recall(ctx, of)
}

// gone are those of some days, in order, of which raw events have expired: the first arrived before a time. What
// statistics say of a day tells, which it returns, too; a day of which there are none any more is gone, too.
func (s *scan) gone(ctx context.Context, days []string, before time.Time) (gone map[string]bool, of map[string]known, err error) {
	gone = make(map[string]bool)
	if len(days) == 0 {
		return gone, nil, nil
	}
	if of, err = s.statistics(ctx, days[0], days[len(days)-1]); err != nil {
		return nil, nil, err
	}
	dayLife := s.site.Retention.Of(analytics.Day)
	forgotten := s.cal.Day(s.x.t.Now().Add(-dayLife))
	for _, day := range days {
		since := of[day].since
		gone[day] = dayLife > 0 && day <= forgotten || since != 0 && time.Unix(since, 0).Before(before)
	}
	return gone, of, nil
}

// statistics are what the days from one to another are known for: the roll-up of a day and the sum of its hours are taken, whichever
// has counted more.
func (s *scan) statistics(ctx context.Context, first, last string) (map[string]known, error) {
	byDay, byHour := map[string]known{}, map[string]known{}
	note := func(in map[string]known, day string, b *analytics.Stats) {
		k := in[day]
		k.pageViews += b.PageViews
		k.events += b.Events
		if k.since == 0 || b.Since != 0 && b.Since < k.since {
			k.since = b.Since
		}
		in[day] = k
	}
	in := analytics.StatsIn{SiteID: s.site.SiteID, Period: analytics.Day, From: first, To: calendar.ShiftDay(last, 1)}
	for b, err := range analytics.StatsByTime.All(ctx, s.x.t, in) {
		if err != nil {
			return nil, err
		}
		note(byDay, b.Start, &b)
	}
	from, to, err := s.cal.HourRange(first, last)
	if err != nil {
		return nil, err
	}
	in = analytics.StatsIn{SiteID: s.site.SiteID, Period: analytics.Hour, From: from, To: to}
	for b, err := range analytics.StatsByTime.All(ctx, s.x.t, in) {
		if err != nil {
			return nil, err
		}
		note(byHour, b.Day, &b)
	}
	for day, h := range byHour {
		d := byDay[day]
		if d.since == 0 || h.since != 0 && h.since < d.since {
			d.since = h.since
		}
		d.pageViews, d.events = max(d.pageViews, h.pageViews), max(d.events, h.events)
		byDay[day] = d
	}
	return byDay, nil
}

// notes say what the answer leaves out, and what of it is from elsewhere.
func (s *scan) notes() []string {
	if len(s.lost) == 0 {
		return s.archivedNotes()
	}
	return append([]string{fmt.Sprintf("Raw events are kept for %d days. Those of %s are gone, so these days are left out.",
		int(s.site.Retention.Raw()/(24*time.Hour)), spansText(s.lost))}, s.archivedNotes()...)
}

// spansText names days, which are in order.
func spansText(days []string) string {
	spans := calendar.Spans(days, len(days))
	const most = 3
	var parts []string
	for _, span := range spans[:min(most, len(spans))] {
		parts = append(parts, span.From+" to "+span.To)
	}
	if len(spans) > most {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, ", ")
}

// each gives the visits of each day, in order, chosen or not. Some days are read ahead. It waits for its turn first.
func (s *scan) each(ctx context.Context, use func(day string, d *columns) error) error {
	return s.inTurn(ctx, func(days []string) error {
		g, ctx := errgroup.WithContext(ctx)
		ahead := make(chan chan *columns, daysAtOnce-1)
		g.Go(func() error {
			defer close(ahead)
			for _, day := range days {
				one := make(chan *columns, 1)
				select {
				case ahead <- one:
				case <-ctx.Done():
					return ctx.Err()
				}
				g.Go(func() error {
					d, err := s.day(ctx, day)
					if err != nil {
						return fmt.Errorf("explore: %s on %s: %w", s.site.SiteID, day, err)
					}
					one <- d
					return nil
				})
			}
			return nil
		})
		g.Go(func() error {
			for _, day := range days {
				select {
				case d := <-<-ahead:
					if err := use(day, d); err != nil {
						return err
					}
					s.looked()
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
		return g.Wait()
	})
}

// eachRaw gives the chosen visits of each day, in order, as raw events make them; those of one visitor follow each other,
// in order. What it gives is gone after the call. It waits for its turn first.
func (s *scan) eachRaw(ctx context.Context, use func(day string, visits []*visit) error) error {
	return s.inTurn(ctx, func(days []string) error {
		for _, day := range days {
			all, err := s.visits(ctx, day)
			if err != nil {
				return fmt.Errorf("explore: %s on %s: %w", s.site.SiteID, day, err)
			}
			if err := use(day, s.choose(all)); err != nil {
				return err
			}
			s.looked()
		}
		return nil
	})
}

// inTurn waits for a turn, and gives the days that can have events.
func (s *scan) inTurn(ctx context.Context, use func(days []string) error) error {
	tomorrow := s.cal.Day(s.x.t.Now().Add(24 * time.Hour)) // later days have no events
	days := slices.DeleteFunc(slices.Clone(s.days), func(day string) bool { return day > tomorrow })
	defer s.begin(len(days))()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	return use(days)
}

// choose are the visits that fulfil the conditions.
func (s *scan) choose(all []*visit) []*visit {
	if len(s.conditions) == 0 {
		return all
	}
	var chosen []*visit
	for _, v := range columnsOf(all, &s.x.hours).chosen(s.conditions) {
		chosen = append(chosen, all[v])
	}
	return chosen
}
