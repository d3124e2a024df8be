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
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/table"
)

var (
	// ErrTooMuch is returned when an import exceeds a limit. The message says which.
	ErrTooMuch = errors.New("imported: too much")
	// ErrNothing is returned when an export has no day to import.
	ErrNothing = errors.New("imported: nothing to import")
)

// Limits of imports.
const (
	MaxImports  = 100       // per site
	factsAtOnce = 500_000   // facts held in memory: days are stored in groups with fewer facts
	factsOfDay  = 1_000_000 // a day with more is rejected
	maxSum      = 1_000_000_000_000_000
	writers     = 8
	maxNames    = 20 // file names stored with an import
)

// Destination is the destination of an import.
type Destination struct {
	SiteID string
	// Until is the first day not to import: the first day with the site's own counts, or the first
	// day that is not over in the site's time zone.
	Until string
	// Lifetimes of days and months from now on; 0 means forever.
	KeepDays, KeepMonths time.Duration
	// Mask is what the site masks. nil masks nothing.
	Mask *mask.Masker
}

// Result is what an import stored, or would store.
type Result struct {
	Import
	Tables []exports.Table `json:"tables"`
	Days   int             `json:"days"` // days with stored counts
	// Cut is how many days of the export were skipped because they are not before Until.
	Cut int `json:"cut"`
	// Held is how many pairs of dimension and day were skipped because another import has them.
	Held int  `json:"held"`
	Dry  bool `json:"dryRun"`

	Shown []string `json:"-"` // the first malformed rows
}

// Options configures an import.
type Options struct {
	DryRun   bool                   // only report what would be stored
	Progress func(done, size int64) // called with bytes read and bytes to read; nil: no reports

	atOnce int64            // facts held in memory; default factsAtOnce
	each   func(day string) // called after each stored group of days
}

// Run imports an export. Repeating it, also after an interruption, stores the same. Errors: those
// of exports.Inspect, ErrNothing, ErrTooMuch, ErrDeleting.
func Run(ctx context.Context, t *table.Table, into Destination, e *exports.Export, o Options) (Result, error) {
	e.Mask(into.Mask)
	r := &runner{t: t, into: into, e: e, o: o, size: e.Size()}
	err := r.run(ctx)
	return r.out, err
}

// runner is the state of a running import.
type runner struct {
	t    *table.Table
	into Destination
	e    *exports.Export
	o    Options
	out  Result
	now  time.Time

	done, size int64
	stored     map[string]bool // days with stored counts
	known      map[string]bool // existing imports; days of any other import are leftovers of an interrupted deletion
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
		return fmt.Errorf("%w: the export ends on %s, but only days before %s are imported: from then on the site has its own statistics or the day is not over", ErrNothing, contents.To, r.into.Until)
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

// begin returns the import before anything is stored.
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

// announce stores that the import is in progress, so that it can be deleted if it never completes.
// A completed import that is repeated keeps counting meanwhile.
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
		return fmt.Errorf("%w: the site already has %d imports; delete one first", ErrTooMuch, len(all))
	}
	return Imports.Put(ctx, r.t, &r.out.Import)
}

// parts groups the selected days so that each group fits in memory.
func (r *runner) parts(c *exports.Contents) (parts [][]string, err error) {
	var facts int64
	for _, d := range c.Days() {
		n := c.Facts(d)
		if d >= r.into.Until {
			r.out.Cut++
			continue
		}
		if n > factsOfDay {
			return nil, fmt.Errorf("%w: %s has %d counts; a day can have at most %d", ErrTooMuch, d, n, factsOfDay)
		}
		n += int64(len(c.Measured(d))) // an empty dimension takes the space of a count
		if facts += n; len(parts) == 0 || facts > cmp.Or(r.o.atOnce, factsAtOnce) {
			parts = append(parts, nil)
			facts = n
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], d)
	}
	return parts, nil
}

// part stores a group of days, in order.
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

// sums adds up the facts of days. A dimension that was measured on a day has an entry, even if
// empty.
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

// count adds a fact. It does not limit the values: those of a day are limited once all are known,
// so that the greatest are kept.
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
		return fmt.Errorf("%w: the counts of %s add up to more than %d by %s", ErrTooMuch, f.Day, int64(maxSum), f.Dimension)
	}
	return nil
}

// note adds stored counts to the result.
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

// held returns the other imports that have counts of these days.
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

// put stores a day, unless another import has it. leftOver is a deleted import whose day may be
// replaced.
func (r *runner) put(ctx context.Context, key DayKey, sum *Counts, leftOver string) error {
	day := Day{DayKey: key, ImportID: r.out.ImportID, ExpiresAt: expires(r.now, r.into.KeepDays)}
	day.Counts.add(sum)
	err := Days.Put(ctx, r.t, &day, table.Or(table.Absent(), importOfDay.Eq(r.out.ImportID), importOfDay.Eq(leftOver)))
	if errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("another import of %s by %s is running; wait until it ends and import again", key.Day, key.Dimension)
	}
	return err
}

// expires returns when items stored now may be deleted; zero: never.
func expires(now time.Time, keep time.Duration) time.Time {
	if keep == 0 {
		return time.Time{}
	}
	return now.Add(keep)
}

// months stores the monthly sums of the import's days of a dimension.
func (r *runner) months(ctx context.Context, d exports.Dimension) error {
	var month Month
	all := &Counts{} // unlimited until the month is complete, so that the greatest values are kept
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

// gather adds a day to the counts of its month, without limiting the values.
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
