package migrate

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

const (
	fences     = 20  // fences written together
	mostFences = 200 // rounds of fences before giving up
)

// fenceWatcher looks for fences in a stream.
type fenceWatcher struct {
	run    string
	due    map[string]bool // fences written but not seen yet
	passed map[string]bool // shards in which a fence was seen
}

func newFenceWatcher() *fenceWatcher {
	return &fenceWatcher{run: rand.Text(), due: map[string]bool{}, passed: map[string]bool{}}
}

// observe records the fences of a batch.
func (l *fenceWatcher) observe(shard string, b *fold.Batch) {
	for i := range b.Changes {
		it := b.Changes[i].New
		if text(it[table.AttrEntity]) == migration.Fences.Name() && text(it["run"]) == l.run {
			delete(l.due, id(it))
			l.passed[shard] = true
		}
	}
}

// toEnd reads a stream to its present end. An empty response does not prove that the end is reached
// on a service, nor does the end of a shard, since its children may not be listed yet. So fences
// (items of relocation) with random keys are written until all of them have been read, and at least
// one in each open shard. Everything written before a fence in its shard has then been read.
func (m *Move) toEnd(ctx context.Context, t *tail) error {
	t.looks = newFenceWatcher()
	defer func() { t.looks = nil }()
	for range mostFences {
		if err := m.putFences(ctx, t); err != nil {
			return err
		}
		t.ask()
		t.listedAt = time.Time{}
		for quietly := 0; quietly < 2; {
			_, tip, err := m.retry(ctx, t)
			if err != nil {
				return err
			}
			if !tip {
				quietly = 0
				continue
			}
			if t.allPassed() {
				return nil
			}
			quietly++
			if err := m.o.Sleep(ctx, quiet/2); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("move: stream of %s: %d fences did not reach every shard", t.store.Name, fences*mostFences)
}

// putFences writes fences to the store of a stream.
func (m *Move) putFences(ctx context.Context, t *tail) error {
	for range fences {
		f := migration.Fence{FenceKey: migration.FenceKey{Name: rand.Text()}, Run: t.looks.run, At: m.o.Clock()}
		key, err := migration.Fences.Key(f.FenceKey)
		if err == nil {
			t.looks.due[id(key)] = true
			err = migration.Fences.Put(ctx, t.store.table(m.o.Clock), &f)
		}
		if err != nil {
			return fmt.Errorf("move: fence in %s: %w", t.store.Name, err)
		}
	}
	return nil
}

// allPassed reports whether all fences were seen, with at least one in every open shard.
func (t *tail) allPassed() bool {
	for _, s := range t.listed {
		if !t.at(s.ID).Done && !t.looks.passed[s.ID] {
			return false
		}
	}
	return len(t.looks.due) == 0
}
