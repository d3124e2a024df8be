package analytics

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// Rewrite is what EventsIn.Rewrite does with a stored event.
type Rewrite int

const (
	Leave  Rewrite = iota // keep it as it is
	Change                // store it with changed Goals or Erased
	Drop                  // remove it
)

// notedBlock is the part of a stored block that a rewrite patches; other attributes stay.
type notedBlock struct {
	BlockKey
	Body  []byte `dynamodbav:"body"`
	Count int    `dynamodbav:"count"`
	Last  int64  `dynamodbav:"last"`
}

var (
	notedBlocks = table.Define[notedBlock, BlockKey](Blocks.Name(), table.Def[notedBlock]{PK: eventPK, SK: blockSK})
	notedBody   = table.FieldOf(notedBlocks, func(b *notedBlock) *[]byte { return &b.Body })
	notedCount  = table.FieldOf(notedBlocks, func(b *notedBlock) *int { return &b.Count })
	notedLast   = table.FieldOf(notedBlocks, func(b *notedBlock) *int64 { return &b.Last })
)

// rewriteTries limits the attempts on a block that other writers keep changing.
const rewriteTries = 16

// Rewrite calls change for each selected event and stores the result. change may be called again
// for an event if another writer changed its block. Rewrite returns the number of events changed or
// dropped. It skips damaged blocks and returns their errors at the end. Errors: ErrDamaged,
// table.ErrConflict, those of the store and of change.
func (in EventsIn) Rewrite(ctx context.Context, t *table.Table, change func(*Event) (Rewrite, error)) (n int64, err error) {
	var damaged error
	for b, err := range in.Blocks(ctx, t) {
		if err != nil {
			return n, err
		}
		changed, err := in.rewrite(ctx, t, &b, change)
		n += changed
		if errors.Is(err, ErrDamaged) {
			damaged = errors.Join(damaged, err)
		} else if err != nil {
			return n, fmt.Errorf("analytics: rewrite block %s: %w", b.BlockID, err)
		}
	}
	return n, damaged
}

// rewrite stores a block again if any of its events changed, on condition that its body did not.
func (in EventsIn) rewrite(ctx context.Context, t *table.Table, b *Block, change func(*Event) (Rewrite, error)) (n int64, err error) {
	for range rewriteTries {
		unchanged := notedBody.Eq(b.Body)
		n, err := in.change(b, change)
		switch {
		case err != nil || n == 0:
			return 0, err
		case b.Count == 0:
			err = notedBlocks.Delete(ctx, t, b.BlockKey, unchanged)
		default:
			_, err = notedBlocks.Patch(ctx, t, b.BlockKey, notedBody.Set(b.Body), notedCount.Set(b.Count), notedLast.Set(b.Last), table.If[notedBlock](unchanged))
		}
		if !errors.Is(err, table.ErrCondition) {
			return n, gone(err)
		}
		if *b, err = Blocks.Get(ctx, t, b.BlockKey); err != nil {
			return 0, gone(err)
		}
	}
	return 0, table.ErrConflict
}

// gone ignores that a block expired in the meantime.
func gone(err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// change applies the changes to a block in memory and returns their number. A block without events
// keeps its old body: it is to be deleted.
func (in EventsIn) change(b *Block, change func(*Event) (Rewrite, error)) (n int64, err error) {
	events, err := b.Events()
	if err != nil {
		return 0, err
	}
	keep := events[:0]
	for i := range events {
		e := &events[i]
		what := Leave
		if in.wants(e) {
			if what, err = change(e); err != nil {
				return 0, err
			}
		}
		if what != Leave {
			n++
		}
		if what != Drop {
			keep = append(keep, *e)
		}
	}
	b.Count = len(keep)
	if n == 0 || len(keep) == 0 {
		return n, nil
	}
	body, err := eventBlocks.Append(nil, keep)
	if err != nil {
		return 0, err
	}
	if len(body) > maxBlockBytes-1<<10 {
		return 0, fmt.Errorf("the remaining %d events would take %d bytes", len(keep), len(body))
	}
	b.Body, b.Last = body, timeIn(keep[len(keep)-1].EventID)
	return n, nil
}
