package imported

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

var (
	// ErrTooMuch is returned when an import exceeds a bound. The message says which.
	ErrTooMuch = errors.New("imported: too much")
	// ErrNothing is returned when no day of an export is to be counted.
	ErrNothing = errors.New("imported: nothing to import")
)

// The bounds of imports.
const (
	MaxImports  = 100       // of a site
	factsAtOnce = 500_000   // that are held in memory: days are stored as many at once as have fewer
	factsOfDay  = 1_000_000 // a day with more is refused
	maxSum      = 1_000_000_000_000_000
	writers     = 8
	maxNames    = 20 // files that an import remembers by name
)

// Into says where an import goes.
type Into struct {
	SiteID string
	// Until is the first day that is not taken: the first of which the site has counts of its own, or the one that is not
	// over, in the site's time zone.
	Until string
	// Lifetimes of days and months from now on; 0 is for ever.
	KeepDays, KeepMonths time.Duration
}

// Result is what an import stored, or would store.
type Result struct {
	Import
	Tables []exports.Table `json:"tables"`
	Days   int             `json:"days"` // of which anything is stored
	// Cut is how many days of the export are not taken, because the site has its own counts from Until on.
	Cut int `json:"cut"`
	// Held is how many counts, of a dimension and a day each, other imports have already. They are not taken.
	Held int  `json:"held"`
	Dry  bool `json:"dryRun"`

	Shown []string `json:"-"` // the first malformed rows
}

// Options of an import.
type Options struct {
	DryRun   bool                   // only say what would be stored
	Progress func(done, size int64) // bytes read of those to read; nil: nobody is told

	atOnce int64            // facts that are held in memory; default factsAtOnce
	each   func(day string) // told after every part of days that was stored
}

// Run imports an export. Running it again, or again after it was broken off, stores the same. Errors: those of
// exports.Inspect, ErrNothing, ErrTooMuch, ErrDeleting.
func Run(ctx context.Context, t *table.Table, into Into, e *exports.Export, o Options) (Result, error) {
	r := &runner{t: t, into: into, e: e, o: o, size: e.Size()}
	if err := r.run(ctx); err != nil {
		return r.out, fmt.Errorf("import into %s: %w", into.SiteID, err)
	}
	return r.out, nil
}

// runner is an import under way.
type runner struct {
	t    *table.Table
	into Into
	e    *exports.Export
	o    Options
	out  Result
	now  time.Time

	done, size int64
	stored     map[string]bool // days
	known      map[string]bool // imports that there are: days of others are what a broken deletion left
}

func (r *runner) run(ctx context.Context) error {
	r.now, r.stored = r.t.Now(), map[string]bool{}
	contents, err := r.e.Inspect(ctx, r.progress)
	if contents != nil {
		r.out.Tables, r.out.Shown = contents.Tables, contents.Shown
	}
	if err != nil {
		return err
	}
	parts, err := r.parts(contents)
	if err != nil {
		return err
	}
	r.out.Dry = r.o.DryRun
	r.out.Import = r.begin(contents)
	if len(parts) == 0 {
		return fmt.Errorf("%w: the export ends on %s, and the site counts itself, or the day is not over, from %s on", ErrNothing, contents.To, r.into.Until)
	}
	if err := r.announce(ctx); err != nil {
		return err
	}
	r.size = 2 * r.done
	reader := r.e.Reader(ctx, r.progress)
	defer reader.Close()
	for _, days := range parts {
		if err := r.part(ctx, reader, contents, days); err != nil {
			return err
		}
	}
	r.out.Days = len(r.stored)
	if r.out.State = Done; r.o.DryRun {
		return nil
	}
	for _, d := range r.out.Dimensions {
		if err := r.months(ctx, d); err != nil {
			return err
		}
	}
	err = Imports.Put(ctx, r.t, &r.out.Import, stateOfImport.In(Storing, Done))
	if errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("%w: %s", ErrDeleting, r.out.ImportID)
	}
	return err
}

func (r *runner) progress(bytes int64) {
	if r.done += bytes; r.o.Progress != nil {
		r.o.Progress(r.done, max(r.size, r.done))
	}
}

