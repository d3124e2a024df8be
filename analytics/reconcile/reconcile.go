// Package reconcile recomputes derived items from their sources. It rolls up days and months from
// the finer tier, and verifies or rebuilds everything else from raw events, while writes continue.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ErrRange is returned for a malformed or empty range of days.
var ErrRange = errors.New("analytics: range of days")

// Folded waits until all writes are folded. *fold.Worker implements it.
type Folded interface {
	// Drain returns when every change now in the stream, and every change that folding it causes,
	// is folded and durable.
	Drain(ctx context.Context) error
}

// RangeIn selects days of a site, YYYY-MM-DD in its zone, both inclusive.
type RangeIn struct{ Site, From, To string }

// Verb is what to do with differences.
type Verb string

// The verbs.
const (
	Verifying  Verb = "verify"  // report differences
	Rebuilding Verb = "rebuild" // repair differences
)

// Progress is reported after every day, and while the events of a day are read.
type Progress struct {
	Verb      Verb
	Site      string
	Day       string // current or just completed
	Done, Of  int    // days
	Events    int64  // raw events read so far
	Items     int64  // derived items compared so far
	Different int64
}

// Differences is the result of comparing a range of days.
type Differences struct {
	Days     int   `dynamodbav:"days" json:"days"`
	Events   int64 `dynamodbav:"events" json:"events"`     // raw events read, some more than once
	Items    int64 `dynamodbav:"items" json:"items"`       // derived items compared
	Count    int64 `dynamodbav:"count" json:"count"`       // items that differed
	Repaired int64 `dynamodbav:"repaired" json:"repaired"` // of these, repaired by Rebuild
	// List describes the first hundred differences.
	List []Difference `dynamodbav:"list,omitempty" json:"list,omitempty"`
	// Busy lists items that seemed to differ but were written so often that no state could be
	// compared with a fixed set of events. Try again when there is less traffic.
	Busy []string `dynamodbav:"busy,omitempty" json:"busy,omitempty"`
	// Sealed lists the first hundred of SealedDays days that were skipped, because some of their
	// raw events may have expired.
	Sealed     []string `dynamodbav:"sealed,omitempty" json:"sealed,omitempty"`
	SealedDays int      `dynamodbav:"sealedDays,omitempty" json:"sealedDays,omitempty"`
}

// Difference is a derived item that does not match its facts.
type Difference struct {
	Entity string         `dynamodbav:"entity" json:"entity"`
	Key    string         `dynamodbav:"key" json:"key"` // partition and sort key
	Kind   DifferenceKind `dynamodbav:"kind" json:"kind"`
	Stored string         `dynamodbav:"stored,omitempty" json:"stored,omitempty"` // shortened
	Want   string         `dynamodbav:"want,omitempty" json:"want,omitempty"`     // shortened
}

// DifferenceKind is how an item differs.
type DifferenceKind string

// The kinds of difference.
const (
	Missing DifferenceKind = "missing" // not stored, although there are facts for it
	Wrong   DifferenceKind = "wrong"
	Extra   DifferenceKind = "extra" // stored without facts
)

const (
	maxListed  = 100
	maxListing = 400 // bytes of each side of a listed difference
)

// Verify recomputes what is derived from the raw events of days, in memory with the functions of
// the folds. It compares the results with the stored visitors' days, sessions, statistics and
// breakdowns, and compares rolled-up days and months with their finer tier. Events may be written
// at the same time; changes in flight are not differences. Days whose first raw events may have
// expired are skipped and listed. Verify resumes an interrupted run of the same range within 24
// hours. Errors: ErrRange; analytics.ErrSealed if all days are skipped; table.ErrNotFound for the
// site; those of w and the store.
func Verify(ctx context.Context, t *table.Table, w Folded, in RangeIn, progress func(Progress)) (Differences, error) {
	return reconcile(ctx, t, w, in, Verifying, progress)
}

// Rebuild is Verify and also repairs differences. Each item is replaced in one write, on condition
// that it is still the one that was compared, so concurrent counts are neither lost nor doubled.
func Rebuild(ctx context.Context, t *table.Table, w Folded, in RangeIn, progress func(Progress)) (Differences, error) {
	return reconcile(ctx, t, w, in, Rebuilding, progress)
}

