package table

import (
	"context"
	"errors"
)

// Upsert is Modify for an item that may not exist yet. If it does not, change gets a zero value, sets
// its key and its attributes, and the item is created. If another writer creates, changes or deletes
// the item in between, Upsert starts over, so that neither writer's change is lost.
//
// change may run several times. Errors: ErrImmutable, ErrConflict after 16 attempts, and those returned
// by change, after which nothing is written.
func (e *Entity[T, K]) Upsert(ctx context.Context, t *Table, k K, change func(v *T, exists bool) error) (T, error) {
	for attempt := range maxModifyAttempts {
		var refused error
		v, err := e.Modify(ctx, t, k, func(v *T) error {
			refused = change(v, true)
			return refused
		})
		if refused != nil || !errors.Is(err, ErrNotFound) {
			return v, err
		}
		var created T
		if err := change(&created, false); err != nil {
			return created, err
		}
		if err := e.Create(ctx, t, &created); !errors.Is(err, ErrExists) {
			return created, err
		}
		if err := t.sleep(ctx, retryDelay(attempt)); err != nil {
			return created, e.core.failed("upsert", err)
		}
	}
	var none T
	return none, e.core.failed("upsert", ErrConflict)
}
