package imported

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ErrGone is returned for imported days that have expired, so that only their month is left.
var ErrGone = errors.New("imported: days have expired")

// Selection selects the imported counts of a site's days.
type Selection struct {
	SiteID   string
	From, To string // both inclusive
	KeepDays time.Duration
	// OwnSince returns the first day with the site's own counts, or "". exact is false if only its
	// month is known; day is then the first of the month. It is called only if there are imports.
	OwnSince func(context.Context) (day string, exact bool, err error)
}

// A View holds the imported counts of a range of days that end before the site's own counts begin.
// The nil View is empty.
type View struct {
	t       *table.Table
	ask     Selection
	imports map[string]*Import // completed imports, by ID
	days    []string           // counted days of the range, in order
	months  []string           // whole months, read as months
	single  []string           // days outside these months
	totals  map[string]*Counts // by day or month
	byDay   tally.Values       // by day only, without visitors
}

// Find returns the imported counts of a range, or nil if there are none. Without imports it makes
// one Query call.
func Find(ctx context.Context, t *table.Table, ask Selection) (*View, error) {
	v := &View{t: t, ask: ask, imports: map[string]*Import{}, totals: map[string]*Counts{}}
	for im, err := range ImportsOfSite.All(ctx, t, SiteIn{ask.SiteID}) {
		if err != nil {
			return nil, err
		}
		if im.State == Done && im.From <= ask.To && im.To >= ask.From {
			v.imports[im.ImportID] = &im
		}
	}
	if len(v.imports) == 0 {
		return nil, nil
	}
	if err := v.choose(ctx); err != nil || len(v.days) == 0 {
		return nil, err
	}
	return v, nil
}

// Range returns the first and last counted day of the range.
func (v *View) Range() (from, to string) { return v.days[0], v.days[len(v.days)-1] }

// choose selects the days that count, and which of them are read as months.
func (v *View) choose(ctx context.Context) error {
	since, exact, err := v.ask.OwnSince(ctx)
	if err != nil {
		return err
	}
	if since != "" && !exact {
		since = v.within(since)
	}
	first, last := v.bounds()
	first, last = max(first, v.ask.From), min(last, v.ask.To)
	if since != "" {
		last = min(last, calendar.ShiftDay(since, -1))
	}
	v.days = calendar.Days(first, last)
	for _, month := range calendar.MonthsOf(v.days) {
		if v.answers(month, since) {
			v.months = append(v.months, month)
		}
	}
	for _, d := range v.days {
		if !slices.Contains(v.months, calendar.MonthOf(d)) {
			v.single = append(v.single, d)
		}
	}
	return nil
}

// bounds returns the first and last day of all imports.
func (v *View) bounds() (first, last string) {
	for _, im := range v.imports {
		if first == "" || im.From < first {
			first = im.From
		}
		last = max(last, im.To)
	}
	return first, last
}

// within returns the site's first own day when only its month is known. since is the first day of
// that month. If imports end in the month, the result is the day on which the last of them ends.
func (v *View) within(since string) string {
	day := since
	for _, im := range v.imports {
		if calendar.MonthOf(im.Until) == calendar.MonthOf(since) {
			day = max(day, im.Until)
		}
	}
	return day
}

// answers reports whether the imports' sums of a month can be used: neither the range nor the
// site's first own day splits it.
func (v *View) answers(month, since string) bool {
	first, last := calendar.MonthBounds(month)
	for _, im := range v.imports {
		from, to := max(first, im.From), min(last, im.To)
		if from <= to && (from < v.ask.From || to > v.ask.To || since != "" && to >= since) {
			return false
		}
	}
	return true
}