// AggregateHourly recomputes the hour that contains at from raw events, and repairs its statistics
// and breakdowns. Errors: analytics.ErrSealed.
func AggregateHourly(ctx context.Context, t *table.Table, w Folded, siteID string, at time.Time) error {
	r, err := newReconciler(ctx, t, w, siteID, Rebuilding)
	if err != nil {
		return err
	}
	r.onlyHour = r.cal.Hour(at)
	return r.compareDay(ctx, r.cal.Day(at))
}

func reconcile(ctx context.Context, t *table.Table, w Folded, in RangeIn, verb Verb, progress func(Progress)) (Differences, error) {
	r, err := newReconciler(ctx, t, w, in.Site, verb)
	if err != nil {
		return Differences{}, err
	}
	if err := in.check(); err != nil {
		return Differences{}, err
	}
	if progress != nil {
		r.report = progress
	}
	if err := r.run(ctx, in); err != nil {
		return r.found, fmt.Errorf("analytics: %s %s: %w", verb, in.Site, err)
	}
	return r.found, nil
}

// maxRangeDays is the longest range: a hundred years. A day without facts costs a few reads.
const maxRangeDays = 36_600

func (in RangeIn) check() error {
	for _, day := range []string{in.From, in.To} {
		if _, err := calendar.ParseDay(day); err != nil {
			return fmt.Errorf("%w: %w", ErrRange, err)
		}
	}
	if n := calendar.DaysBetween(in.From, in.To) + 1; n < 1 || n > maxRangeDays {
		return fmt.Errorf("%w: %s to %s is %d days: want 1 to %d", ErrRange, in.From, in.To, n, maxRangeDays)
	}
	return nil
}

// reconciler compares the days of one site.
type reconciler struct {
	t        *table.Table
	w        Folded
	site     analytics.Site
	cal      calendar.Zone
	verb     Verb
	report   func(Progress)
	onlyHour string // if set, compare only statistics and breakdowns of this hour
	at       Progress
	found    Differences
}

func newReconciler(ctx context.Context, t *table.Table, w Folded, siteID string, verb Verb) (*reconciler, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, err
	}
	return &reconciler{t: t, w: w, site: site, cal: cal, verb: verb, report: func(Progress) {}}, nil
}

// run compares day by day and stores its progress.
func (r *reconciler) run(ctx context.Context, in RangeIn) error {
	job, err := r.resume(ctx, in)
	if err != nil {
		return err
	}
	days := calendar.Days(in.From, in.To)
	r.at = Progress{Verb: r.verb, Site: r.site.SiteID, Of: len(days)}
	var sealed error
	for _, day := range days {
		if day > job.Last {
			err := r.compareDay(ctx, day)
			switch {
			case errors.Is(err, analytics.ErrSealed):
				sealed = err
				r.addSealed(day)
			case err != nil:
				return err
			default:
				r.found.Days++
			}
			if err := r.finished(ctx, job, day); err != nil {
				return err
			}
		}
		r.at.Day, r.at.Done = day, r.at.Done+1
		r.reportProgress()
	}
	if r.found.Days > 0 {
		if err := r.compareMonths(ctx, days); err != nil {
			return err
		}
		sealed = nil
	} else if sealed == nil && r.found.SealedDays > 0 { // the run resumed after the last sealed day
		sealed = analytics.ErrSealed
	}
	if err := Jobs.Delete(ctx, r.t, job.JobKey); err != nil {
		return fmt.Errorf("delete the progress: %w", err)
	}
	return sealed
}

// addSealed records a day that can no longer be compared.
func (r *reconciler) addSealed(day string) {
	if r.found.SealedDays++; len(r.found.Sealed) < maxListed {
		r.found.Sealed = append(r.found.Sealed, day)
	}
}

func (r *reconciler) reportProgress() {
	r.at.Events, r.at.Items, r.at.Different = r.found.Events, r.found.Items, r.found.Count
	r.report(r.at)
}
