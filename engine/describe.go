package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// DescribeTable describes a table. Its counts are current, including those of indexes. After a
// crash they are outdated until the recount in the background has finished. Counts of a new index
// are 0 until it is ACTIVE.
func (db *DB) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	t, err := db.named(in.TableName)
	if err != nil {
		return nil, err
	}
	return &dynamodb.DescribeTableOutput{Table: db.describe(t)}, nil
}

// named returns the table named in a control request.
func (db *DB) named(name *string) (*table, error) {
	if name == nil {
		return nil, dynamo.Validation("The parameter 'TableName' is required but was not present in the request")
	}
	var c request.Members
	if err := request.CheckTableName(name, &c); err != nil {
		return nil, err
	}
	t := (*db.tables.Load())[request.TableName(name)]
	if t == nil || t.schema.Load() == nil {
		return nil, request.NoTableNamed(request.TableName(name))
	}
	return t, nil
}

func (db *DB) describe(t *table) *types.TableDescription {
	s := t.schema.Load()
	var latest *catalog.Stream
	var arn string
	if st := (*db.streams.Load())[s.desc.Latest]; st != nil {
		latest = st.desc.Load()
		arn = db.streamARN(latest)
	}
	return s.desc.Describe(s.arn, t.counts(), s.indexCounts(), latest, arn)
}

// ListTables returns the names of tables in ascending order, at most 100 per page.
func (db *DB) ListTables(ctx context.Context, in *dynamodb.ListTablesInput, _ ...func(*dynamodb.Options)) (*dynamodb.ListTablesOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	return request.PageOfTables(in, slices.Sorted(maps.Keys(*db.tables.Load())))
}

// DeleteTable deletes a table with its items and indexes. Its stream remains readable until it is
// trimmed.
func (db *DB) DeleteTable(ctx context.Context, in *dynamodb.DeleteTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error) {
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
	desc := db.describe(t)
	desc.TableStatus = types.TableStatusDeleting
	t.gate.Lock()
	defer t.gate.Unlock()
	d := t.schema.Load().desc
	if d.Guarded {
		return nil, dynamo.Validation("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	if err := db.store.Admit(store.Shrinkage, 0); err != nil {
		return nil, fmt.Errorf("engine: delete table: %w", err)
	}
	if err := db.dropTable(d); err != nil {
		return nil, err
	}
	db.setTable(d.Name, nil)
	t.schema.Store(nil)
	return &dynamodb.DeleteTableOutput{TableDescription: desc}, nil
}

// dropTable deletes the rows of a table.
func (db *DB) dropTable(d *catalog.Table) error {
	batch := db.store.NewBatch()
	if err := batch.Delete(row.TableKey(d.Name), nil); err != nil {
		return joinClose(err, batch)
	}
	for _, of := range []byte{countItems, countEntries} {
		if err := batch.Delete(countKey(of, d.ID), nil); err != nil {
			return joinClose(err, batch)
		}
	}
	for _, space := range []byte{row.SpaceItem, row.SpaceIndex, row.SpaceExpiry} {
		prefix := binary.BigEndian.AppendUint32([]byte{space}, d.ID)
		if err := batch.DeleteRange(prefix, row.UpperBound(prefix), nil); err != nil {
			return joinClose(err, batch)
		}
	}
	if err := db.closeStream(batch, d); err != nil {
		return joinClose(err, batch)
	}
	return db.commitControl(batch)
}

// closeStream ends the table's stream. The caller must hold control and the table's gate for
// writing.
func (db *DB) closeStream(batch *pebble.Batch, d *catalog.Table) error {
	st := (*db.streams.Load())[d.Stream]
	if st == nil {
		return nil
	}
	db.order.Lock()
	ended := st.desc.Load().Ended(db.seq, db.now().UnixMilli())
	db.order.Unlock()
	if err := putStream(batch, ended); err != nil {
		return err
	}
	st.desc.Store(ended)
	d.Stream = 0
	return nil
}
