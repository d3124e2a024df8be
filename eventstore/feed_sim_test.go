package eventstore_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
)

// appendSome makes an append to one to three aggregates, and writes its entry.
func appendSome(w *foldsim.World) {
	n := len(w.History())
	e := eventstore.FeedEntry{FeedEntryKey: eventstore.FeedEntryKey{Entry: fmt.Sprintf("%09d", n)}}
	for _, o := range w.Rand.Perm(6)[:1+w.Rand.IntN(3)] {
		e.Parts = append(e.Parts, eventstore.FeedPart{
			ID: eventstore.ID{Type: "order", ID: fmt.Sprint("o", o)}, First: int64(n), N: 1 + w.Rand.IntN(3), Types: []string{fmt.Sprint("T", n%3)},
		})
	}
	w.Put(mustHave(eventstore.FeedEntries.Encode(&e)))
}

// checkFeed compares the feed with the appends: it has each of them, complete, once and in order,
// and positions have no gaps.
func checkFeed(w *foldsim.World) error {
	want, at := w.History(), int64(0)
	for _, it := range w.Derived(eventstore.FeedChunks.Name()) {
		chunk := mustHave(eventstore.FeedChunks.Decode(it))
		if first := chunk.Last - int64(len(chunk.Commits)) + 1; first != at+1 {
			return fmt.Errorf("a chunk begins with %d after %d", first, at)
		}
		for _, c := range chunk.Commits {
			if at == int64(len(want)) {
				return fmt.Errorf("%v is too much", c)
			}
			if e := mustHave(eventstore.FeedEntries.Decode(want[at].Item)); !reflect.DeepEqual(e.Parts, c.Parts) {
				return fmt.Errorf("%v at %d where %v should be", c, at+1, e.Parts)
			}
			at++
		}
	}
	if at != int64(len(want)) {
		return fmt.Errorf("%d appends of %d", at, len(want))
	}
	heads := w.Derived(eventstore.FeedHeads.Name())
	if len(heads) == 1 && mustHave(eventstore.FeedHeads.Decode(heads[0])).Position == at || len(heads) == 0 && at == 0 {
		return nil
	}
	return errors.New("the feed head is elsewhere than the feed")
}

// TestFeedHasEachAppendOnce delivers records again, split differently, late, and to workers that
// should be dead. Meanwhile the stream rolls its shards, and requests fail before and after their
// effect.
func TestFeedHasEachAppendOnce(t *testing.T) {
	foldsim.Test(t, foldsim.Scenario{Folds: []*fold.Fold{eventstore.FeedFold()}, Write: appendSome, Check: checkFeed}, 200)
}

func mustHave[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
