package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/fold"
)

// A derived item is compared with exactly the events that it counts, while new events are written:
//
//   1. Read the item's version.
//   2. Read the raw events and compute the item.
//   3. Wait until everything in the stream is folded.
//   4. Read the item again.
//
// If the version is unchanged, nothing was counted in the item between steps 1 and 4. So it counts
// only events that were stored before step 1, all of which step 2 read; and because of step 3 it
// counts all of these. The item must then equal the computed one, and a replacement on condition of
// that version cannot lose anything. If the version changed, the item is tried again.

// maxTries limits the attempts on a day's items that keep being written.
const maxTries = 8

// check compares the items of one kind.
type check interface {
	findSuspects(ctx context.Context, d *analytics.Derived) error    // compares all items and keeps those that differ as suspects
	noteVersions(ctx context.Context) error                          // step 1, for the suspects
	settleUnchanged(ctx context.Context, d *analytics.Derived) error // step 4: settles the suspects that were not written in between
	unsettled() int                                                  // number of unsettled suspects
	giveUp()                                                         // gives up on them
}

// checkOf compares the items of one kind.
type checkOf[S any, K comparable] struct {
	r        *reconciler
	kind     itemKind[S, K]
	stored   []K // keys of stored items, wanted or not
	suspects []K
	versions []int64
	repaired int
}

func (c *checkOf[S, K]) unsettled() int { return len(c.suspects) }

func (c *checkOf[S, K]) giveUp() {
	for _, k := range c.suspects {
		c.r.listBusy(keyText(c.kind.entity, k))
	}
	c.suspects = nil
}

// wanted returns the computed item of a key, empty if there are no facts for it.
func (c *checkOf[S, K]) wanted(want map[K]*S, k K) S {
	if s := want[k]; s != nil {
		return *s
	}
	return c.kind.zero(k)
}

func (c *checkOf[S, K]) same(stored, want *S) bool {
	return c.kind.same(stored, want) || c.kind.empty(stored) && c.kind.empty(want)
}

func (c *checkOf[S, K]) findSuspects(ctx context.Context, d *analytics.Derived) error {
	c.suspects = nil
	want := c.kind.want(d)
	keys := make([]K, 0, len(want)+len(c.stored))
	for k := range want {
		keys = append(keys, k)
	}
	for _, k := range c.stored {
		if want[k] == nil {
			keys = append(keys, k)
		}
	}
	loaded, err := c.kind.states.load(ctx, c.r.t, keys)
	if err != nil {
		return err
	}
	for i, k := range keys {
		w := c.wanted(want, k)
		if !c.same(&loaded[i].State, &w) {
			c.suspects = append(c.suspects, k)
		}
	}
	c.r.found.Items += int64(len(keys))
	return nil
}

func (c *checkOf[S, K]) noteVersions(ctx context.Context) error {
	loaded, err := c.kind.states.load(ctx, c.r.t, c.suspects)
	if err != nil {
		return err
	}
	c.versions = make([]int64, len(loaded))
	for i, l := range loaded {
		c.versions[i] = l.Version
	}
	return nil
}

func (c *checkOf[S, K]) settleUnchanged(ctx context.Context, d *analytics.Derived) error {
	loaded, err := c.kind.states.load(ctx, c.r.t, c.suspects)
	if err != nil {
		return err
	}
	want := c.kind.want(d)
	var left []K
	var wrong []Difference
	var repairs []fold.Replacement[S, K]
	for i, k := range c.suspects {
		if loaded[i].Version != c.versions[i] {
			left = append(left, k)
			continue
		}
		w := c.wanted(want, k)
		if c.same(&loaded[i].State, &w) {
			continue
		}
		wrong, repairs = append(wrong, differenceOf(c.kind, k, loaded[i], &w)), append(repairs, c.replacement(k, w, loaded[i]))
	}
	changed, err := c.repair(ctx, repairs)
	if err != nil {
		return err
	}
	for i := range wrong {
		if slices.Contains(changed, repairs[i].Key) {
			left = append(left, repairs[i].Key)
		} else {
			c.r.addDifference(wrong[i])
		}
	}
	c.suspects = left
	return nil
}

// repair replaces differing items when rebuilding, and returns the keys that changed in the meantime.
func (c *checkOf[S, K]) repair(ctx context.Context, all []fold.Replacement[S, K]) (changed []K, err error) {
	if c.r.verb != Rebuilding {
		return nil, nil
	}
	changed, err = c.kind.states.replace(ctx, c.r.t, all)
	c.repaired += len(all) - len(changed)
	return changed, err
}

func (c *checkOf[S, K]) replacement(k K, want S, stored fold.Stored[S]) fold.Replacement[S, K] {
	r := fold.Replacement[S, K]{Key: k, Version: stored.Version}
	c.kind.finish(&want, &stored.State, c.r.site.Retention)
	if !c.kind.empty(&want) {
		r.State = &want
	}
	return r
}

// addDifference counts a difference, and lists it if it is one of the first.
func (r *reconciler) addDifference(d Difference) {
	r.found.Count++
	if r.verb == Rebuilding {
		r.found.Repaired++
	}
	if len(r.found.List) < maxListed {
		r.found.List = append(r.found.List, d)
	}
}

// settle repeats steps 1 to 4 for the suspects until all are settled or maxTries is reached.
func (r *reconciler) settle(ctx context.Context, day string, checks ...check) error {
	for try := 0; ; try++ {
		left := 0
		for _, c := range checks {
			left += c.unsettled()
		}
		if left == 0 {
			return nil
		}
		if try == maxTries {
			break
		}
		if err := r.attempt(ctx, day, checks); err != nil {
			return err
		}
	}
	for _, c := range checks {
		c.giveUp()
	}
	return nil
}

