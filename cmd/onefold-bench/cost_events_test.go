package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/eventstore"
)

// appending appends to aggregates of three types, ten at a time, each of which ends after ten
// events.
type appending struct {
	store  *eventstore.Store
	begin  time.Time
	during time.Duration
	rate   int // appends per second
	each   int // events per append
	done   int
}

const (
	openAggregates = 10
	aggregateEnds  = 10 // events
)

// next returns the next append.
func (a *appending) next() (eventstore.ID, eventstore.Expected, []eventstore.NewEvent) {
	lane, turn := a.done%openAggregates, a.done/openAggregates
	perAggregate := max(aggregateEnds/a.each, 1)
	id := eventstore.ID{Type: []string{"order", "shipment", "invoice"}[lane%3], ID: fmt.Sprintf("%d-%06d", lane, turn/perAggregate)}
	events := make([]eventstore.NewEvent, a.each)
	for i := range events {
		events[i] = eventstore.NewEvent{Type: "OrderPlaced", Payload: bytes.Repeat([]byte("x"), 320)}
	}
	return id, eventstore.Exact(int64(turn % perAggregate * a.each)), events
}

// send appends the events due.
func (a *appending) send(ctx context.Context, now time.Time) (more bool, err error) {
	total := int(a.during/time.Second) * a.rate
	for ; a.done < total && !a.begin.Add(time.Duration(a.done)*time.Second/time.Duration(a.rate)).After(now); a.done++ {
		id, expected, events := a.next()
		if _, err := a.store.Append(ctx, id, expected, events); err != nil {
			return false, err
		}
	}
	return a.done < total, nil
}

// appendUse returns the units per event, including all derived items, at a rate of appends of so
// many events each.
func appendUse(t *testing.T, g *globals, rate, each int, delay time.Duration) (workbench.Use, error) {
	a := &appending{begin: time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC), during: 10 * time.Minute, rate: rate, each: each}
	traffic := workbench.Traffic{
		Open: g.opener(t.Output()), Dir: filepath.Join(t.TempDir(), "table"), Delays: delays.Flags{FoldDelay: delay}, Begin: a.begin,
		Prepare: func(ctx context.Context, s *workbench.Store) (err error) {
			a.store, err = eventstore.New(s.Table, eventstore.Options{})
			return err
		},
		Send: a.send,
	}
	use, err := traffic.Use(t.Context())
	return use.Per(float64(a.done * each)), err
}

// An append of several events takes fewer units per event than the estimate for single events.
// Costs shared by processes or aggregates are counted once.
func TestCostIsNotLessThanAppendsOfSeveralEventsTake(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	g := new(globals)
	said, _ := unitsOfFact(t, eventstore.Schema, 3*86_400, false)
	use, err := appendUse(t, g, 1, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	units := use.Writes
	t.Logf("%.3f write units metered, %.3f said; metered %.3v", units.Total(), said, units)
	if units.Total() > said || units.Total() < said/3 {
		t.Errorf("%.3f write units are said of an event in appends of three, %.3f metered", said, units.Total())
	}
}

// The estimates for common reads match the engine's meters, at the sizes of real events.
func TestReadsOfTheEventStoreTakeWhatIsSaid(t *testing.T) {
	ctx := t.Context()
	s, err := new(globals).opener(t.Output())(ctx, filepath.Join(t.TempDir(), "table"), workbench.Time{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s.DB) })
	store, err := eventstore.New(s.Table, eventstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := eventstore.ID{Type: "order", ID: "1042"}
	sum := eventstore.Fold[string]{Version: 1, Apply: func(state string, _ eventstore.Event) (string, error) { return state + strings.Repeat("x", 90), nil }}
	for n := range int64(20) {
		placed := eventstore.NewEvent{Type: "OrderPlaced", Payload: bytes.Repeat([]byte("x"), 320)}
		if _, err := store.Append(ctx, id, eventstore.Exact(n), []eventstore.NewEvent{placed}, eventstore.CommitID(fmt.Sprint(n)), eventstore.Reserve("number", fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 19 { // twenty types with orders
		if _, err := store.Append(ctx, eventstore.ID{Type: fmt.Sprintf("type-%02d", n), ID: "1"}, eventstore.NoStream(), []eventstore.NewEvent{{Type: "Made"}}); err != nil {
			t.Fatal(err)
		}
	}
	at, err := eventstore.Load(ctx, store, id, sum)
	if err == nil {
		_, err = eventstore.SaveSnapshot(ctx, store, sum, at)
	}
	if err == nil {
		err = s.Worker.Drain(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	design, err := blueprint.New(ctx, eventstore.Schema, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, read := range map[string]func() error{
		"E2": func() error {
			_, err := eventstore.PagesFrom.Collect(ctx, s.Table, eventstore.PagesIn{ID: id, From: 1, To: eventstore.EndOfStream})
			return err
		},
		"E3": func() error {
			_, err := eventstore.PagesBackwards.First(ctx, s.Table, eventstore.PagesIn{ID: id, From: 1, To: 20})
			return err
		},
		"E4": func() error {
			_, err := eventstore.SnapshotByID.Get(ctx, s.Table, eventstore.SnapshotKey{ID: id})
			return err
		},
		"E5": func() error { _, err := store.Head(ctx, id); return err },
		"E9": func() error {
			_, err := eventstore.MarkByID.Get(ctx, s.Table, eventstore.MarkKey{ID: id, CommitID: "7"})
			return err
		},
		"E11": func() error { _, err := store.ListTypes(ctx); return err },
		"E13": func() error { _, err := eventstore.FeedHeadNow.Get(ctx, s.Table, eventstore.FeedHeadKey{}); return err },
	} {
		before := readUnits(s)
		if err := read(); err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		metered := readUnits(s) - before
		said := -1.0
		for i := range design.Patterns {
			if design.Patterns[i].ID == pattern {
				said = design.Patterns[i].Units.Read
			}
		}
		if t.Logf("%s: %g read units metered, %g said", pattern, metered, said); metered != said {
			t.Errorf("%s: %g read units are said, %g metered", pattern, said, metered)
		}
	}
}

// readUnits returns the units of all reads since the database was opened.
func readUnits(s *workbench.Store) (sum float64) {
	for _, use := range s.DB.Metered().Tables {
		sum += use.ReadUnits
		for _, x := range use.Indexes {
			sum += x.ReadUnits
		}
	}
	return sum
}

// drained reads a sequence to its end.
func drained[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// closed closes a database at the end of a test.
func closed(t *testing.T, db io.Closer) {
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
