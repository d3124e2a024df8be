package fold_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// TestOverviewShowsShardOwners checks the overview of workers that share a stream, of a worker
// that has gone silent, and of a stream without workers.
func TestOverviewShowsShardOwners(t *testing.T) {
	clock := newClock()
	b := openEngine(t, engine.Options{StreamShards: 2, Clock: clock.now})
	tab := table.New(b.db, "table", table.Options{Clock: clock.now})
	look := func() fold.Overview {
		t.Helper()
		o, err := fold.Read(t.Context(), tab, "main")
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := look(); len(o.Shards) != 0 || o.Known {
		t.Errorf("before anything ran: %+v", o)
	}
	for i := range 20 {
		put(t, tab, order{orderKey{fmt.Sprint(i)}, "r", 1})
	}
	w := newWorker(t, tab, streamsource.New(b.db, b.arn), fold.Options{Leases: true, Owner: "w"}, totalsFold())
	drain(t, w)
	if o := look(); len(o.Shards) != 2 || len(o.Owners) != 1 || o.Owners[0] != "w" || o.Shards[0].Silent || !o.Known || o.Lag() != 0 {
		t.Errorf("while one works: %+v", o)
	}
	clock.add(20 * time.Second)
	if o := look(); o.Shards[0].Silent || o.Lag() != 20*time.Second {
		t.Errorf("20 seconds after its last word, with which it may have died: %+v", o)
	}
	for range 30 {
		clock.add(time.Second)
		drain(t, w)
	}
	if o := look(); o.Lag() > 11*time.Second {
		t.Errorf("while it works on, and renews its lease each ten seconds: %+v", o)
	}
	clock.add(13 * time.Hour)
	if o := look(); len(o.Owners) != 0 || !o.Shards[0].Silent || o.Lag() < 13*time.Hour {
		t.Errorf("13 hours later: %+v", o)
	}
	drain(t, w)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(stopped); err != nil {
		t.Fatal(err)
	}
	clock.add(time.Minute)
	if o := look(); o.Shards[0].Owner != "" || o.Lag() != time.Minute {
		t.Errorf("a minute after it gave its leases back: %+v", o)
	}
}
