package embedded_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/embedded"
)

var order = eventstore.ID{Type: "order", ID: "1"}

// A store that is opened again has its events, and the worker goes on with the feed.
func TestOpenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for n := range int64(3) {
		app, err := embedded.Open(t.Context(), dir, embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := app.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := embedded.Open(t.Context(), dir, embedded.Options{}); err == nil {
			t.Error("a directory was opened twice")
		}
		c, err := app.Store.Append(t.Context(), order, eventstore.Exact(n), []eventstore.NewEvent{{Type: "Placed"}})
		if err != nil || c.Version != n+1 {
			t.Errorf("%+v, %v", c, err)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
		if err := app.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
	}
	app, err := embedded.Open(t.Context(), dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Every worker goes on where an earlier one ended, so the last one folds the last append, too.
	var positions []int64
	for int64(len(positions)) < 3 {
		for e, err := range app.Store.Feed(t.Context(), int64(len(positions))) {
			if err != nil {
				t.Fatal(err)
			}
			positions = append(positions, e.Position)
		}
		time.Sleep(time.Millisecond)
	}
	if !slices.Equal(positions, []int64{1, 2, 3}) {
		t.Errorf("the feed has positions %v", positions)
	}
}

func TestMemory(t *testing.T) {
	app, err := embedded.Open(t.Context(), "", embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Store.Append(t.Context(), order, eventstore.NoStream(), []eventstore.NewEvent{{Type: "Placed"}}); err != nil {
		t.Error(err)
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
}
