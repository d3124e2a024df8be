// Package past gives questions about raw web analytics events access to events that the table no
// longer has. It reads them from the warehouse's files and implements the archive of package
// explore. It needs no DuckDB, because the files are sorted by time and a question reads whole
// days. The commands that run servers use it.
package past

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2"
	"github.com/parquet-go/parquet-go"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/warehouse"
)

// Options configures an Archive. The zero value has good defaults.
type Options struct {
	Clock   func() time.Time // default time.Now
	Refresh time.Duration    // shortest time between two reads of the log; default 10 seconds
}

// Archive reads a warehouse. It is safe for concurrent use.
type Archive struct {
	objects warehouse.Objects
	w       *warehouse.Warehouse
	o       Options
	counted *lru.Cache[string, []slot] // counts of files, by path; files never change

	mu        sync.Mutex
	refreshed time.Time
}

// slot counts the events of a file in a quarter of an hour. Days begin at a quarter of an hour in
// every current time zone.
type slot struct {
	start             int64 // epoch milliseconds
	pageViews, events int64
}

const (
	slotMS       = 15 * 60 * 1000
	countedFiles = 20_000
	batchRows    = 1024
)

// Open opens a warehouse as an Archive. Errors: as warehouse.Open.
func Open(ctx context.Context, objects warehouse.Objects, o Options) (*Archive, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Refresh = cmp.Or(o.Refresh, 10*time.Second)
	w, err := warehouse.Open(ctx, objects, warehouse.Options{Clock: o.Clock})
	if err != nil {
		return nil, err
	}
	counted, err := lru.New[string, []slot](countedFiles)
	return &Archive{objects: objects, w: w, o: o, counted: counted, refreshed: o.Clock()}, err
}

// refresh reads what was committed, unless it did so a short time ago and now is false.
func (a *Archive) refresh(ctx context.Context, now bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.o.Clock(); now || at.Sub(a.refreshed) >= a.o.Refresh || at.Before(a.refreshed) {
		if err := a.w.Refresh(ctx); err != nil {
			return err
		}
		a.refreshed = at
	}
	return nil
}

// maxMoves is how often files may be replaced while they are counted.
const maxMoves = 20

// Holds counts the events of a site with times in [from, to). It reads only the columns needed to
// tell page views and events apart. See explore.Archive.
func (a *Archive) Holds(ctx context.Context, site string, from, to time.Time) (explore.ArchiveCounts, error) {
	if from.UnixMilli()%slotMS != 0 || to.UnixMilli()%slotMS != 0 {
		return explore.ArchiveCounts{}, nil // a historic time zone, based on solar time: the slots do not fit
	}
	for moved := 0; ; moved++ {
		if err := a.refresh(ctx, moved > 0); err != nil {
			return explore.ArchiveCounts{}, err
		}
		held, err := a.holds(ctx, site, from, to)
		if !errors.Is(err, warehouse.ErrNotFound) || moved == maxMoves {
			return held, err
		}
	}
}

func (a *Archive) holds(ctx context.Context, site string, from, to time.Time) (held explore.ArchiveCounts, err error) {
	version := fnv.New64a()
	for day := from.UTC().Truncate(24 * time.Hour); day.Before(to); day = day.Add(24 * time.Hour) {
		for _, f := range a.w.In(warehouse.PartitionOf(warehouse.Events, site, day.UnixMilli())) {
			slots, err := a.count(ctx, f)
			if err != nil {
				return explore.ArchiveCounts{}, err
			}
			for _, s := range slots {
				if s.start >= from.UnixMilli() && s.start < to.UnixMilli() {
					held.PageViews += s.pageViews
					held.Events += s.events
				}
			}
			_, _ = version.Write([]byte(f.Path))
		}
	}
	held.Version = version.Sum64()
	return held, nil
}

// kinds has the columns that counting needs.
type kinds struct {
	Time int64  `parquet:"time,timestamp(millisecond)"`
	Name string `parquet:"name"`
}

func (a *Archive) count(ctx context.Context, f warehouse.File) (slots []slot, err error) {
	if slots, ok := a.counted.Get(f.Path); ok {
		return slots, nil
	}
	object, err := a.objects.Open(ctx, f.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	defer func() {
		if r := recover(); r != nil { // the Parquet reader may panic on other bytes
			err = fmt.Errorf("%w: %s: %v", warehouse.ErrDamaged, f.Path, r)
		}
	}()
	file, err := parquet.OpenFile(object, object.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", warehouse.ErrDamaged, f.Path, err)
	}
	if slots, err = countRows(ctx, parquet.NewGenericReader[kinds](file)); err != nil {
		return nil, fmt.Errorf("past: %s: %w", f.Path, err)
	}
	a.counted.Add(f.Path, slots)
	return slots, nil
}

func countRows(ctx context.Context, r *parquet.GenericReader[kinds]) (slots []slot, err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	rows := make([]kinds, batchRows)
	for {
		n, err := r.Read(rows)
		for _, row := range rows[:n] {
			start := row.Time - row.Time%slotMS
			if len(slots) == 0 || slots[len(slots)-1].start != start {
				slots = append(slots, slot{start: start})
			}
			switch s := &slots[len(slots)-1]; row.Name {
			case "":
				s.pageViews++
			case analytics.EngagementEvent, analytics.VitalsEvent:
			default:
				s.events++
			}
		}
		if errors.Is(err, io.EOF) {
			return slots, nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

// Events yields the events of a site with times in [from, to), ordered by time. See
// explore.Archive.
func (a *Archive) Events(ctx context.Context, site string, from, to time.Time) iter.Seq2[*analytics.Event, error] {
	return func(yield func(*analytics.Event, error) bool) {
		if err := a.refresh(ctx, false); err != nil {
			yield(nil, err)
			return
		}
		for row, err := range a.w.Events(ctx, site, from, to) {
			if err != nil {
				yield(nil, err)
				return
			}
			e, err := row.Event(site)
			if err == nil {
				e.ExpiresAt = time.Time{} // the table does not return it either
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
