package reconcile

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// Roll-ups are compared with the finer tier, which was compared with the facts before. A bucket
// that still waits for its roll-up, as its mark shows, does not count as a difference.

func (r *reconciler) roller() *roller {
	return &roller{t: r.t, site: r.site, cal: r.cal, now: r.t.Now()}
}

// compareRolledDay compares a completed day with its hours.
func (r *reconciler) compareRolledDay(ctx context.Context, day string) error {
	if day >= r.cal.Day(r.t.Now()) {
		return nil
	}
	b, err := r.roller().ofDay(day)
	if err != nil {
		return err
	}
	b.complete = true // its raw events are complete, and so its hours are
	return r.compareRollup(ctx, b, day, day)
}

// compareMonths compares the months of the given days with their days.
func (r *reconciler) compareMonths(ctx context.Context, days []string) error {
	for _, month := range calendar.MonthsOf(days) {
		first, last := calendar.MonthBounds(month)
		if err := r.compareRollup(ctx, r.roller().ofMonth(month), first, last); err != nil {
			return err
		}
	}
	return nil
}

// compareRollup compares a bucket with the finer tier, unless a day from first to last waits for a
// roll-up. Rebuild recomputes it in any case.
func (r *reconciler) compareRollup(ctx context.Context, b rolling, first, last string) error {
	for range maxTries {
		waiting, err := r.waiting(ctx, first, last)
		if err != nil {
			return err
		}
		if waiting && r.verb == Verifying {
			return nil
		}
		changes, _, err := r.roller().changes(ctx, b)
		if err != nil {
			return err
		}
		r.found.Items += int64(1 + len(r.site.Breakdowns()))
		settled, err := r.repairRollup(ctx, changes, waiting, first, last)
		if settled || err != nil {
			return err
		}
	}
	r.listBusy(fmt.Sprintf("%s %s", b.period, b.start))
	return nil
}

// listBusy lists an item that was written too often to be compared, unless the list is full.
func (r *reconciler) listBusy(name string) {
	if len(r.found.Busy) < maxListed {
		r.found.Busy = append(r.found.Busy, name)
	}
}

// repairRollup reports or repairs items that differ from the sum of the finer tier. It returns
// false while hours are being written.
func (r *reconciler) repairRollup(ctx context.Context, changes []rollChange, waiting bool, first, last string) (settled bool, err error) {
	if len(changes) == 0 {
		return true, nil
	}
	if !waiting { // the hours may have changed just now, with their mark not yet folded
		if err := r.drain(ctx); err != nil {
			return false, err
		}
		if now, err := r.waiting(ctx, first, last); err != nil || now {
			return false, err
		}
	}
	if r.verb == Rebuilding {
		if err := apply(ctx, changes); errors.Is(err, table.ErrConflict) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	if !waiting {
		for _, c := range changes {
			r.addDifference(c.difference)
		}
	}
	return true, nil
}

// waiting reports whether a day from first to last has a mark.
func (r *reconciler) waiting(ctx context.Context, first, last string) (bool, error) {
	_, err := analytics.DaysToRollUp.First(ctx, r.t, analytics.DaysIn{SiteID: r.site.SiteID, From: first, To: calendar.ShiftDay(last, 1)})
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// storedSessions yields the sessions of identified users that started on a day.
func (r *reconciler) storedSessions(ctx context.Context, day string) iter.Seq2[analytics.Session, error] {
	return func(yield func(analytics.Session, error) bool) {
		from, to, err := r.cal.Bounds(day)
		if err != nil {
			yield(analytics.Session{}, err)
			return
		}
		analytics.UserSessionsByTime.All(ctx, r.t, analytics.UserSessionsIn{SiteID: r.site.SiteID, From: analytics.FirstID(from), To: analytics.FirstID(to)})(yield)
	}
}

var _ Folded = (*fold.Worker)(nil)
