package eventbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
)

const (
	wantedLoads     = 2_500
	wantedLong      = 1000.0 / 30 // a load within 30 ms
	longLength      = 100_000
	wantedSnapshots = 10_000
	wantedFeed      = 50_000
	snapshotAt      = 950
	perAppend       = 10 // events per append of the feed
	feeders         = 16
)

// The aggregates that are loaded.
var (
	thousand = eventstore.ID{Type: "bench", ID: "loaded"} // with a snapshot at snapshotAt
	long     = eventstore.ID{Type: "bench", ID: "long"}
)

// lengthOf folds the size of payloads. Its snapshots have a version.
var lengthOf = eventstore.Fold[int]{Version: 1, Apply: func(n int, e eventstore.Event) (int, error) { return n + len(e.Payload), nil }}

// loads measures loading the state of an aggregate of a thousand events, from its events and from a
// snapshot, and of one of a hundred thousand.
func (b *bench) loads(ctx context.Context, dir string) (all []workbench.Result, err error) {
	err = b.on(ctx, dir, eventstore.Options{}, func(s *opened) error {
		if err := errors.Join(s.grow(ctx, thousand, streamLength), s.grow(ctx, long, longLength)); err != nil {
			return err
		}
		plain, cached := lengthOf, lengthOf
		plain.Version, cached.Cache = 0, eventstore.NewCache[int](1)
		for _, c := range []struct {
			what   string
			id     eventstore.ID
			events int
			fold   eventstore.Fold[int]
			goal   float64
		}{
			{"load of an aggregate of 1,000 events", thousand, streamLength, plain, wantedLoads}, {"the same with a snapshot at 950", thousand, streamLength, lengthOf, wantedSnapshots},
			{"the same from a cache", thousand, streamLength, cached, 0}, {"load of an aggregate of 100,000 events", long, longLength, plain, wantedLong},
		} {
			p, err := b.pace(ctx, 1, func(int) func(context.Context) error {
				return func(ctx context.Context) error {
					at, err := eventstore.Load(ctx, s.events, c.id, c.fold)
					if err == nil && at.State != c.events*payloadBytes {
						err = fmt.Errorf("a state of %d bytes", at.State)
					}
					return err
				}
			})
			if err != nil {
				return err
			}
			all = append(all, results(c.what, p, c.goal)...)
		}
		return nil
	})
	return all, err
}

// grow appends events to an aggregate, and saves a snapshot on the way.
func (s *opened) grow(ctx context.Context, id eventstore.ID, events int64) error {
	const together = 50
	for version := int64(0); version < events; version += together {
		if version == snapshotAt {
			at, err := eventstore.Load(ctx, s.events, id, lengthOf)
			if err != nil {
				return err
			}
			if _, err := eventstore.SaveSnapshot(ctx, s.events, lengthOf, at); err != nil {
				return err
			}
		}
		if _, err := s.events.Append(ctx, id, eventstore.Exact(version), some(together)); err != nil {
			return err
		}
	}
	return nil
}

// feed measures how fast appended events reach the feed, including the work of all folds, and how
// fast the feed is read.
func (b *bench) feed(ctx context.Context, dir string) (all []workbench.Result, err error) {
	err = b.on(ctx, dir, eventstore.Options{}, func(s *opened) error {
		if err := b.fill(ctx, s); err != nil {
			return err
		}
		began := time.Now()
		if err := s.Worker.Drain(ctx); err != nil {
			return err
		}
		folded := time.Since(began)
		began = time.Now()
		read := 0
		for _, err := range s.events.Feed(ctx, 0) {
			if err != nil {
				return err
			}
			read++
		}
		took := time.Since(began)
		what := fmt.Sprintf("events, of %d in appends of %d", read, perAppend)
		all = []workbench.Result{
			{Name: "put into the feed: " + what, Unit: "/s", Value: float64(read) / folded.Seconds(), Goal: wantedFeed},
			{Name: "read from the feed: " + what, Unit: "/s", Value: float64(read) / took.Seconds(), Goal: wantedFeed},
		}
		rate, err := rebuild(ctx, s)
		all = append(all, workbench.Result{Name: "rebuild a projection: " + what, Unit: "/s", Value: rate, Goal: wantedFeed})
		return err
	})
	return all, err
}

// counted is a read model.
type counted struct{ Events, Bytes int }

// rebuild rebuilds the read models of all aggregates, and returns the number of events per second.
func rebuild(ctx context.Context, s *opened) (float64, error) {
	p, err := projection.Define(s.Table, s.events, projection.Definition[counted]{
		Name: "bench", Version: 1, Of: []string{"bench"}, Apply: func(c *counted, e *eventstore.Event) error {
			c.Events, c.Bytes = c.Events+1, c.Bytes+len(e.Payload)
			return nil
		},
	}, projection.Options{})
	if err != nil {
		return 0, err
	}
	events, began := int64(0), time.Now()
	_, err = p.Rebuild(ctx, projection.RebuildOptions{CaughtUp: s.Worker.Drain, Progress: func(at projection.Progress) { events = max(events, at.Events) }})
	return float64(events) / time.Since(began).Seconds(), err
}

// fill appends the events of the feed, a hundred per aggregate.
func (b *bench) fill(ctx context.Context, s *opened) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(feeders)
	for i := range (b.o.Events + 99) / 100 {
		group.Go(func() error {
			id := eventstore.ID{Type: "bench", ID: fmt.Sprint(i)}
			for version := int64(0); version < 100; version += perAppend {
				if _, err := s.events.Append(ctx, id, eventstore.Exact(version), some(perAppend)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
