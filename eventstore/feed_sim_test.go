package eventstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
)

// appendSome moves the head of an aggregate as an append does.
func appendSome(w *foldsim.World) {
	id := eventstore.ID{Type: "order", ID: fmt.Sprint("o", w.Rand.IntN(6))}
	key := mustHave(eventstore.Heads.Key(id))
	h := eventstore.Head{ID: id}
	if it := w.Get(key); it != nil {
		h = mustHave(eventstore.Heads.Decode(it))
	}
	switch {
	case h.Version > 0 && w.Rand.IntN(10) == 0:
		h.State = eventstore.Closed // no append
	default:
		h.Version += 1 + w.Rand.Int64N(3)
		h.LastTypes = []string{fmt.Sprint("T", h.Version%3)}
	}
	w.Put(mustHave(eventstore.Heads.Encode(&h)))
}

// commits are the appends that the writes of heads were, by aggregate.
func commits(w *foldsim.World) map[eventstore.ID][]eventstore.FeedCommit {
	all, version := map[eventstore.ID][]eventstore.FeedCommit{}, map[eventstore.ID]int64{}
	for _, write := range w.History() {
		h := mustHave(eventstore.Heads.Decode(write.Item))
		if n := h.Version - version[h.ID]; n > 0 {
			all[h.ID] = append(all[h.ID], eventstore.FeedCommit{ID: h.ID, First: version[h.ID] + 1, N: int(n), Types: h.LastTypes})
		}
		version[h.ID] = h.Version
	}
	return all
}

// checkFeed compares the feed with the appends: each has one position, positions have no gaps, and those of an aggregate are in
// its order.
func checkFeed(w *foldsim.World) error {
	want, have, at := commits(w), map[eventstore.ID]int{}, int64(0)
	for _, it := range w.Derived(eventstore.FeedChunks.Name()) {
		chunk := mustHave(eventstore.FeedChunks.Decode(it))
		if first := chunk.Last - int64(len(chunk.Commits)) + 1; first != at+1 {
			return fmt.Errorf("a chunk begins with %d after %d", first, at)
		}
		at = chunk.Last
		for _, c := range chunk.Commits {
			n := have[c.ID]
			if n == len(want[c.ID]) {
				return fmt.Errorf("%v is too much", c)
			}
			if w := want[c.ID][n]; w.First != c.First || w.N != c.N || w.Types[0] != c.Types[0] {
				return fmt.Errorf("%v where %v should be", c, w)
			}
			have[c.ID]++
		}
	}
	for id, cs := range want {
		if have[id] != len(cs) {
			return fmt.Errorf("%d appends to %s of %d", have[id], id, len(cs))
		}
	}
	heads := w.Derived(eventstore.FeedHeads.Name())
	if len(heads) == 1 && mustHave(eventstore.FeedHeads.Decode(heads[0])).Position == at || len(heads) == 0 && at == 0 {
		return nil
	}
	return errors.New("the feed head is elsewhere than the feed")
}

// TestFeedHasEachAppendOnce lets records come again, in other parts, late and to workers that should be dead, while the stream
// rolls its shards and requests fail before and after their effect.
func TestFeedHasEachAppendOnce(t *testing.T) {
	foldsim.Test(t, foldsim.Scenario{Folds: []*fold.Fold{eventstore.FeedFold()}, Write: appendSome, Check: checkFeed}, 200)
}

func mustHave[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
