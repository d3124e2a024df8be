package eventbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/enginebench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/eventstore"
)

const (
	streamLength = 1000 // events in a stream before the next one is started

	wantedOfSync = 0.88
	wanted8      = 20_000
	wanted32     = 40_000
	wantedOfOne  = 5_000
	perContended = 160 // appends of all writers to one aggregate
)

// writer appends one event after another, each with the version that it knows.
type writer struct {
	store   *eventstore.Store
	name    string
	stream  int
	version int64
	event   []eventstore.NewEvent
}

func (w *writer) append(ctx context.Context) error {
	if w.version == streamLength {
		w.stream, w.version = w.stream+1, 0
	}
	c, err := w.store.Append(ctx, eventstore.ID{Type: "bench", ID: fmt.Sprintf("%s-%d", w.name, w.stream)}, eventstore.Exact(w.version), w.event)
	w.version = c.Version
	return err
}

// alone measures one writer, alternating with raw Pebble that makes rows of an event's size durable
// one after another.
func (b *bench) alone(ctx context.Context, dir string) (all []workbench.Result, err error) {
	raw, err := enginebench.OpenSynced(dir + "-raw")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	err = b.on(ctx, dir, eventstore.Options{}, func(s *opened) error {
		w := &writer{store: s.events, name: "alone", event: some(1)}
		sync := func(context.Context) error { return raw.Write(w.event[0].Payload) }
		var rates, micros, syncs []float64
		for round := range b.o.Rounds + 1 { // the first run is a warm-up
			rate, cpu, err := b.turn(ctx, []func(context.Context) error{w.append})
			if err != nil {
				return err
			}
			reference, _, err := b.turn(ctx, []func(context.Context) error{sync})
			if err != nil {
				return err
			}
			if round > 0 {
				rates, micros, syncs = append(rates, rate), append(micros, cpu), append(syncs, reference)
			}
		}
		all = results("append one event of 320 B, 1 writer", workbench.Pace{Rate: workbench.Median(rates), Micros: workbench.Median(micros)}, 0)
		all[0].Against, all[0].Reference = "alternating raw Pebble syncs", math.Round(workbench.Median(syncs))
		all[0].Goal = math.Round(wantedOfSync * all[0].Reference)
		return nil
	})
	return all, err
}

// writers measures many writers with separate aggregates.
func (b *bench) writers(ctx context.Context, dir string) (all []workbench.Result, err error) {
	for _, c := range []struct {
		n    int
		goal float64
	}{{8, wanted8}, {32, wanted32}} {
		err := b.on(ctx, filepath.Join(dir, fmt.Sprint(c.n)), eventstore.Options{}, func(s *opened) error {
			p, err := b.pace(ctx, c.n, func(i int) func(context.Context) error {
				return (&writer{store: s.events, name: fmt.Sprint(i), event: some(1)}).append
			})
			all = append(all, results(fmt.Sprintf("append one event, %d writers of different aggregates", c.n), p, c.goal)...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// contended measures concurrent decisions on one aggregate.
func (b *bench) contended(ctx context.Context, dir string) (all []workbench.Result, err error) {
	for _, n := range []int{8, 32} {
		of, err := b.contend(ctx, filepath.Join(dir, fmt.Sprint(n)), n)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// contend measures the decisions of n writers. Those that gave up after too many conflicts are not
// counted.
func (b *bench) contend(ctx context.Context, dir string, n int) (all []workbench.Result, err error) {
	name := fmt.Sprintf("%d writers of one aggregate, through Transact", n)
	err = b.on(ctx, dir, eventstore.Options{}, func(s *opened) error {
		var decided, begun, busy atomic.Int64
		done := make([]atomic.Int64, n)
		count := eventstore.Fold[int]{Apply: func(n int, _ eventstore.Event) (int, error) { return n + 1, nil }}
		event := some(1)
		began := time.Now()
		_, err := b.pace(ctx, n, func(i int) func(context.Context) error {
			return func(ctx context.Context) error {
				// All writers switch to another aggregate after so many appends, so that loads do
				// not get ever longer.
				id := eventstore.ID{Type: "bench", ID: fmt.Sprint("contended-", begun.Add(1)/perContended)}
				_, err := eventstore.Transact(ctx, s.events, id, count, func(eventstore.Loaded[int]) ([]eventstore.NewEvent, error) {
					decided.Add(1)
					return event, nil
				})
				if errors.Is(err, eventstore.ErrBusy) {
					busy.Add(1)
					return nil
				}
				done[i].Add(1)
				return err
			}
		})
		seconds := time.Since(began).Seconds()
		sum, least, most := int64(0), done[0].Load(), int64(0)
		for i := range done {
			n := done[i].Load()
			sum, least, most = sum+n, min(least, n), max(most, n)
		}
		all = []workbench.Result{
			{Name: name, Unit: "/s", Value: float64(sum) / seconds, Goal: wantedOfOne},
			{Name: name + ": attempts per decision", Value: float64(decided.Load()) / float64(max(sum, 1))},
			{Name: name + ": slowest writer", Unit: "/s", Value: float64(least) / seconds},
			{Name: name + ": fastest writer", Unit: "/s", Value: float64(most) / seconds},
			{Name: name + ": gave up", Unit: "/s", Value: float64(busy.Load()) / seconds},
		}
		return err
	})
	return all, err
}
