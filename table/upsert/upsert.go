// Package upsert changes items that may not exist yet.
package upsert

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

// maxAttempts limits how often Item starts over because the item was created or deleted meanwhile.
const maxAttempts = 16

// Item is Entity.Modify for an item that may not exist yet. If it does not, change gets a zero value,
// sets its key and its attributes, and the item is created. If another writer creates, changes or
// deletes the item meanwhile, Item starts over, so that neither writer's change is lost.
//
// change may run several times. Errors: table.ErrImmutable, table.ErrConflict after 16 attempts, and
// those returned by change, after which nothing is written.
func Item[T, K any](ctx context.Context, t *table.Table, e *table.Entity[T, K], k K, change func(v *T, exists bool) error) (v T, err error) {
	for range maxAttempts {
		var refused error
		v, err = e.Modify(ctx, t, k, func(v *T) error {
			refused = change(v, true)
			return refused
		})
		if refused != nil || !errors.Is(err, table.ErrNotFound) {
			return v, err
		}
		var created T
		if err := change(&created, false); err != nil {
			return created, err
		}
		if err := e.Create(ctx, t, &created); !errors.Is(err, table.ErrExists) {
			return created, err
		}
	}
	return v, fmt.Errorf("upsert %s: %w", e.Name(), table.ErrConflict)
}
