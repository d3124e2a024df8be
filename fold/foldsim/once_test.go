package foldsim_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/fold/internal/window"
	"github.com/onefold/onefold/table"
)

// In this scenario notes come in bags, and a note can be sent again in another bag of its
// partition. It counts once. Notes are taken back, bags are removed, and bags expire.

type BagKey struct {
	Box string `dynamodbav:"box"`
	ID  string `dynamodbav:"id"`
}

type Note struct {
	Name   int    `dynamodbav:"name"` // 0 means that the note has no name
	At     int64  `dynamodbav:"at"`
	Region string `dynamodbav:"region"`
	Amount int    `dynamodbav:"amount"`
	Back   bool   `dynamodbav:"back,omitempty"` // the note was taken back
}

type Bag struct {
	BagKey
	Notes []Note `dynamodbav:"notes"`
	Until int64  `dynamodbav:"until"`
}

type BoxWindowKey struct {
	Box  string `dynamodbav:"box"`
	Span string `dynamodbav:"span"`
	Part string `dynamodbav:"part"`
}

type BoxWindow struct {
	BoxWindowKey
	fold.Window
}

// NoteChange is one note that was added or removed.
type NoteChange struct {
	Note
	Box  string
	Sign int
}

var (
	bags = table.Define[Bag, BagKey]("test.bag", table.Def[Bag]{
		PK: "BOX#{box}", SK: "BAG#{id}", Expires: func(b *Bag) time.Time { return time.Unix(b.Until, 0) },
	})
	boxWindows = table.Define[BoxWindow, BoxWindowKey]("test.window", table.Def[BoxWindow]{
		PK: "BOX#{box}", SK: fold.WindowSK, Expires: func(w *BoxWindow) time.Time { return w.Expiry() },
	})
	notes = fold.Once(fold.Each(bags, 100, func(c fold.Typed[Bag]) (iter.Seq2[int, NoteChange], error) {
		return func(yield func(int, NoteChange) bool) {
			n := 0
			if c.Old != nil {
				n = len(c.Old.Notes)
			}
			if c.New != nil {
				n = max(n, len(c.New.Notes))
			}
			for i := range n {
				was, is := counts(c.Old, i), counts(c.New, i)
				switch {
				case was != nil && is == nil && !yield(i, NoteChange{*was, c.Old.Box, -1}):
					return
				case was == nil && is != nil && !yield(i, NoteChange{*is, c.New.Box, 1}):
					return
				}
			}
		}, nil
	}), boxWindows, 10*time.Minute, func(n *NoteChange) (fold.FactID, bool) {
		return fold.FactID{ID: [16]byte{15: byte(n.Name), 14: byte(n.Name >> 8), 3: byte(n.Name) % 3}, At: n.At, Until: 4e9}, n.Name > 0
	}, func(n *NoteChange, span, part string) BoxWindow {
		return BoxWindow{BoxWindowKey: BoxWindowKey{n.Box, span, part}}
	})
)

// counts returns the n-th note of a bag, or nil if the bag has no such note or the note was taken
// back.
func counts(b *Bag, n int) *Note {
	if b == nil || n >= len(b.Notes) || b.Notes[n].Back {
		return nil
	}
	return &b.Notes[n]
}

