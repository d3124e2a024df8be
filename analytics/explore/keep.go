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

// Keep writes the columns of completed days to files until ctx ends. A question about a past day then
// reads its file instead of decoding its events. Keep leaves most of the processor to questions, and
// skips days whose events are still changing. When it starts, it deletes files whose events have
// changed. Errors are passed to report.
func (x *Explorer) Keep(ctx context.Context, report func(error)) {
	if x.o.Files == nil {
		return
	}
	k := keeper{x: x, pace: rest}
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
	seen map[dayKey]sighting // days without a file at the last sweep
	pace func(ctx context.Context, began time.Time)
}

// sighting is what a sweep knows of a day without a file.
type sighting struct {
	version uint64
	settled bool // nothing more is to be done at this version
}

// sweep makes the files of days that have not changed since the last sweep. What fails concerns one
// day, is tried again only once its events have changed, and does not hold up the others.
func (k *keeper) sweep(ctx context.Context, check bool) (failed error) {
	if k.x.o.Files.o.Full() {
		return k.x.o.Files.clear()
	}
	if check {
		failed = k.check(ctx)
	}
	seen := map[dayKey]sighting{}
	for site, err := range analytics.EverySite(ctx, k.x.t, "") {
		if err != nil {
			return errors.Join(failed, err)
		}
		if !site.DeletedAt.IsZero() {
			continue
		}
		if err := k.keepSite(ctx, &site, seen); err != nil {
			failed = errors.Join(failed, fmt.Errorf("site %s: %w", site.SiteID, err))
		}
		if ctx.Err() != nil {
			return failed
		}
	}
	k.seen = seen
	return failed
}

// check removes the files whose events have changed, or whose site is gone.
func (k *keeper) check(ctx context.Context) (failed error) {
	sites := map[string]*analytics.Site{}
	for _, key := range k.x.o.Files.keys() {
		began := time.Now()
		site, known := sites[key.site]
		if !known {
			s, err := analytics.GetSite(ctx, k.x.t, key.site)
			if err != nil && !errors.Is(err, table.ErrNotFound) {
				return errors.Join(failed, err)
			}
			if err == nil {
				site = &s
			}
			sites[key.site] = site
		}
		failed = errors.Join(failed, k.checkFile(ctx, site, key))
		if k.pace(ctx, began); ctx.Err() != nil {
			return failed
		}
	}
	return failed
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

// keepSite makes the files of a site, the latest days first.
func (k *keeper) keepSite(ctx context.Context, site *analytics.Site, seen map[dayKey]sighting) error {
	first, last, err := analytics.Extent(ctx, k.x.t, site)
	if err != nil {
		return err
	}
	s := &scan{x: k.x, readers: 1, most: k.x.o.Events, site: *site}
	if s.cal, err = calendar.LoadZone(site.TimeZone); err != nil {
		return err
	}
	if first != "" {
		first = max(first, calendar.ShiftDay(last, 1-maxDays))
		if err := s.divide(ctx, calendar.Days(first, last)); err != nil {
			return err
		}
	}
	if err := k.expire(s, first); err != nil {
		return err
	}
	days, err := k.due(s, seen)
	if err != nil || len(days) == 0 {
		return err
	}
	of, err := s.statistics(ctx, days[len(days)-1].name, days[0].name)
	if err != nil {
		return err
	}
	var failed error
	for _, day := range days {
		if k.x.o.Files.full() || ctx.Err() != nil {
			break
		}
		if events := of[day.name].pageViews + of[day.name].events; events >= keptEvents {
			failed = errors.Join(failed, k.keepDay(ctx, s, day))
		}
		seen[day.key] = sighting{day.version, true}
	}
	return failed
}

// expire removes the files of a site's days before the first, which is "" if there is none, and of
// days whose events have expired, at least some of them.
func (k *keeper) expire(s *scan, first string) (failed error) {
	for _, key := range k.x.o.Files.keys() {
		if key.site != s.site.SiteID {
			continue
		}
		day := s.cal.Day(time.Unix(key.from, 0))
		if _, lost := slices.BinarySearch(s.lost, day); lost || first == "" || day < first {
			failed = errors.Join(failed, k.x.o.Files.remove(key))
		}
	}
	return failed
}

// dueDay is a day whose file is to be made.
type dueDay struct {
	name    string
	key     dayKey
	version uint64
}

// due returns the days, the latest first, that have no current file, are over, have not changed since
// the last sweep and are not settled. It notes the others without a file.
func (k *keeper) due(s *scan, seen map[dayKey]sighting) (days []dueDay, err error) {
	for _, name := range slices.Backward(s.days) {
		from, to, err := s.cal.Bounds(name)
		if err != nil {
			return nil, err
		}
		key := keyOf(s.site.SiteID, from, to)
		version := k.x.watched.version(s.site.SiteID, from, to)
		_, archived := s.archived[name]
		_, current := k.x.o.Files.has(key, version)
		if archived || current || k.x.t.Now().Before(to.Add(keptAfter)) {
			continue
		}
		last, known := k.seen[key]
		if known && last.version == version && !last.settled {
			days = append(days, dueDay{name, key, version})
			continue
		}
		seen[key] = sighting{version, known && last.version == version}
	}
	return days, nil
}

// keepDay makes the file of a day, unless it has one of these events.
func (k *keeper) keepDay(ctx context.Context, s *scan, day dueDay) error {
	release, err := k.x.recent.claim(ctx, day.key)
	if err != nil {
		return err
	}
	defer release()
	began := time.Now()
	s.left.Store(int64(k.x.o.Events))
	_, err = s.columns(ctx, day.name, day.key, day.version)
	k.pace(ctx, began)
	if errors.Is(err, ErrTooMuch) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", day.name, err)
	}
	return nil
}