func (r *reconciler) attempt(ctx context.Context, day string, checks []check) error {
	for _, c := range checks {
		if err := c.noteVersions(ctx); err != nil {
			return err
		}
	}
	d, err := r.deriveFolded(ctx, day)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if err := c.settleUnchanged(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// deriveFolded computes what the events of a day yield, then waits until they are folded.
func (r *reconciler) deriveFolded(ctx context.Context, day string) (*analytics.Derived, error) {
	d, err := r.derive(ctx, day)
	if err != nil {
		return nil, err
	}
	return d, r.drain(ctx)
}

func (r *reconciler) drain(ctx context.Context) error {
	if err := r.w.Drain(ctx); err != nil {
		return fmt.Errorf("wait for folds: %w", err)
	}
	return nil
}

// compareDay compares everything derived from one day. Visitors' days come first, because sessions and
// parts of the statistics derive from them. Errors: analytics.ErrSealed.
func (r *reconciler) compareDay(ctx context.Context, day string) error {
	if err := analytics.CheckSealed(ctx, r.t, &r.site, day, r.t.Now()); err != nil {
		return err
	}
	d, err := r.deriveFolded(ctx, day)
	if err != nil {
		return err
	}
	if r.onlyHour == "" {
		repaired, err := r.compareVisitors(ctx, day, d)
		if err != nil {
			return err
		}
		if repaired {
			if d, err = r.deriveFolded(ctx, day); err != nil {
				return err
			}
		}
	}
	if err := r.compareSessionsAndStats(ctx, day, d); err != nil {
		return err
	}
	if r.onlyHour == "" {
		return r.compareRolledDay(ctx, day)
	}
	return nil
}

// compareVisitors compares visitors' days, both computed and stored.
func (r *reconciler) compareVisitors(ctx context.Context, day string, d *analytics.Derived) (repaired bool, err error) {
	c := &checkOf[analytics.Visitor, analytics.VisitorKey]{r: r, kind: kindOfVisitor}
	for _, shard := range r.site.Sharding.Over(time.Time{}, time.Time{}) {
		like := analytics.Visitor{VisitorKey: analytics.VisitorKey{SiteID: r.site.SiteID, Shard: shard, VisitorID: "any", Day: day}}
		for v, err := range analytics.VisitLog.All(ctx, r.t, like, ignoreDamage) {
			if err != nil {
				return false, err
			}
			if k := v.State.VisitorKey; d.Visitors[k] == nil {
				c.stored = append(c.stored, k)
			}
		}
	}
	if err := c.findSuspects(ctx, d); err != nil {
		return false, err
	}
	err = r.settle(ctx, day, c)
	return c.repaired > 0, err
}

// compareSessionsAndStats compares sessions, statistics and breakdowns.
func (r *reconciler) compareSessionsAndStats(ctx context.Context, day string, d *analytics.Derived) error {
	sessions := &checkOf[analytics.Session, analytics.SessionKey]{r: r, kind: kindOfSession}
	stats := &checkOf[analytics.Stats, analytics.StatsKey]{r: r, kind: kindOfStats}
	breakdowns := &checkOf[analytics.Breakdown, analytics.BreakdownKey]{r: r, kind: kindOfBreakdown}
	checks := []check{sessions, stats, breakdowns}
	err := r.storedHours(ctx, day, func(k analytics.StatsKey) { stats.stored = append(stats.stored, k) },
		func(k analytics.BreakdownKey) { breakdowns.stored = append(breakdowns.stored, k) })
	if err != nil {
		return err
	}
	if r.onlyHour != "" {
		checks = checks[1:]
		stats.only(func(k analytics.StatsKey) bool { return k.Start == r.onlyHour })
		breakdowns.only(func(k analytics.BreakdownKey) bool { return k.Start == r.onlyHour })
	} else {
		for s, err := range r.storedSessions(ctx, day) {
			if err != nil {
				return err
			}
			sessions.stored = append(sessions.stored, s.SessionKey)
		}
	}
	for _, c := range checks {
		if err := c.findSuspects(ctx, d); err != nil {
			return err
		}
	}
	return r.settle(ctx, day, checks...)
}

// storedHours finds the stored statistics and breakdowns of a day's hours, including those whose
// start is not an hour of the day.
func (r *reconciler) storedHours(ctx context.Context, day string, stats func(analytics.StatsKey), breakdown func(analytics.BreakdownKey)) error {
	from, to, err := r.cal.HourRange(day, day)
	if err != nil {
		return err
	}
	for s, err := range analytics.StatsByTime.All(ctx, r.t, r.site.StatsIn(analytics.Hour, from, to)) {
		if err != nil {
			return err
		}
		stats(s.StatsKey)
	}
	for _, d := range r.site.Breakdowns() {
		for b, err := range analytics.BreakdownByTime.All(ctx, r.t, r.site.BreakdownIn(analytics.Hour, d, from, to)) {
			if err != nil {
				return err
			}
			breakdown(b.BreakdownKey)
		}
	}
	return nil
}

// only restricts the comparison to some keys.
func (c *checkOf[S, K]) only(keep func(K) bool) {
	want := c.kind.want
	c.kind.want = func(d *analytics.Derived) map[K]*S {
		kept := maps.Clone(want(d))
		maps.DeleteFunc(kept, func(k K, _ *S) bool { return !keep(k) })
		return kept
	}
	c.stored = slices.DeleteFunc(c.stored, func(k K) bool { return !keep(k) })
}
