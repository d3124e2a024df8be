package embedded_test

import (
	"path/filepath"
	"testing"

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
	var positions []int64
	for e, err := range app.Store.Feed(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, e.Position)
	}
	// The last append may have been too late for the worker that ended.
	if len(positions) < 2 || positions[0] != 1 || positions[1] != 2 {
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
