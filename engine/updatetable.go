package engine

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// UpdateTable changes billing, the stream, deletion protection, or one global index of a table. A
// new index is filled in the background; DescribeTable shows when it is ACTIVE.
func (db *DB) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	db.control.Lock()
	defer db.control.Unlock()
	t, err := db.named(in.TableName)
	if err != nil {
		return nil, err
	}
	c := db.change(t)
	if err := c.Update(in); err != nil {
		return nil, err
	}
	if err := db.commitChange(t, c); err != nil {
		return nil, err
	}
	desc := db.describe(t)
	desc.TableStatus = types.TableStatusUpdating
	return &dynamodb.UpdateTableOutput{TableDescription: desc}, nil
}

// change starts a change of a table. The caller must hold control.
func (db *DB) change(t *table) *catalog.Change {
	return &catalog.Change{Table: t.schema.Load().desc.Clone(), TakeID: db.takeID, Now: db.now().UnixMilli()}
}

// commitChange writes the descriptor and publishes the schema while no write is running, then
// starts the backfill. The caller must hold control.
func (db *DB) commitChange(t *table, c *catalog.Change) error {
	t.gate.Lock()
	defer t.gate.Unlock()
	if err := db.store.Admit(store.Growth, 0); err != nil { // check for room before staging anything
		return fmt.Errorf("engine: change table: %w", err)
	}
	d, batch := c.Table, db.store.NewBatch()
	if err := db.stageChange(batch, c); err != nil {
		return joinClose(err, batch)
	}
	if err := db.putTable(batch, d); err != nil {
		return err
	}
	t.schema.Store(newSchema(t, d, (*db.streams.Load())[d.Stream], db.tableARN(d.Name)))
	if c.Fill {
		db.startBackfill(t)
	}
	return nil
}

// stageChange adds to a batch what a change does besides the descriptor.
func (db *DB) stageChange(batch *pebble.Batch, c *catalog.Change) error {
	d := c.Table
	if c.Open != "" {
		if err := db.openStream(batch, d, c.Open); err != nil {
			return err
		}
	}
	if c.Stop {
		if err := db.closeStream(batch, d); err != nil {
			return err
		}
	}
	for _, id := range c.Dropped {
		prefix := row.AppendIndexPrefix(nil, d.ID, id)
		if err := batch.DeleteRange(prefix, row.UpperBound(prefix), nil); err != nil {
			return err
		}
	}
	if d.TTL != "" {
		return nil
	}
	prefix := binary.BigEndian.AppendUint32([]byte{row.SpaceExpiry}, d.ID)
	return batch.DeleteRange(prefix, row.UpperBound(prefix), nil)
}
