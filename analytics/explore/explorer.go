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

// Options limits what one question may use. The zero value has good defaults.
type Options struct {
	AtOnce    int // concurrent questions on raw events, and concurrent exports; others wait; default 2
	Events    int // raw events per question; default 50,000,000
	DayEvents int // raw events of one day, which are in memory while the day is processed; default 1,000,000
	Values    int // distinct values of a breakdown, others are counted together; default 100,000
	Users     int // users in a retention report, or counted by behavioral filters; default 500,000
	KeepBytes int // cache of days, if the table's API is Watched or the day is from the Archive; default 128 MB

	// Files are columns of days on disk, if the table's API is Watched; nil: none.
	Files *Files

	Archive  Archive // raw events that have expired; nil: none
	LargeDay int     // page views and events from which on a day is read from the Archive even if the table has it; default 50,000
}

func (o *Options) defaults() {
	for _, d := range []struct {
		of *int
		is int
	}{{&o.AtOnce, 2}, {&o.Events, 50_000_000}, {&o.DayEvents, 1_000_000}, {&o.Values, 100_000}, {&o.Users, 500_000}, {&o.KeepBytes, 128 << 20},
		{&o.LargeDay, 50_000}} {
		if *d.of <= 0 {
			*d.of = d.is
		}
	}
}

// An Explorer answers questions about the sites of a table. It is safe for concurrent use. mu
// protects the fields below it.
type Explorer struct {
	t    *table.Table
	o    Options
	turn chan struct{} // semaphore of questions that read raw events
	out  chan struct{} // semaphore of exports, which last as long as their reader wants

	watched   *Watched // nil: writes are not noticed, so days of the table are not cached
	recent    dayCache
	preparing preparations
	hours     calendar.HourNames
	users     userKey

	mu      sync.Mutex
	cubes   map[string]*cube // recently built
	pasts   pastCache
	flights map[string]*flight // being built
	asked   map[*scan]bool     // questions in progress
}

// New returns an Explorer. It caches days if the table's API is a *Watched.
func New(t *table.Table, o Options) *Explorer {
	o.defaults()
	watched, _ := t.API().(*Watched)
	users := newUserKey()
	if watched == nil {
		o.Files = nil
	} else if o.Files != nil {
		watched.files.Store(o.Files)
		users = o.Files.users
	}
	return &Explorer{
		t: t, o: o, users: users, turn: make(chan struct{}, o.AtOnce), out: make(chan struct{}, o.AtOnce),
		watched: watched, recent: dayCache{most: o.KeepBytes, days: map[dayKey]*cachedDay{}, claims: map[dayKey]chan struct{}{}},
		cubes: map[string]*cube{}, pasts: pastCache{of: map[string]*pastSums{}}, flights: map[string]*flight{}, asked: map[*scan]bool{},
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
		return fmt.Errorf("%w: %s to %s is %d days: want 1 to %d", ErrQuestion, r.From, r.To, n, maxDays)
	}
	return nil
}

// A scan reads the raw events of a range of days, day by day.
type scan struct {
	x          *Explorer
	site       analytics.Site
	cal        calendar.Zone
	days       []string          // days with all raw events
	archived   map[string]uint64 // the days among them that are read from the archive, with its version
	lost       []string          // days that lack some or all raw events
	conditions []*condition
	done       int          // days at the start that need not be read
	most       int          // events that may be read
	left       atomic.Int64 // remaining events
	readers    int          // shards of a day read concurrently
	turn       chan struct{}
	progress   progress // protected by x.mu
	first      string   // first day of the range
	behavioral []string // notes on behavioral filters
}

// scan starts a question about the visits of a range that match all filters. Errors: ErrQuestion,
// ErrGone if no day has all raw events, table.ErrNotFound.
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
		return nil, fmt.Errorf("%w: from %s to %s; request later days or remove the filters", ErrGone, r.From, r.To)
	}
	return s, s.meet(ctx, r)
}

