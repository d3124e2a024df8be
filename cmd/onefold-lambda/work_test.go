package main

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/lambdasim"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// event is the event of EventBridge.
var event = []byte(lambdasim.Scheduled)

// Measures the write units of an event folded in shifts, and checks that everything is counted.
func TestWriteUnitsOfShifts(t *testing.T) {
	visits := time.Second
	cost, err := lambdasim.Measure(t.Context(), lambdasim.Load{Binary: binary, PerSecond: 50, For: 2 * time.Second, Pause: 200 * time.Millisecond, Shards: 4, Shift: 2 * time.Minute,
		Delays: delays.Flags{FoldDelay: 100 * time.Millisecond, VisitDelay: &visits}})
	must(t, err)
	t.Logf("%+v", cost)
	if cost.PagesCounted != int64(cost.Events) || cost.WriteUnits < 1 || cost.WriteUnits > 6 {
		t.Errorf("%+v", cost)
	}
}

// A function that works in shifts produces the same items as a worker, although shifts are too
// short, killed or concurrent, and shards roll.
func TestShiftsSameAsWorker(t *testing.T) {
	r := random(t)
	now := time.Now().Truncate(time.Hour).Add(30 * time.Minute)
	all := facts(t, r, now, 400)
	marked := erased(t, all)

	want := byWorker(t, now, all, marked).items()
	wantFed := fed(want)

	p := newPlace(t, now, engine.Options{StreamShards: 4, RollEvery: 100})
	pool := p.pool("work", "ONEFOLD_FOLD_DELAY=20ms", "ONEFOLD_VISIT_DELAY=100ms", "ONEFOLD_LEASE_FOR=1s")
	for part := range 4 {
		p.put(all[part*len(all)/4 : (part+1)*len(all)/4])
		troubled(t, r, pool)
	}
	p.put(marked)
	var got map[string]table.Item
	var gotFed []string
	for range 30 {
		if _, err := pool.Invoke(t.Context(), event, 2*time.Second, nil); err != nil && !errors.Is(err, lambdasim.ErrTimeout) {
			t.Fatal(err)
		}
		got = p.items()
		gotFed = fed(got)
		if same(got, want) {
			break
		}
	}
	if !reflect.DeepEqual(gotFed, wantFed) {
		t.Errorf("the feed has %v by shifts, %v by a worker", gotFed, wantFed)
	}
	equal(t, got, want)
	if strings.Contains(p.said.String(), `"deadLetters":1`) {
		t.Error("there are dead letters")
	}
}

func same(got, want map[string]table.Item) bool {
	return maps.EqualFunc(got, want, func(a, b table.Item) bool { return reflect.DeepEqual(bare(a), bare(b)) })
}

// troubled runs some shifts, of which some have too little time, some are killed, and some are
// concurrent.
func troubled(t *testing.T, r *rand.Rand, pool *lambdasim.Pool) {
	var crew sync.WaitGroup
	for range 3 {
		limit := time.Duration(20+r.IntN(800)) * time.Millisecond
		var kill chan struct{}
		if r.IntN(3) == 0 {
			kill = make(chan struct{})
			time.AfterFunc(time.Duration(r.Int64N(int64(limit))), func() { close(kill) })
		}
		crew.Go(func() {
			_, err := pool.Invoke(t.Context(), event, limit, kill)
			var failed *lambdasim.FunctionError
			if err != nil && !errors.Is(err, lambdasim.ErrExit) && !errors.Is(err, lambdasim.ErrTimeout) && !errors.As(err, &failed) && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		if r.IntN(2) == 0 {
			crew.Wait()
		}
	}
	crew.Wait()
}
