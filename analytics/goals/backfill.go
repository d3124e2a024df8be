package goals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// Backfilled is the result of a backfill.
type Backfilled struct {
	Waiting bool  // a goal changed a moment ago, and new events may still miss the change: try again later
	Goals   int   // goals whose changes are now counted everywhere
	Events  int64 // events read
	Changed int64 // events whose goals changed
	Sealed  int   // days whose events stay as they are, because the day is sealed or will be within a day
}

// sealMargin is how long before it is sealed a day counts as sealed. A backfill can take long, and must
// not change an event whose visitor's day may have expired.
const sealMargin = 24 * time.Hour

// Backfill updates the stored events of a site to goals that were created, changed or deleted after
// the events arrived. An event stores the goals that it reaches. Backfill changes events whose
// goals differ, and the folds count the difference exactly once, also while new events arrive. It
// does nothing if no goal is pending. It may be interrupted, repeated, and run concurrently,
// because it changes only events that differ. Errors: those of the store and of EventsIn.Rewrite.
func Backfill(ctx context.Context, t *table.Table, siteID string) (Backfilled, error) {
	b, err := prepare(ctx, t, siteID)
	if err != nil || len(b.pending) == 0 || b.done.Waiting {
		return b.done, err
	}
	if err := b.rewrite(ctx); err != nil {
		return b.done, fmt.Errorf("goals: backfill %s: %w", siteID, err)
	}
	since, err := b.since(ctx)
	if err != nil {
		return b.done, fmt.Errorf("goals: backfill %s: %w", siteID, err)
	}
	for _, sealed := range b.sealed {
		if sealed {
			b.done.Sealed++
		}
	}
	for _, g := range b.pending {
		if err := b.settle(ctx, g, since); err != nil {
			return b.done, fmt.Errorf("goals: backfill %s: goal %s: %w", siteID, g.GoalID, err)
		}
	}
	return b.done, nil
}

// backfill is one run.
type backfill struct {
	t       *table.Table
	site    analytics.Site
	cal     calendar.Zone
	reach   analytics.Reach
	pending []Goal
	until   time.Time       // days that are sealed by then count as sealed
	sealed  map[string]bool // by day
	done    Backfilled
}

func prepare(ctx context.Context, t *table.Table, siteID string) (*backfill, error) {
	b := &backfill{t: t, until: t.Now().Add(sealMargin), sealed: make(map[string]bool)}
	goals, err := analytics.GoalsOfSite.Collect(ctx, t, analytics.SiteIn{SiteID: siteID})
	if err != nil {
		return b, fmt.Errorf("goals: backfill %s: %w", siteID, err)
	}
	for _, g := range goals {
		if g.Pending {
			b.pending = append(b.pending, g)
			b.done.Waiting = b.done.Waiting || t.Now().Before(time.UnixMilli(g.Changed).Add(analytics.SettingsNotice))
		}
	}
	if len(b.pending) == 0 {
		return b, nil
	}
	b.reach = analytics.NewReach(goals)
	if b.site, err = analytics.GetSite(ctx, t, siteID); err == nil {
		b.cal, err = calendar.LoadZone(b.site.TimeZone)
	}
	return b, err
}

// rewrite updates the events of all days but those that are rolled up and sealed. Those are most of
// the events, because events are kept for much longer than their day is open.
func (b *backfill) rewrite(ctx context.Context) error {
	var damaged error
	rewrite := func(from, to time.Time) error {
		in := analytics.EventsBetween(&b.site, from, to, "")
		n, err := in.Rewrite(ctx, b.t, func(e *analytics.Event) (analytics.Rewrite, error) { return b.event(ctx, e) })
		b.done.Changed += n
		if errors.Is(err, analytics.ErrDamaged) {
			damaged, err = errors.Join(damaged, err), nil
		}
		return err
	}
	from, end := time.UnixMilli(0), b.t.Now().Add(time.Hour)
	rolled := b.site.StatsIn(analytics.Day, b.cal.Day(from), b.cal.Day(end))
	for s, err := range analytics.StatsByTime.All(ctx, b.t, rolled) {
		if err != nil {
			return err
		}
		if s.Since == 0 || b.until.Before(b.site.SealedAt(time.Unix(s.Since, 0))) {
			continue
		}
		b.sealed[s.Start] = true
		start, next, err := b.cal.Bounds(s.Start)
		if err != nil {
			return err
		}
		if start.After(from) {
			if err := rewrite(from, start); err != nil {
				return err
			}
		}
		from = next
	}
	if err := rewrite(from, end); err != nil {
		return err
	}
	return damaged
}

// event updates one event.
func (b *backfill) event(ctx context.Context, e *analytics.Event) (analytics.Rewrite, error) {
	b.done.Events++
	want := b.reach.Of(e)
	if e.Erased || slices.Equal(e.Goals, want) {
		return analytics.Leave, nil
	}
	sealed, err := b.isSealed(ctx, e)
	if sealed || err != nil {
		return analytics.Leave, err
	}
	e.Goals = want
	return analytics.Change, nil
}

func (b *backfill) isSealed(ctx context.Context, e *analytics.Event) (bool, error) {
	at, err := e.Time()
	if err != nil {
		return true, nil // no fold has an unreadable event
	}
	return b.sealedDay(ctx, calendar.DayOf(at.UnixMilli(), e.ZoneMinutes))
}

func (b *backfill) sealedDay(ctx context.Context, day string) (bool, error) {
	if sealed, known := b.sealed[day]; known {
		return sealed, nil
	}
	err := analytics.CheckSealed(ctx, b.t, &b.site, day, b.until)
	if err != nil && !errors.Is(err, analytics.ErrSealed) {
		return false, err
	}
	b.sealed[day] = err != nil
	return err != nil, nil
}

// since returns the day after the last sealed day, or "".
func (b *backfill) since(ctx context.Context) (string, error) {
	first, _, err := analytics.Extent(ctx, b.t, &b.site)
	if err != nil || first == "" {
		return "", err
	}
	for day := b.cal.Day(b.t.Now()); day >= first; day = calendar.ShiftDay(day, -1) {
		sealed, err := b.sealedDay(ctx, day)
		if err != nil {
			return "", err
		}
		if sealed {
			return calendar.ShiftDay(day, 1), nil
		}
	}
	return "", nil
}

// settle marks a goal as counted everywhere, unless it has changed since the run began.
func (b *backfill) settle(ctx context.Context, seen Goal, since string) error {
	unchanged := goalChanged.Eq(seen.Changed)
	var err error
	if seen.Deleted {
		err = analytics.Goals.Delete(ctx, b.t, seen.GoalKey, unchanged)
	} else {
		_, err = analytics.Goals.Patch(ctx, b.t, seen.GoalKey, goalPending.Set(false), goalSince.Set(since), table.If[Goal](unchanged))
	}
	if errors.Is(err, table.ErrCondition) || errors.Is(err, table.ErrNotFound) {
		return nil
	}
	b.done.Goals++
	return err
}

var (
	goalChanged = table.FieldOf(analytics.Goals, func(g *Goal) *int64 { return &g.Changed })
	goalPending = table.FieldOf(analytics.Goals, func(g *Goal) *bool { return &g.Pending })
	goalSince   = table.FieldOf(analytics.Goals, func(g *Goal) *string { return &g.Since })
)