// siteOf starts a question without selecting days. Errors: ErrQuestion, table.ErrNotFound.
func (x *Explorer) siteOf(ctx context.Context, r Range) (s *scan, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s = &scan{x: x, turn: x.turn, first: r.From, readers: readersAtOnce, most: x.o.Events}
	s.left.Store(int64(x.o.Events))
	if s.site, err = analytics.GetSite(ctx, x.t, r.Site); err != nil {
		return nil, err
	}
	if s.cal, err = calendar.LoadZone(s.site.TimeZone); err != nil {
		return nil, fmt.Errorf("explore: site %s: %w", r.Site, err)
	}
	return s, nil
}

// divide separates the days with all raw events from the others.
func (s *scan) divide(ctx context.Context, days []string) error {
	now := s.x.t.Now()
	oldest := s.cal.Day(now.Add(-s.site.ShortestRaw())) // raw events of later days are complete
	var old []string
	for _, day := range days {
		if day <= oldest {
			old = append(old, day)
		} else {
			s.days = append(s.days, day)
		}
	}
	gone, of, err := s.gone(ctx, old, now)
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

// gone returns the days, which are sorted, that may lack raw events. It decides by the arrival of
// their first event, which their statistics record, and also returns the statistics. A day whose
// statistics have expired is gone as well.
func (s *scan) gone(ctx context.Context, days []string, now time.Time) (gone map[string]bool, of map[string]known, err error) {
	gone = make(map[string]bool)
	if len(days) == 0 {
		return gone, nil, nil
	}
	if of, err = s.statistics(ctx, days[0], days[len(days)-1]); err != nil {
		return nil, nil, err
	}
	for _, day := range days {
		start, _, err := s.cal.Bounds(day)
		if err != nil {
			return nil, nil, err
		}
		since := of[day].since
		gone[day] = !now.Before(s.site.DayUntil(start)) || since != 0 && !now.Before(s.site.RawUntil(time.Unix(since, 0)))
	}
	return gone, of, nil
}

// statistics returns the counts of days from first to last: those of the daily roll-up or of the
// hours, whichever is greater.
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
	in := s.site.StatsIn(analytics.Day, first, calendar.ShiftDay(last, 1))
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
	in = s.site.StatsIn(analytics.Hour, from, to)
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

// notes describes which days are missing from the answer, and which are from the archive.
func (s *scan) notes() []string {
	notes := append(slices.Clone(s.behavioral), s.archivedNotes()...)
	if len(s.lost) == 0 {
		return notes
	}
	kept := fmt.Sprintf("%d days", int(s.site.Retention.Raw()/(24*time.Hour)))
	if n := len(s.site.PastRetentions); n > 0 && s.site.ShortestRaw() < s.site.Retention.Raw() {
		kept += ", or for fewer if they arrived before " + s.cal.Day(time.Unix(s.site.PastRetentions[n-1].Changed, 0))
	}
	return append([]string{fmt.Sprintf("Raw events are kept for %s. Events of %s have expired, so these days are omitted.", kept, spansText(s.lost))}, notes...)
}

// spansText lists sorted days as ranges.
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

// each calls use with the visits of each day in order, selected or not. It reads up to daysAtOnce
// days concurrently. It waits for its turn first.
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

// eachRaw calls use with the selected visits of each day in order, built from raw events. The
// visits of a visitor are adjacent and in order. They are valid only during the call. It waits for
// its turn first.
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

// inTurn waits for a turn and passes the days that can have events.
func (s *scan) inTurn(ctx context.Context, use func(days []string) error) error {
	tomorrow := s.cal.Day(s.x.t.Now().Add(24 * time.Hour)) // later days have no events
	days := slices.DeleteFunc(slices.Clone(s.days[s.done:]), func(day string) bool { return day > tomorrow })
	defer s.begin(len(days))()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	return use(days)
}

// choose returns the visits that match the conditions.
func (s *scan) choose(all []*visit) []*visit {
	if len(s.conditions) == 0 {
		return all
	}
	var chosen []*visit
	for _, v := range columnsOf(all, &s.x.hours, &s.x.users).chosen(s.conditions) {
		chosen = append(chosen, all[v])
	}
	return chosen
}
