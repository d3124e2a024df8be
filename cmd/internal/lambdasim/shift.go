package lambdasim

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Scheduled is what EventBridge calls functions by.
const Scheduled = `{"detail-type":"Scheduled Event","source":"aws.events"}`

const (
	sendEvery = 250 * time.Millisecond
	lookEvery = time.Second
)

// work stores the load as time goes by, while the function works, a shift after the other. It returns the number of events and of shifts
// when all is counted, and what may wait is written.
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

// live stores the load as time goes by, and waits until it is folded.
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
			return events, backoff.For(ctx, 2*l.Delays.FoldDelay+l.Delays.Visits()) // breakdowns wait, too
		}
		if err := backoff.For(ctx, lookEvery); err != nil {
			return events, err
		}
	}
}

// visitorsOf are as many as visits: an address that is drawn twice within a few minutes makes one.
func visitorsOf(all []view) int64 {
	seen := make(map[string]bool)
	for i := range all {
		seen[all[i].hit.Address] = true
	}
	return int64(len(seen))
}
