// Package reconcile makes derived items anew of what they were made of. Days and months it rolls up from the tier below;
// everything else it verifies against raw facts, or rebuilds from them, while writes go on. Whoever keeps a table imports
// it: the program, the server and what erases facts.
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

// ErrRange is returned when a range of days to verify or rebuild is malformed or empty.
var ErrRange = errors.New("analytics: range of days")

// Folded waits until what was written is folded. *fold.Worker is one.
type Folded interface {
	// Drain returns when every change that is in the stream now, and every change that its folding makes, is folded
	// and durable.
	Drain(ctx context.Context) error
}

// RangeIn names days of a site, YYYY-MM-DD in its zone, both inclusive.
type RangeIn struct{ Site, From, To string }

// Verb says what is done with differences.
type Verb string

// The verbs.
const (
	Verifying  Verb = "verify"  // they are reported
	Rebuilding Verb = "rebuild" // they are mended
)

// Progress is reported after every day, and while the events of one are read.
type Progress struct {
	Verb      Verb
	Site      string
	Day       string // in work, or just finished
	Done, Of  int    // days
	Events    int64  // raw events read so far
	Items     int64  // derived items compared so far
	Different int64
}

// Differences is what a range of days was found to be.
type Differences struct {
	Days   int   `dynamodbav:"days" json:"days"`
	Events int64 `dynamodbav:"events" json:"events"` // raw events that were read, some more than once
	Items  int64 `dynamodbav:"items" json:"items"`   // derived items that were compared
	Count  int64 `dynamodbav:"count" json:"count"`   // items that differed
	Mended int64 `dynamodbav:"mended" json:"mended"` // of these, by Rebuild
	// List describes the first hundred of them.
	List []Difference `dynamodbav:"list,omitempty" json:"list,omitempty"`
	// Busy are items that looked different but were written again and again, so that no state of theirs could be
	// compared with a settled set of events. Ask again when there is less traffic.
	Busy []string `dynamodbav:"busy,omitempty" json:"busy,omitempty"`
	// Sealed are the first hundred days, of SealedDays, that were left out because raw events of theirs may have expired.
	Sealed     []string `dynamodbav:"sealed,omitempty" json:"sealed,omitempty"`
	SealedDays int      `dynamodbav:"sealedDays,omitempty" json:"sealedDays,omitempty"`
}

// Difference is one derived item that is not what its facts say.
type Difference struct {
	Entity string         `dynamodbav:"entity" json:"entity"`
	Key    string         `dynamodbav:"key" json:"key"` // partition and sort key
	Kind   DifferenceKind `dynamodbav:"kind" json:"kind"`
	Stored string         `dynamodbav:"stored,omitempty" json:"stored,omitempty"` // shortened
	Want   string         `dynamodbav:"want,omitempty" json:"want,omitempty"`     // shortened
}

// DifferenceKind says how an item differs.
type DifferenceKind string

// The kinds of difference.
const (
	Missing DifferenceKind = "missing" // there are facts for it, but it is not there
	Wrong   DifferenceKind = "wrong"
	Extra   DifferenceKind = "extra" // it is there, but no facts are
)

const (
	maxListed  = 100
	maxListing = 400 // bytes of one side of a listed difference
)

// Verify computes what is derived from the raw events of days again, in memory and with the functions of the folds,
// and compares visitors' days, sessions, statistics and breakdowns with it; and rolled-up days and months with the
// tiers below them. Events may be written meanwhile: what is in flight is no difference. Days whose first raw events may
// have expired are left out and named; a range of nothing else is refused with analytics.ErrSealed. If it was stopped it goes on after the last day that it finished.
func Verify(ctx context.Context, t *table.Table, w Folded, in RangeIn, progress func(Progress)) (Differences, error) {
	return reconcile(ctx, t, w, in, Verifying, progress)
}

// Rebuild is Verify that also mends what differs: each item is replaced in one write, on condition that it is still the
// one that was compared, so that what is being counted meanwhile is neither lost nor counted twice.
func Rebuild(ctx context.Context, t *table.Table, w Folded, in RangeIn, progress func(Progress)) (Differences, error) {
	return reconcile(ctx, t, w, in, Rebuilding, progress)
}

// AggregateHourly computes the hour of an instant again from raw events, and mends its statistics and breakdowns.
func AggregateHourly(ctx context.Context, t *table.Table, w Folded, siteID string, at time.Time) error {
	r, err := newReconciler(ctx, t, w, siteID, Rebuilding)
	if err != nil {
		return err
	}
	r.onlyHour = r.cal.Hour(at)
	return r.day(ctx, r.cal.Day(at))
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

// maxRangeDays is the longest range that is verified at once: a hundred years. A day without facts costs a few reads.
const maxRangeDays = 36_600

func (in RangeIn) check() error {
	for _, day := range []string{in.From, in.To} {
		if _, err := calendar.ParseDay(day); err != nil {
			return fmt.Errorf("%w: %w", ErrRange, err)
		}
	}
	if n := calendar.DaysBetween(in.From, in.To) + 1; n < 1 || n > maxRangeDays {
		return fmt.Errorf("%w: %s to %s are %d days: want 1 to %d", ErrRange, in.From, in.To, n, maxRangeDays)
	}
	return nil
}

// reconciler compares one site's days.
type reconciler struct {
	t        *table.Table
	w        Folded
	site     analytics.Site
	cal      calendar.Zone
	verb     Verb
	report   func(Progress)
	onlyHour string // compare only statistics and breakdowns of this hour; "" for everything
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

// run does day after day, and writes down how far it came.
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
			err := r.day(ctx, day)
			switch {
			case errors.Is(err, analytics.ErrSealed):
				sealed = err
				r.leaveOut(day)
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
		r.tell()
	}
	if r.found.Days > 0 {
		if err := r.months(ctx, days); err != nil {
			return err
		}
		sealed = nil
	} else if sealed == nil && r.found.SealedDays > 0 { // it went on behind the last of them
		sealed = analytics.ErrSealed
	}
	if err := Jobs.Delete(ctx, r.t, job.JobKey); err != nil {
		return fmt.Errorf("forget the progress: %w", err)
	}
	return sealed
}

// leaveOut notes a day that can no longer be compared.
func (r *reconciler) leaveOut(day string) {
	if r.found.SealedDays++; len(r.found.Sealed) < maxListed {
		r.found.Sealed = append(r.found.Sealed, day)
	}
}

func (r *reconciler) tell() {
	r.at.Events, r.at.Items, r.at.Different = r.found.Events, r.found.Items, r.found.Count
	r.report(r.at)
}