func foldNotes() *fold.Fold {
	return fold.New("notes", totals, func(into, d *Total) {
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.OnEach(notes, func(n *NoteChange, at func(TotalKey) *Total) error {
		t := at(TotalKey{n.Region})
		t.Orders += n.Sign
		t.Amount += n.Sign * n.Amount
		return nil
	})).With(fold.Removable(func(t *Total) bool { return t.Orders == 0 }), fold.CacheSize(3))
}

func foldLargestNote() *fold.Fold {
	return fold.New("largest", largest, func(into, d *Largest) {
		into.Seen += d.Seen
		into.Amount = max(into.Amount, d.Amount)
	}, fold.OnEach(notes, func(n *NoteChange, at func(LargestKey) *Largest) error {
		if n.Sign > 0 {
			l := at(LargestKey{Day: n.Box})
			l.Seen++
			l.Amount = max(l.Amount, n.Amount)
		}
		return nil
	}))
}

// noteOf makes a note of a box. A name always stands for the same note.
func noteOf(box string, name int) Note {
	n := (name*7919 + len(box)*31) & 0xffff
	return Note{
		Name: name, At: 1_700_000_000_000 + int64(n%40)*180_000, // spans two hours
		Region: []string{"eu-1", "eu-2", "us-1", "as-1"}[n%4], Amount: 1 + n%unlucky,
	}
}

func writeBags(w *foldsim.World) {
	r := w.Rand
	if before := w.History(); len(before) > 0 && r.IntN(4) == 0 { // change a bag that exists
		it := w.Get(before[r.IntN(len(before))].Key)
		if it == nil {
			return
		}
		b := must(bags.Decode(it))
		if len(b.Notes) == 0 || r.IntN(6) == 0 {
			w.Delete(must(bags.Key(b.BagKey)))
			return
		}
		b.Notes[r.IntN(len(b.Notes))].Back = true
		w.Put(must(bags.Encode(&b)))
		return
	}
	b := Bag{BagKey: BagKey{[]string{"a", "b"}[r.IntN(2)], fmt.Sprintf("%04d", len(w.History()))}, Until: w.Now().Unix() + r.Int64N(400_000)}
	for range r.IntN(6) { // many of them were sent before
		if n := noteOf(b.Box, r.IntN(40)); n.Name == 0 || !slices.Contains(b.Notes, n) {
			b.Notes = append(b.Notes, n)
		}
	}
	w.Put(must(bags.Encode(&b)))
}

// checkNotes recomputes by hand what the folds derive.
func checkNotes(w *foldsim.World) error {
	type name struct {
		box  string
		name int
	}
	type place struct {
		bag string
		nth int
	}
	first, live := map[name]place{}, map[string]*Bag{}
	wantTotals, wantLargest := map[string]Total{}, map[string]Largest{}
	add := func(n *Note, sign int) {
		t := wantTotals[n.Region]
		wantTotals[n.Region] = Total{TotalKey{n.Region}, t.Orders + sign, t.Amount + sign*n.Amount}
	}
	for _, h := range w.History() {
		id := h.Key["pk"].(*types.AttributeValueMemberS).Value + h.Key["sk"].(*types.AttributeValueMemberS).Value
		was := live[id]
		var is *Bag
		if h.Item != nil {
			b := must(bags.Decode(h.Item))
			is = &b
		}
		n, box := 0, ""
		for _, b := range []*Bag{was, is} {
			if b != nil {
				n, box = len(b.Notes), b.Box
			}
		}
		for i := range n {
			before, after := counts(was, i), counts(is, i)
			if (before == nil) == (after == nil) || h.Expired {
				continue
			}
			note, sign := before, -1
			if after != nil {
				note, sign = after, 1
			}
			at, here := name{box, note.Name}, place{id, i}
			if _, known := first[at]; !known && note.Name > 0 {
				first[at] = here
			}
			if note.Name > 0 && first[at] != here {
				continue
			}
			add(note, sign)
			if l := wantLargest[box]; sign > 0 {
				wantLargest[box] = Largest{LargestKey{Day: box}, l.Seen + 1, max(l.Amount, note.Amount)}
			}
		}
		live[id] = is
	}
	for region, t := range wantTotals {
		if t.Orders == 0 {
			delete(wantTotals, region)
		}
	}
	return errors.Join(
		same(w, totals, wantTotals, func(t Total) string { return t.Region }),
		same(w, largest, wantLargest, func(l Largest) string { return l.Day }),
	)
}

// TestRepeatedFacts checks that a fact that is sent again counts once, whichever requests a
// crash separates.
func TestRepeatedFacts(t *testing.T) {
	t.Parallel()
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldNotes(), foldContinents(), foldLargestNote()},
		Write: writeBags,
		Check: checkNotes,
		Known: 40,
	}, 250)
}

// TestRepeatedHeldFacts is the same test with items and windows that wait for several
// flushes.
func TestRepeatedHeldFacts(t *testing.T) {
	t.Parallel()
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldNotes().With(fold.Hold(300 * time.Millisecond)), foldContinents(), foldLargestNote().With(fold.Hold(20 * time.Millisecond))},
		Write: writeBags,
		Check: checkNotes,
		Known: 1 << 20,
	}, 250)
}

// TestSimulationCatchesPlainSets shows that the simulation detects windows that do not store which
// item had a fact first.
func TestSimulationCatchesPlainSets(t *testing.T) {
	t.Parallel()
	caught := 0
	const seeds = 60
	for seed := range uint64(seeds) {
		err := foldsim.Run(foldsim.Scenario{
			Folds: []*fold.Fold{foldNotes(), foldContinents(), foldLargestNote()},
			Write: writeBags,
			Check: checkNotes,
			Known: 40,
			Spoil: forgetItems,
		}, seed+1)
		switch {
		case err == nil:
		case strings.HasPrefix(err.Error(), "derived items are not"):
			caught++
		default:
			t.Errorf("seed %d: %v", seed+1, err)
		}
	}
	if caught < seeds/3 {
		t.Errorf("plain sets were caught with %d of %d seeds only", caught, seeds)
	}
}

// forgetItems turns a stored window into a plain set, by removing the items from it.
func forgetItems(it table.Item) {
	if it["et"].(*types.AttributeValueMemberS).Value != boxWindows.Name() {
		return
	}
	entries := must(window.Decode(it["known"].(*types.AttributeValueMemberB).Value))
	for i := range entries {
		entries[i].Item = "some item"
	}
	it["known"] = &types.AttributeValueMemberB{Value: window.Encode(entries)}
}