// LoadTotals reads the totals of days, or of whole months if byMonth is set. Errors: ErrGone.
func (v *View) LoadTotals(ctx context.Context, byMonth bool) error {
	if v == nil {
		return nil
	}
	months, days := v.months, v.single
	if !byMonth {
		months, days = nil, v.days
	}
	for _, d := range []exports.Dimension{exports.Totals, exports.EventTotals, exports.PageTotals} {
		err := v.each(ctx, d, months, days, func(start string, of []string, c *Counts) {
			sum := v.totals[start]
			if sum == nil {
				sum = &Counts{}
				v.totals[start] = sum
			}
			sum.Visitors += c.Visitors
			for day, n := range c.byDay(of) {
				if d == exports.PageTotals && v.byDay[day].EngagedMS != 0 {
					continue // the export also has engaged time by day
				}
				v.byDay.Add(day, n)
				sum.Other = sum.Other.Plus(n)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// byDay divides totals by day. A month that was stored as one sum counts on its first day.
func (c *Counts) byDay(of []string) tally.Values {
	if len(c.Values) > 0 {
		return c.Values
	}
	return tally.Values{of[0]: c.Other}
}

// maxSpans limits the Query calls for single days.
const maxSpans = 3

// each calls add with the imported counts of a dimension in months and days. of lists the days in
// the counts.
func (v *View) each(ctx context.Context, d exports.Dimension, months, days []string, add func(start string, of []string, c *Counts)) error {
	if len(months) > 0 {
		in := MonthsIn{v.ask.SiteID, d, months[0], calendar.MonthAfter(months[len(months)-1])}
		for m, err := range MonthsByTime.All(ctx, v.t, in) {
			if err != nil {
				return err
			}
			if _, found := slices.BinarySearch(months, m.Month); found && v.imports[m.ImportID] != nil {
				add(m.Month, m.days(), &m.Counts)
			}
		}
	}
	if err := v.checkKept(days); err != nil {
		return err
	}
	for _, span := range calendar.Spans(days, maxSpans) {
		for day, err := range DaysByTime.All(ctx, v.t, DaysIn{v.ask.SiteID, d, span.From, calendar.ShiftDay(span.To, 1)}) {
			if err != nil {
				return err
			}
			if _, found := slices.BinarySearch(days, day.Day); found && v.imports[day.ImportID] != nil {
				add(day.Day, []string{day.Day}, &day.Counts)
			}
		}
	}
	return nil
}

// checkKept returns ErrGone for expired days, which would otherwise look empty.
func (v *View) checkKept(days []string) error {
	if len(days) == 0 || v.ask.KeepDays == 0 {
		return nil
	}
	now := v.t.Now()
	for _, im := range v.imports {
		if now.Before(im.At.Add(v.ask.KeepDays)) {
			continue
		}
		if i, _ := slices.BinarySearch(days, im.From); i < len(days) && days[i] <= im.To {
			return fmt.Errorf("%w: imported days of %s; request whole months by month", ErrGone, calendar.MonthOf(days[i]))
		}
	}
	return nil
}

// Total returns the counts of a day or month within the range. Call LoadTotals first.
func (v *View) Total(start string) (c Counts) {
	if v == nil {
		return c
	}
	if whole := v.totals[start]; whole != nil {
		return *whole
	}
	if len(start) == len(calendar.DayLayout) {
		return c
	}
	for at, part := range v.totals {
		if calendar.MonthOf(at) == start {
			c.Visitors += part.Visitors
			c.Other = c.Other.Plus(part.Other)
		}
	}
	return c
}

// Values adds the imported counts of a dimension to values, and the unnamed rest to other. covered
// is the total of the days on which the dimension was measured. Errors: ErrGone.
func (v *View) Values(ctx context.Context, d exports.Dimension, values tally.Values, other *tally.Count) (covered tally.Count, err error) {
	if v == nil {
		return covered, nil
	}
	seen := map[string]bool{}
	err = v.each(ctx, d, v.months, v.single, func(_ string, of []string, c *Counts) {
		for value, n := range c.Values {
			values.Add(value, n)
		}
		*other = other.Plus(c.Other)
		for _, day := range of {
			if !seen[day] {
				seen[day] = true
				covered = covered.Plus(v.byDay[day])
			}
		}
	})
	return covered, err
}

// Extent returns the first and last day of a site's imports, or "" if there are none. It ignores
// that the site's own counts replace later days.
func Extent(ctx context.Context, t *table.Table, siteID string) (first, last string, err error) {
	for im, err := range ImportsOfSite.All(ctx, t, SiteIn{siteID}) {
		if err != nil {
			return "", "", err
		}
		if im.State != Done {
			continue
		}
		if first == "" || im.From < first {
			first = im.From
		}
		last = max(last, im.To)
	}
	return first, last, nil
}
