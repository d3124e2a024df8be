package fold

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/fold/internal/window"
	"github.com/onefold/onefold/table"
)

// FactID names a fact so that it is counted once, no matter how often it is sent.
type FactID struct {
	ID    [16]byte
	At    int64 // when it happened, in epoch milliseconds; always the same for an ID
	Until int64 // epoch seconds: the fact may be repeated at least until then; 0 means forever
}

// A Window is embedded in items that record which facts a partition has had in one span of time. A
// window consists of one or more parts, stored in the partition of the facts' items under the sort
// key WindowSK.
type Window struct {
	Known []byte `dynamodbav:"known"` // see docs/format/windows.md
	Until int64  `dynamodbav:"until"` // epoch seconds when it may be deleted; 0 means never
}

// The sort key of windows. span is the start of the time span in UTC, and part identifies a part,
// which one worker writes.
const (
	WindowSK     = WindowPrefix + "{span}#{part}"
	WindowPrefix = "WINDOW#"
	WindowLayout = "2006-01-02T15:04Z"
)

// Expiry returns when a window may be deleted; zero means never.
func (w *Window) Expiry() time.Time {
	if w.Until <= 0 {
		return time.Time{}
	}
	return time.Unix(w.Until, 0)
}

func (w *Window) window() *Window { return w }

// Each calls name for every fact that the window contains. It returns an error if the body is
// damaged or has a newer version.
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

// Once declares that a fact may be sent again, in other items of the same partition, and counts
// only in the item that had it first in stream order.
//
// into is the entity of windows. Only workers that read the facts write its items. name returns the
// ID of a fact; if it reports false, the fact counts wherever it occurs. of makes the window of a
// fact, of which only the key matters. span is the length of a window, truncated to minutes, at
// least one.
//
// The facts of one item must have different IDs.
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

// once is the declaration made by Once.
type once struct {
	entity string
	span   int64 // ms
	name   func(fact any) (FactID, bool)
	encode func(fact any, span, part string, w Window) (table.Item, error)
	decode func(it table.Item) (*Window, error)
}

// start returns the start of the window that contains a time.
func (o *once) start(at int64) int64 {
	n := at % o.span
	if n < 0 {
		n += o.span
	}
	return at - n
}

func spanName(start int64) string { return time.UnixMilli(start).UTC().Format(WindowLayout) }

// spanKey identifies a window within a shard.
type spanKey struct {
	once  *once
	pk    string
	start int64
}

// loadedWindow is a window in a worker's memory: everything stored, and what is still to be stored.
type loadedWindow struct {
	spanKey
	set   window.Set
	fact  any // one of the fresh facts, used to make the key; nil if nothing is fresh
	until int64
	used  uint64 // Worker.turns at its last use

	open  openPart
	fresh []window.Entry // entries not stored yet
	since *sourceChange  // the change with the first entry of fresh
	waits time.Time      // when a flush first left fresh waiting; zero if none has
}

// factIDs returns the IDs of the facts of a change, and which of them have one.
func (o *once) factIDs(facts []fact) (ids []FactID, named []bool, err error) {
	ids, named = make([]FactID, len(facts)), make([]bool, len(facts))
	err = catchPanic(func() error {
		for i := range facts {
			ids[i], named[i] = o.name(facts[i].typed)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("compute the names of facts: %w", err)
	}
	return ids, named, nil
}
