package fold_test

import (
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

type sackKey struct {
	ID string `dynamodbav:"id"`
}

type sack struct {
	sackKey
	Letters int `dynamodbav:"letters"`
}

type sackWindowKey struct {
	Span string `dynamodbav:"span"`
	Part string `dynamodbav:"part"`
}

type sackWindow struct {
	sackWindowKey
	fold.Window
}

type letter struct {
	sack string
	nth  int
	at   int64
}

// arrival is one of the letters of a sack. The letters of a sack share memory.
type arrival struct{ *letter }

type lettersKey struct {
	Name string `dynamodbav:"name"`
}

type letters struct {
	lettersKey
	N int `dynamodbav:"n"`
}

var (
	sacks       = table.Define[sack, sackKey]("test.sack", table.Def[sack]{PK: "POST", SK: "SACK#{id}"})
	sackWindows = table.Define[sackWindow, sackWindowKey]("test.sackwindow", table.Def[sackWindow]{
		PK: "POST", SK: fold.WindowSK, Expires: func(w *sackWindow) time.Time { return w.Expiry() },
	})
	lettersOf = table.Define[letters, lettersKey]("test.letters", table.Def[letters]{PK: "LETTERS", SK: "OF#{name}"})
)

// TestFlushedFactsAreNotKept checks that a worker remembers which facts it has counted, span by
// span, but keeps no fact in memory after its flush.
func TestFlushedFactsAreNotKept(t *testing.T) {
	const spans, each = 20, 50
	var decoded []weak.Pointer[letter]
	facts := fold.Once(fold.Each(sacks, 100, func(c fold.Typed[sack]) (iter.Seq2[int, arrival], error) {
		if c.New == nil {
			return func(func(int, arrival) bool) {}, nil
		}
		all := make([]letter, c.New.Letters)
		decoded = append(decoded, weak.Make(&all[0]))
		var span int
		_, err := fmt.Sscanf(c.New.ID, "%d", &span)
		return func(yield func(int, arrival) bool) {
			for i := range all {
				if all[i] = (letter{c.New.ID, i, int64(span) * time.Hour.Milliseconds()}); !yield(i, arrival{&all[i]}) {
					return
				}
			}
		}, err
	}), sackWindows, 10*time.Minute, func(l *arrival) (fold.FactID, bool) {
		return fold.FactID{ID: [16]byte{byte(l.nth)}, At: l.at, Until: 4e9}, true
	}, func(_ *arrival, span, part string) sackWindow {
		return sackWindow{sackWindowKey: sackWindowKey{span, part}}
	})
	count := fold.New("letters", lettersOf, func(into, d *letters) { into.N += d.N },
		fold.OnEach(facts, func(_ *arrival, at func(lettersKey) *letters) error {
			at(lettersKey{"all"}).N++
			return nil
		}))
	w := foldtest.NewWorld(t, foldtest.Setup{
		Schema: table.MustSchema("test.post", sacks, sackWindows, lettersOf), Group: "post", At: time.Unix(1_800_000_000, 0),
		Folds: func(*table.Table) []*fold.Fold { return []*fold.Fold{count} },
	})
	for n := range spans {
		w.Must(sacks.Put(w.Ctx, w.Table, &sack{sackKey{fmt.Sprintf("%02d", n)}, each}))
		w.Drain()
	}
	runtime.GC()
	kept := 0
	for _, p := range decoded {
		if p.Value() != nil {
			kept++
		}
	}
	if len(decoded) != spans || kept > 1 { // the facts of the last flush may stay until the next flush
		t.Errorf("the facts of %d items of %d are still in memory", kept, len(decoded))
	}
	runtime.KeepAlive(w.Worker)
}
