package shred_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/table"
)

// program is a writer with options of its own, which knows nothing of the others'.
type program struct {
	name   string
	store  *eventstore.Store
	sealed bool // it has keys
}

// programs are writers on one table: with all that is personal declared, with less, with nothing declared, and without keys, in transactions and not.
func programs(w *world) []program {
	opened := func(name string, o eventstore.Options) program {
		s, err := eventstore.New(w.table, o)
		w.must(err)
		return program{name, s, o.Secrets != nil}
	}
	keys := func(p []shred.Personal) *eventstore.Secrets {
		k, err := shred.New(w.table, shred.Options{Masters: []shred.Master{master("2026")}, Personal: p, Sleep: func(_ context.Context, d time.Duration) error {
			w.db.Advance(d)
			return nil
		}})
		w.must(err)
		return k.Secrets()
	}
	return []program{
		opened("all", eventstore.Options{Secrets: keys(personal(w.T))}), opened("some", eventstore.Options{Secrets: keys(personal(w.T)[1:2])}),
		opened("none", eventstore.Options{Secrets: keys(nil)}), opened("chain", eventstore.Options{Secrets: keys(personal(w.T)), TypeShards: 4}),
		opened("no keys", eventstore.Options{}), opened("no keys, sharded", eventstore.Options{TypeShards: 4}), opened("no keys, one by one", eventstore.Options{OneByOne: true}),
	}
}

// TestSecondWriter lets programs with other options append in any order, also ones that were at it before the first person's field was sealed. From that moment
// on nothing personal is stored as it is: who cannot seal it is refused, and may append what is not personal.
func TestSecondWriter(t *testing.T) {
	for range 60 {
		seed := rand.Uint64()
		secondWriter(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func secondWriter(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &world{T: t, ctx: t.Context(), db: enginetest.New(t)}
	w.must(shred.Schema.Ensure(w.ctx, w.db, "onefold"))
	w.table = table.New(w.db, "onefold", table.Options{Clock: w.db.Now})
	all, declared := programs(w), false
	for i := range 20 {
		p := all[r.IntN(len(all))]
		if p.name == "all" {
			declared = true
		}
		said := fmt.Sprintf("secret-%d", i)
		events := []eventstore.NewEvent{{Type: "Registered", Payload: fmt.Appendf(nil, `{"customerId":"c%d","name":%q}`, r.IntN(3), said)}}
		_, err := p.store.Append(w.ctx, customer(fmt.Sprint(i)), eventstore.NoStream(), events)
		stored := strings.Contains(w.everything(), said)
		switch declared = declared || p.name == "chain"; {
		case declared && stored:
			t.Errorf("append %d, by %q: stored as it is", i, p.name)
		case p.sealed && err != nil:
			t.Errorf("append %d, by %q: %v", i, p.name, err)
		case declared && !p.sealed && !errors.Is(err, eventstore.ErrUnsealed):
			t.Errorf("append %d, by %q: %v, want ErrUnsealed", i, p.name, err)
		}
		if _, err := p.store.Append(w.ctx, customer(fmt.Sprint("plain-", i)), eventstore.Any(), []eventstore.NewEvent{{Type: "Visited"}}); err != nil {
			t.Errorf("append %d, by %q, of nothing personal: %v", i, p.name, err)
		}
		w.db.Advance(time.Duration(r.IntN(3)) * time.Second)
	}
}
