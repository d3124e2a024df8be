package analytics

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// Rewrite is what becomes of an event that is stored.
type Rewrite int

// What may become of it.
const (
	Leave  Rewrite = iota // it stays as it is
	Change                // its Goals or Erased have changed
	Drop                  // it is taken out
)

// notedBlock is the part of a stored block that is changed later: which goals its events reach, and that they are taken back.
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

// rewriteTries bounds how often a block is begun again because another writer was faster.
const rewriteTries = 16

// Rewrite writes events again that are stored: change is asked of each, more than once if others write the same block meanwhile, and
// changes it. It returns how many were changed or taken out. A damaged block stays as it is: the others are rewritten, and the error is
// returned at the end. Errors: ErrDamaged, table.ErrConflict, those of the store and of change.
func (in EventsIn) Rewrite(ctx context.Context, t *table.Table, change func(*Event) (Rewrite, error)) (n int64, err error) {
	var damaged error
	for b, err := range in.blocks(ctx, t) {
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

// rewrite writes one block again, if anything of it is to be changed.
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

// gone takes it for no error that a block has expired meanwhile.
func gone(err error) error {
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// change changes n events of a block in memory. One without events has no body any more.
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
		return 0, fmt.Errorf("its %d events would take %d bytes", len(keep), len(body))
	}
	b.Body, b.Last = body, timeIn(keep[len(keep)-1].EventID)
	return n, nil
}
