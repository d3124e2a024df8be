package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// Days and months are set to the sum of the finer tier, never incremented, so repeating a roll-up
// changes nothing. Every change of an hour marks its day. A roll-up reads the mark, then the
// versions of the items to write, then the finer tier. It writes on condition of these versions,
// and removes the mark on condition that it is unchanged. So of two concurrent roll-ups the one
// that read last wins, and late events are not lost: they change the mark, or create a new one.

// Rolled is the result of a roll-up.
type Rolled struct {
	Days   []string // days rolled up
	Months []string // months of these days, rolled up after them
	Open   []string // days that are not over; reports read their hours instead
	// Sealed lists days and months that changed when some of their sources may already have
	// expired. They are final: recomputing them would lose counts. Late events count only in their
	// hours.
	Sealed []string
}

// RollUp rolls up the days that ended before now and whose hours changed, then the months of these
// days. It may be interrupted, repeated, and run concurrently. Errors: table.ErrNotFound for the
// site.
func RollUp(ctx context.Context, t *table.Table, siteID string, now time.Time) (Rolled, error) {
	r, err := newRoller(ctx, t, siteID, now)
	if err != nil {
		return Rolled{}, err
	}
	marked := make(map[string][]string) // days by month
	today := r.cal.Day(now)
	for m, err := range analytics.DaysToRollUp.All(ctx, t, analytics.DaysIn{SiteID: siteID}) {
		switch {
		case err != nil:
			return r.rolled, fmt.Errorf("analytics: roll up %s: %w", siteID, err)
		case m.Day >= today:
			r.rolled.Open = append(r.rolled.Open, m.Day)
		default:
			marked[calendar.MonthOf(m.Day)] = append(marked[calendar.MonthOf(m.Day)], m.Day)
		}
	}
	for _, month := range slices.Sorted(maps.Keys(marked)) {
		if err := r.rollMarked(ctx, month, marked[month]); err != nil {
			return r.rolled, fmt.Errorf("analytics: roll up %s %s: %w", siteID, month, err)
		}
	}
	return r.rolled, nil
}

// AggregateDaily recomputes the day that contains at from its hours, changed or not. Errors:
// analytics.ErrSealed.
func AggregateDaily(ctx context.Context, t *table.Table, siteID string, at time.Time) error {
	r, err := newRoller(ctx, t, siteID, t.Now())
	if err != nil {
		return err
	}
	return rejectSealed(r.rollDay(ctx, r.cal.Day(at)))
}

// AggregateMonthly recomputes the month that contains at from its days, changed or not. Errors:
// analytics.ErrSealed.
func AggregateMonthly(ctx context.Context, t *table.Table, siteID string, at time.Time) error {
	r, err := newRoller(ctx, t, siteID, t.Now())
	if err != nil {
		return err
	}
	return rejectSealed(r.roll(ctx, r.ofMonth(calendar.MonthOf(r.cal.Day(at)))))
}

// roller rolls up one site.
type roller struct {
	t      *table.Table
	site   analytics.Site
	cal    calendar.Zone
	now    time.Time
	rolled Rolled
}

func newRoller(ctx context.Context, t *table.Table, siteID string, now time.Time) (*roller, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return nil, err
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	return &roller{t: t, site: site, cal: cal, now: now}, err
}

func rejectSealed(final bool, err error) error {
	if err == nil && final {
		return fmt.Errorf("%w: the buckets it is rolled up from have begun to expire", analytics.ErrSealed)
	}
	return err
}

// rollMarked rolls up days of one month, then the month, and then removes the marks.
func (r *roller) rollMarked(ctx context.Context, month string, days []string) error {
	keys := make([]analytics.RollupKey, len(days))
	for i, day := range days {
		keys[i] = analytics.RollupKey{SiteID: r.site.SiteID, Day: day}
	}
	marks, err := fold.Load(ctx, r.t, analytics.RollupMarks, keys)
	if err != nil {
		return err
	}
	final := make([]bool, len(days))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, day := range days {
		g.Go(func() (err error) {
			final[i], err = r.rollDay(gctx, day)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	finalMonth, err := r.roll(ctx, r.ofMonth(month))
	if err != nil {
		return err
	}
	for i, key := range keys {
		err := fold.RemoveState(ctx, r.t, analytics.RollupMarks, key, marks[i].Version)
		if err != nil && !errors.Is(err, table.ErrConflict) { // a changed mark stays for the next roll-up
			return err
		}
		r.rolled.note(analytics.Day, days[i], final[i])
	}
	r.rolled.note(analytics.Month, month, finalMonth)
	return nil
}

func (r *Rolled) note(p analytics.Period, start string, final bool) {
	switch {
	case final:
		r.Sealed = append(r.Sealed, start)
	case p == analytics.Day:
		r.Days = append(r.Days, start)
	default:
		r.Months = append(r.Months, start)
	}
}

func (r *roller) rollDay(ctx context.Context, day string) (final bool, err error) {
	b, err := r.ofDay(day)
	if err != nil {
		return false, err
	}
	return r.roll(ctx, b)
}

// maxRolls limits the attempts on a bucket that other roll-ups write at the same time.
const maxRolls = 16

// roll computes the statistics and all breakdowns of a bucket. final reports that the bucket was
// left as it is, because some of its sources may have expired.
func (r *roller) roll(ctx context.Context, b rolling) (final bool, err error) {
	for range maxRolls {
		var changes []rollChange
		if changes, final, err = r.changes(ctx, b); err == nil {
			err = apply(ctx, changes)
		}
		if !errors.Is(err, table.ErrConflict) {
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", b.period, b.start, err)
	}
	return final, nil
}

func apply(ctx context.Context, changes []rollChange) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(rollWriters)
	for _, c := range changes {
		g.Go(func() error { return c.apply(ctx) })
	}
	return g.Wait()
}