// begin is the import before anything of it is stored.
func (r *runner) begin(c *exports.Contents) Import {
	im := Import{
		ImportKey: ImportKey{r.into.SiteID, c.ID}, State: Storing, Format: c.Format, At: r.now.UTC().Truncate(time.Millisecond),
		From: c.From, To: min(c.To, calendar.ShiftDay(r.into.Until, -1)), Until: r.into.Until,
		Dimensions: c.Dimensions(), Rows: c.Rows, Malformed: c.Malformed,
	}
	for _, t := range c.Tables {
		if t.Problem == "" && len(im.Files) < maxNames && !slices.Contains(im.Files, t.File) {
			im.Files = append(im.Files, strings.ToValidUTF8(t.File[:min(len(t.File), 200)], ""))
		}
	}
	return im
}

// announce stores that the import is under way, so that it can be deleted should it never end. One that is done already
// goes on to count meanwhile.
func (r *runner) announce(ctx context.Context) error {
	all, err := ImportsOfSite.Collect(ctx, r.t, SiteIn{r.into.SiteID})
	if err != nil {
		return err
	}
	r.known = map[string]bool{}
	for i := range all {
		r.known[all[i].ImportID] = true
	}
	at := slices.IndexFunc(all, func(im Import) bool { return im.ImportID == r.out.ImportID })
	switch {
	case at >= 0 && all[at].State == Deleting:
		return fmt.Errorf("%w: %s", ErrDeleting, r.out.ImportID)
	case at >= 0 && all[at].State == Done, r.o.DryRun:
		return nil
	case at < 0 && len(all) >= MaxImports:
		return fmt.Errorf("%w: the site has %d imports; delete one", ErrTooMuch, len(all))
	}
	return Imports.Put(ctx, r.t, &r.out.Import)
}

// parts splits the selected days into parts that fit in memory.
func (r *runner) parts(c *exports.Contents) (parts [][]string, err error) {
	var facts int64
	for _, d := range c.Days() {
		n := c.Facts(d)
		if d >= r.into.Until {
			r.out.Cut++
			continue
		}
		if n > factsOfDay {
			return nil, fmt.Errorf("%w: %s has %d counts, at most %d are read of a day", ErrTooMuch, d, n, factsOfDay)
		}
		n += int64(len(c.Measured(d))) // each takes the room of a count, even without values
		if facts += n; len(parts) == 0 || facts > cmp.Or(r.o.atOnce, factsAtOnce) {
			parts = append(parts, nil)
			facts = n
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], d)
	}
	return parts, nil
}

