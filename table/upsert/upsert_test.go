package upsert_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/upsert"
)

type countKey struct {
	ID string `dynamodbav:"id"`
}

type count struct {
	countKey
	N int `dynamodbav:"n"`
}

var (
	counts = table.Define[count, countKey]("test.count", table.Def[count]{PK: "COUNT#{id}", SK: "COUNT", Doc: "A count."})
	schema = table.MustSchema("test", counts)
)

func newTable(t *testing.T) *table.Table {
	db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := schema.Ensure(t.Context(), db, "onefold"); err != nil {
		t.Fatal(err)
	}
	return table.New(db, "onefold", table.Options{})
}

// Writers that create, change and delete an item at the same time lose no change.
func TestLosesNoUpdate(t *testing.T) {
	tbl, k := newTable(t), countKey{"a"}
	const writers, each = 4, 20
	var all sync.WaitGroup
	var created atomic.Int64
	for range writers {
		all.Go(func() {
			for done := 0; done < each; {
				made := false
				_, err := upsert.Item(t.Context(), tbl, counts, k, func(c *count, exists bool) error {
					made = !exists
					c.countKey, c.N = k, c.N+1
					return nil
				})
				switch {
				case errors.Is(err, table.ErrConflict):
					continue
				case err != nil:
					t.Error(err)
					return
				case made:
					created.Add(1)
				}
				done++
			}
		})
	}
	all.Wait()
	got, err := counts.Get(t.Context(), tbl, k)
	if err != nil || got.N != writers*each || created.Load() != 1 {
		t.Errorf("count %d, want %d; created %d times: %v", got.N, writers*each, created.Load(), err)
	}
}

// An error of change is returned, even if it is like one of a missing item, and nothing is written.
func TestRefused(t *testing.T) {
	tbl, k := newTable(t), countKey{"a"}
	refused, calls := fmt.Errorf("no such owner: %w", table.ErrNotFound), 0
	refuse := func(c *count, _ bool) error { calls++; c.countKey, c.N = k, 7; return refused }
	for i := range 2 {
		if _, err := upsert.Item(t.Context(), tbl, counts, k, refuse); !errors.Is(err, refused) || calls != i+1 {
			t.Errorf("called %d times: %v", calls, err)
		}
		if got, err := counts.Get(t.Context(), tbl, k); err == nil && got.N != 1 || err != nil && i > 0 {
			t.Errorf("stored %+v: %v", got, err)
		}
		if i == 0 {
			if err := counts.Create(t.Context(), tbl, &count{k, 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
