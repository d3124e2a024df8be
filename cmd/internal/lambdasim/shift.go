package lambdasim

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Scheduled is the event with which EventBridge invokes functions.
const Scheduled = `{"detail-type":"Scheduled Event","source":"aws.events"}`

const (
	sendEvery = 250 * time.Millisecond
	lookEvery = time.Second
)

// work stores the load in real time while the function works in shifts. It returns the number of
// events and of shifts when everything is counted and written.
func (l *Load) work(ctx context.Context, t *table.Table, pool *Pool) (events int, shifts int64, err error) {
	if err := l.site(ctx, t); err != nil {
		return 0, 0, err
	}
	g, ctx := errgroup.WithContext(ctx)
	working, end := context.WithCancel(ctx)
	g.Go(func() error {
		for {
			_, err := pool.Invoke(working, []byte(Scheduled), l.Shift, nil)
			if working.Err() != nil {
				return nil
			}
			if shifts++; err != nil {
				return err
			}
		}
	})
	g.Go(func() (err error) {
		defer end()
		events, err = l.live(ctx, t)
		return err
	})
	return events, shifts, g.Wait()
}

// live stores the load in real time, and waits until it is folded.
func (l *Load) live(ctx context.Context, t *table.Table) (events int, err error) {
	collector, all := analytics.NewCollector(t, analytics.CollectorOptions{}), l.draw()
	events = len(all)
	visitors := visitorsOf(all)
	for begin := t.Now(); len(all) > 0; {
		if all, err = store(ctx, collector, begin, all, t.Now().Sub(begin)); err != nil {
			return events, err
		}
		if err := backoff.For(ctx, sendEvery); err != nil {
			return events, err
		}
	}
	for {
		pages, visits, err := counted(ctx, t)
		if err != nil {
			return events, err
		}
		if pages == int64(events) && visits == visitors {
			return events, backoff.For(ctx, 2*l.Delays.FoldDelay+l.Delays.Holds().Visits) // breakdowns are delayed too
		}
		if err := backoff.For(ctx, lookEvery); err != nil {
			return events, err
		}
	}
}

// visitorsOf returns the number of visitors, which equals that of visits: an address drawn twice
// within a few minutes is one visit.
func visitorsOf(all []view) int64 {
	seen := make(map[string]bool)
	for i := range all {
		seen[all[i].hit.Address] = true
	}
	return int64(len(seen))
}
