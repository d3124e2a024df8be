package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/table"
)

var rulesShards = table.FieldOf(TableRules, func(r *Rules) *int { return &r.TypeShards })

// TypeShards returns the TypeIn.Shards that covers the events of all stores on the table: the
// largest Options.TypeShards of this store and of those that have appended. Errors: those of the
// table.
func (s *Store) TypeShards(ctx context.Context) (int, error) {
	r, err := RulesNow.Get(ctx, s.t, RulesKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return 0, fmt.Errorf("eventstore: how types are spread: %w", err)
	}
	return max(r.TypeShards, s.o.TypeShards), nil
}

// recordShards records the store's TypeShards before its first append, so that readers with other
// options read every partition. The number never decreases, because events stay where they are.
func (s *Store) recordShards(ctx context.Context, r *Rules) error {
	if s.o.TypeShards <= max(r.TypeShards, 1) {
		return nil
	}
	_, err := TableRules.Patch(ctx, s.t, RulesKey{}, rulesShards.Set(s.o.TypeShards),
		table.If[Rules](table.Or(rulesShards.Missing(), rulesShards.Lt(s.o.TypeShards))))
	if errors.Is(err, table.ErrCondition) {
		return nil // another store has at least as many
	}
	return err
}
