package subscription

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// createRecord creates a subscription, unless there is one with its name, and returns what is stored.
// Before that it deletes what an interrupted deletion has left, which would belong to the new one.
func createRecord(ctx context.Context, t *table.Table, r Record) (stored Record, created bool, err error) {
	stored, err = Records.Get(ctx, t, r.Key)
	if !errors.Is(err, table.ErrNotFound) {
		return stored, false, err
	}
	if _, err = deleteProgress(ctx, t, r.Name); err == nil {
		err = Records.Create(ctx, t, &r)
	}
	if errors.Is(err, table.ErrExists) { // another process was faster
		stored, err = Records.Get(ctx, t, r.Key)
		return stored, false, err
	}
	return r, err == nil, err
}

// Delete deletes a subscription with its parked events, and what an interrupted deletion has left. A
// process that still runs it ends with ErrNotFound. Errors: ErrNotFound, those of the store.
func Delete(ctx context.Context, s *eventstore.Store, name string) error {
	deleted := Records.Delete(ctx, s.Table(), Key{name}, table.Present())
	if deleted != nil && !errors.Is(deleted, table.ErrCondition) {
		return notFound(name, deleted)
	}
	left, err := deleteProgress(ctx, s.Table(), name) // consumers are fenced from here on
	switch {
	case err != nil && !errors.Is(err, table.ErrExists): // ErrExists: a new subscription has begun without the old progress
		return fmt.Errorf("subscription %s: delete: %w", name, err)
	case deleted != nil && left == 0:
		return notFound(name, table.ErrNotFound)
	}
	return nil
}

// deleteProgress deletes the partitions and the parked events of a name that has no record, and
// returns their number. Errors: table.ErrExists if a subscription with the name is created meanwhile.
func deleteProgress(ctx context.Context, t *table.Table, name string) (n int, err error) {
	tx := table.NewTx(t, "")
	commit := func() error {
		n += tx.Len()
		Records.TxCheck(tx, Key{name}, table.Absent())
		err := tx.Commit(ctx)
		if errors.Is(err, table.ErrCondition) {
			err = fmt.Errorf("%w: %q", table.ErrExists, name)
		}
		tx = table.NewTx(t, "")
		return err
	}
	for p, err := range PartitionsOf.All(ctx, t, Key{name}) {
		if err != nil {
			return n, err
		}
		Partitions.TxDelete(tx, p.PartitionKey) // at most maxPartitions
	}
	if tx.Len() > 0 {
		err = commit()
	}
	for p, failed := range ParkedOf.All(ctx, t, Key{name}) {
		if err = cmp.Or(err, failed); err != nil {
			return n, err
		}
		if ParkedEvents.TxDelete(tx, p.ParkedKey); tx.Len() == parkAtOnce {
			err = commit()
		}
	}
	if err == nil && tx.Len() > 0 {
		err = commit()
	}
	return n, err
}
