package explore

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

const (
	// keptEvents is the number of events from which on a day has a file. Fewer are read as quickly
	// from their blocks.
	keptEvents = 500

	// keptAfter is how long after its end a day is stored in a file: until then it often changes.
	keptAfter = 2 * time.Hour

	keepEvery = 10 * time.Minute
)

// columns reads the columns of a day from its file, or makes them, and the file. The version was read
// before. The caller has claimed the day.
func (s *scan) columns(ctx context.Context, day string, key dayKey, version uint64) (*columns, error) {
	from, to := time.Unix(key.from, 0), time.Unix(key.to, 0)
	files, now := s.x.o.Files, s.x.t.Now()
	if files == nil || key.archived || now.Before(to.Add(keptAfter)) {
		return s.makeColumns(ctx, day, from, to)
	}
	events := analytics.EventsBetween(&s.site, from, to, "")
	if has, checked := files.has(key, version); has {
		of, err := fingerprint{}, error(nil)
		if !checked {
			of, err = fingerprintOf(ctx, s.x.t, events)
		}
		if err != nil {
			return nil, err
		}
		if d := files.load(key, version, checked, of, now); d != nil {
			return d, s.took(d.read)
		}
	}
	d, err := s.makeColumns(ctx, day, from, to)
	if err != nil || d.read < keptEvents {
		return d, err
	}
	of, err := fingerprintOf(ctx, s.x.t, events)
	if err != nil {
		return nil, err
	}
	files.save(key, of, version, now, d, func() bool { return s.x.watched.version(s.site.SiteID, from, to) == version })
	return d, nil
}

// Keep stores the columns of completed days in files, so that the first question about them need
// not decode their events, until ctx ends. It works slowly, beside questions, and leaves out days that
// are still changing. At first it removes files of events that have changed since they were made.
// Errors are passed to report.
func (x *Explorer) Keep(ctx context.Context, report func(error)) {
	if x.o.Files == nil {
		return
	}
	k := keeper{x: x, seen: map[dayKey]uint64{}, pace: rest}
	turn := time.NewTicker(keepEvery)
	defer turn.Stop()
	for first := true; ; first = false {
		err := k.sweep(ctx, first)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			report(fmt.Errorf("explore: keep columns: %w", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
	}
}

// rest waits for three times as long as something took.
func rest(ctx context.Context, began time.Time) {
	select {
	case <-ctx.Done():
	case <-time.After(3 * time.Since(began)):
	}
}

// keeper makes the files of days.
type keeper struct {
	x    *Explorer
	seen map[dayKey]uint64 // versions of days without a file at the last sweep
	pace func(ctx context.Context, began time.Time)
}

// sweep makes the files of days that have not changed since the last sweep.
func (k *keeper) sweep(ctx context.Context, check bool) error {
	if check {
		if err := k.check(ctx); err != nil {
			return err
		}
	}
	seen := map[dayKey]uint64{}
	for site, err := range analytics.EverySite(ctx, k.x.t, "") {
		if err != nil {
			return err
		}
		if !site.DeletedAt.IsZero() {
			continue
		}
		if err := k.keepSite(ctx, &site, seen); err != nil {
			return fmt.Errorf("site %s: %w", site.SiteID, err)
		}
	}
	k.seen = seen
	return nil
}

// check removes the files whose events have changed, or whose site is gone.
func (k *keeper) check(ctx context.Context) error {
	files := k.x.o.Files
	sites := map[string]*analytics.Site{}
	for _, key := range files.keys() {
		began := time.Now()
		site, known := sites[key.site]
		if !known {
			s, err := analytics.GetSite(ctx, k.x.t, key.site)
			if err != nil && !errors.Is(err, table.ErrNotFound) {
				return err
			}
			if err == nil {
				site = &s
			}
			sites[key.site] = site
		}
		if err := k.checkFile(ctx, site, key); err != nil {
			return err
		}
		k.pace(ctx, began)
	}
	return nil
}

// checkFile checks the file of a day. A site of nil is gone.
func (k *keeper) checkFile(ctx context.Context, site *analytics.Site, key dayKey) error {
	files := k.x.o.Files
	if site == nil {
		return files.remove(key)
	}
	from, to := time.Unix(key.from, 0), time.Unix(key.to, 0)
	version := k.x.watched.version(key.site, from, to)
	of, err := fingerprintOf(ctx, k.x.t, analytics.EventsBetween(site, from, to, ""))
	if err != nil {
		return err
	}
	files.confirm(key, version, of)
	return nil
}

// keepSite makes the files of a site, the latest days first, and notes the versions of days without.
func (k *keeper) keepSite(ctx context.Context, site *analytics.Site, seen map[dayKey]uint64) error {
	first, last, err := analytics.Extent(ctx, k.x.t, site)
	if err != nil || first == "" {
		return err
	}
	s, err := k.x.siteOf(ctx, Range{site.SiteID, last, last})
	if err != nil {
		return err
	}
	first = max(first, calendar.ShiftDay(last, 1-maxDays))
	of, err := s.statistics(ctx, first, last)
	if err != nil {
		return err
	}
	if err := s.divide(ctx, calendar.Days(first, last)); err != nil {
		return err
	}
	if err := k.expire(s, first); err != nil {
		return err
	}
	for i := len(s.days) - 1; i >= 0 && !k.x.o.Files.full(); i-- {
		day := s.days[i]
		if _, archived := s.archived[day]; archived || of[day].pageViews+of[day].events < keptEvents {
			continue
		}
		if err := k.keepDay(ctx, s, day, seen); err != nil {
			return fmt.Errorf("%s: %w", day, err)
		}
	}
	return nil
}

// expire removes the files of days whose events have expired, at least some of them.
func (k *keeper) expire(s *scan, first string) error {
	for _, key := range k.x.o.Files.keys() {
		day := s.cal.Day(time.Unix(key.from, 0))
		if _, lost := slices.BinarySearch(s.lost, day); key.site == s.site.SiteID && (lost || day < first) {
			if err := k.x.o.Files.remove(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepDay makes the file of a day, unless it has one or is still changing.
func (k *keeper) keepDay(ctx context.Context, s *scan, day string, seen map[dayKey]uint64) error {
	from, to, err := s.cal.Bounds(day)
	if err != nil {
		return err
	}
	key := keyOf(s.site.SiteID, from, to)
	version := k.x.watched.version(s.site.SiteID, from, to)
	if has, err := k.hasFile(ctx, s, key, version); has || err != nil || k.x.t.Now().Before(to.Add(keptAfter)) {
		return err
	}
	before, waited := k.seen[key]
	seen[key] = version
	if !waited || before != version {
		return nil
	}
	release, err := k.x.shelf.claim(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	began := time.Now()
	s.left.Store(int64(k.x.o.Events))
	_, err = s.columns(ctx, day, key, version)
	k.pace(ctx, began)
	if errors.Is(err, ErrTooMuch) {
		return nil
	}
	return err
}

// hasFile reports whether a day has a file of its events, and removes one of others.
func (k *keeper) hasFile(ctx context.Context, s *scan, key dayKey, version uint64) (bool, error) {
	has, checked := k.x.o.Files.has(key, version)
	if !has || checked {
		return has, nil
	}
	if err := k.checkFile(ctx, &s.site, key); err != nil {
		return false, err
	}
	has, _ = k.x.o.Files.has(key, version)
	return has, nil
}