// part stores days, which are in order.
func (r *runner) part(ctx context.Context, reader *exports.Reader, c *exports.Contents, days []string) error {
	w := calendar.Span{From: days[0], To: days[len(days)-1]}
	sums, err := r.sums(reader, c, days)
	if err != nil {
		return err
	}
	held, err := r.held(ctx, w)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for key, sum := range sums {
		by := held[key]
		if by != "" && r.known[by] {
			r.out.Held++
			continue
		}
		r.note(key, sum)
		if !r.o.DryRun {
			g.Go(func() error { return r.put(gctx, key, sum, by) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if r.o.each != nil {
		r.o.each(w.To)
	}
	return ctx.Err()
}

// sums adds up the facts of days. A dimension that was measured on a day has counts there, even if they are empty.
func (r *runner) sums(reader *exports.Reader, c *exports.Contents, days []string) (map[DayKey]*Counts, error) {
	sums := map[DayKey]*Counts{}
	for _, day := range days {
		for _, d := range c.Measured(day) {
			sums[DayKey{r.into.SiteID, d, day}] = &Counts{}
		}
	}
	return sums, reader.Days(days[0], days[len(days)-1], func(f exports.Fact) error {
		key := DayKey{r.into.SiteID, f.Dimension, f.Day}
		sum := sums[key]
		if sum == nil {
			sum = &Counts{}
			sums[key] = sum
		}
		return sum.count(&f)
	})
}

// count adds a fact. It does not bound the values: those of a day are bounded when all are known, so that the greatest stay.
func (c *Counts) count(f *exports.Fact) error {
	into := &c.Other
	if c.Visitors += f.Visitors; f.Value == "" {
		c.Other = c.Other.Plus(f.Count)
	} else {
		c.Values.Add(f.Value, f.Count)
		v := c.Values[f.Value]
		into = &v
	}
	if max(c.Visitors, into.PageViews, into.Visits, into.Events, into.Bounces, into.Seconds, into.EngagedMS, into.Scroll) > maxSum {
		return fmt.Errorf("%w: %s counts more than %d by %s", ErrTooMuch, f.Day, int64(maxSum), f.Dimension)
	}
	return nil
}

// note adds what is stored to the result.
func (r *runner) note(key DayKey, sum *Counts) {
	r.stored[key.Day] = true
	switch all := sum.Sum(); key.Dimension {
	case exports.Totals:
		r.out.Visitors += sum.Visitors
		r.out.Visits += all.Visits
		r.out.PageViews += all.PageViews
	case exports.EventTotals:
		r.out.Events += all.Events
	}
}

// held names the imports that have counts of these days, where they are others.
func (r *runner) held(ctx context.Context, w calendar.Span) (map[DayKey]string, error) {
	held := map[DayKey]string{}
	for _, d := range r.out.Dimensions {
		for day, err := range DaysByTime.All(ctx, r.t, DaysIn{r.into.SiteID, d, w.From, calendar.ShiftDay(w.To, 1)}) {
			if err != nil {
				return nil, err
			}
			if day.ImportID != r.out.ImportID {
				held[day.DayKey] = day.ImportID
			}
		}
	}
	return held, nil
}

// put stores a day, unless an import has it that is not left over.
func (r *runner) put(ctx context.Context, key DayKey, sum *Counts, leftOver string) error {
	day := Day{DayKey: key, ImportID: r.out.ImportID, ExpiresAt: expires(r.now, r.into.KeepDays)}
	day.Counts.add(sum)
	err := Days.Put(ctx, r.t, &day, table.Or(table.Absent(), importOfDay.Eq(r.out.ImportID), importOfDay.Eq(leftOver)))
	if errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("another import of %s by %s is under way; wait for it, and import again", key.Day, key.Dimension)
	}
	return err
}

// expires is when what is stored now may be deleted; zero: never.
func expires(now time.Time, keep time.Duration) time.Time {
	if keep == 0 {
		return time.Time{}
	}
	return now.Add(keep)
}

// months stores the sums of the import's days of a dimension.
func (r *runner) months(ctx context.Context, d exports.Dimension) error {
	var month Month
	all := &Counts{} // unbounded, so that the month keeps its greatest values
	flush := func() error {
		if month.Month == "" {
			return nil
		}
		month.Counts.add(all)
		all = &Counts{}
		return Months.Put(ctx, r.t, &month)
	}
	for day, err := range DaysByTime.All(ctx, r.t, DaysIn{r.into.SiteID, d, r.out.From, calendar.ShiftDay(r.out.To, 1)}) {
		if err != nil {
			return err
		}
		if day.ImportID != r.out.ImportID {
			continue
		}
		if of := calendar.MonthOf(day.Day); of != month.Month {
			if err := flush(); err != nil {
				return err
			}
			month = Month{MonthKey: MonthKey{r.into.SiteID, d, of, r.out.ImportID}, ExpiresAt: expires(r.now, r.into.KeepMonths)}
		}
		month.Days = month.Days.with(day.Day)
		all.gather(&day)
	}
	return flush()
}

// gather adds a day to the counts of its month. It does not bound the values.
func (c *Counts) gather(day *Day) {
	c.Visitors += day.Visitors
	switch day.Dimension {
	case exports.Totals, exports.EventTotals, exports.PageTotals:
		c.Values.Add(day.Day, day.Other)
		return
	}
	c.Other = c.Other.Plus(day.Other)
	for value, n := range day.Values {
		c.Values.Add(value, n)
	}
}
