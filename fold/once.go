package fold

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/fold/internal/window"
	"github.com/onefold/onefold/table"
)

// FactID names a fact, so that it is counted once however often it is sent.
type FactID struct {
	ID    [16]byte
	At    int64 // when it happened, in epoch milliseconds: of one ID always the same
	Until int64 // epoch seconds; at least until then the fact may be sent again; 0: for ever
}

// A Window is embedded in the items that say which facts the items of a partition have had: of one span of time, in one or more
// parts. They are in the partition of these items, under the sort key WindowSK.
type Window struct {
	Known []byte `dynamodbav:"known"` // docs/format/windows.md
	Until int64  `dynamodbav:"until"` // epoch seconds: it is kept until then; 0: for ever
}

// The sort key of windows: span is when it begins, in UTC, and part is of one worker.
const (
	WindowSK     = WindowPrefix + "{span}#{part}"
	WindowPrefix = "WINDOW#"
	WindowLayout = "2006-01-02T15:04Z"
)

// Expiry is when a window may be deleted; zero: never.
func (w *Window) Expiry() time.Time {
	if w.Until <= 0 {
		return time.Time{}
	}
	return time.Unix(w.Until, 0)
}

func (w *Window) window() *Window { return w }

// Each hands over the names of the facts that the window knows. Errors: that of a body that is damaged or of a newer version.
func (w *Window) Each(name func([16]byte)) error {
	entries, err := window.Decode(w.Known)
	for _, e := range entries {
		name(e.ID)
	}
	return err
}

// Windowed is a pointer to an item that embeds a Window.
type Windowed[W any] interface {
	*W
	window() *Window
}

// Once says that a fact may be sent again, in other items of the same partition, and counts only in the item that had it first: in the
// order of the stream. into is the entity of windows, whose items are written by whatever worker reads the facts, and by nothing else.
// name names a fact; one whose name it cannot tell counts wherever it is. of makes the window of a fact, of which only the key counts. A window
// spans so many whole minutes.
//
// The facts of one item must have different names.
func Once[F, W, WK any, P Windowed[W]](facts *Facts[F], into *table.Entity[W, WK], span time.Duration, name func(*F) (FactID, bool), of func(f *F, span, part string) W) *Facts[F] {
	facts.source.once = &once{
		entity: into.Name(),
		span:   max(span.Truncate(time.Minute), time.Minute).Milliseconds(),
		name:   func(f any) (FactID, bool) { return name(f.(*F)) },
		encode: func(f any, span, part string, w Window) (table.Item, error) {
			item := of(f.(*F), span, part)
			*P(&item).window() = w
			return into.Encode(&item)
		},
		decode: func(it table.Item) (*Window, error) {
			item := new(W)
			err := into.DecodeInto(it, item)
			return P(item).window(), err
		},
	}
	return facts
}

// once is what Once declares.
type once struct {
	entity string
	span   int64 // ms
	name   func(fact any) (FactID, bool)
	encode func(fact any, span, part string, w Window) (table.Item, error)
	decode func(it table.Item) (*Window, error)
}

// start is when the window begins that a time is in.
func (o *once) start(at int64) int64 {
	n := at % o.span
	if n < 0 {
		n += o.span
	}
	return at - n
}

func spanName(start int64) string { return time.UnixMilli(start).UTC().Format(WindowLayout) }

// spanKey names a window within a shard.
type spanKey struct {
	once  *once
	pk    string
	start int64
}

// known is a window as a worker holds it: all that is stored, and what it has yet to store.
type known struct {
	spanKey
	set   window.Set
	fact  any // one of fresh, which tells the key; nil: nothing is fresh
	until int64
	used  uint64 // Worker.turns when it was last

	open  openPart
	fresh []window.Entry // not stored yet
	since *noted         // the first change of fresh
	waits time.Time      // since when a flush has left fresh waiting; zero: none has
}

// names are the facts of a change by name, as far as they have one.
func (o *once) names(facts []fact) (ids []FactID, named []bool, err error) {
	ids, named = make([]FactID, len(facts)), make([]bool, len(facts))
	err = guard(func() error {
		for i := range facts {
			ids[i], named[i] = o.name(facts[i].typed)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("name facts: %w", err)
	}
	return ids, named, nil
}
