package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
)

// CreateTable creates a table. It is usable when the call returns, although the response says
// CREATING, as DynamoDB's does.
func (db *DB) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	call, err := begin(ctx, db, &in)
	if err != nil {
		return nil, err
	}
	defer call.End()
	c, err := catalog.NewTable(in)
	if err != nil {
		return nil, err
	}
	d := c.Table
	db.control.Lock()
	defer db.control.Unlock()
	if (*db.tables.Load())[d.Name] != nil {
		return nil, request.TableExists(d.Name)
	}
	if err := db.store.Admit(store.Growth, 0); err != nil { // check for room before staging anything
		return nil, fmt.Errorf("engine: create table: %w", err)
	}
	now := db.now().UnixMilli()
	d.ID, d.Created, d.UUID = db.takeID(), now, catalog.NewUUID()
	for i := range d.Indexes {
		d.Indexes[i].ID = db.takeID()
	}
	batch := db.store.NewBatch()
	if c.Open != "" {
		if err := db.openStream(batch, d, c.Open); err != nil {
			return nil, joinClose(err, batch)
		}
	}
	if err := db.putTable(batch, d); err != nil {
		return nil, err
	}
	db.setTable(d.Name, db.newTable(d))
	desc := db.describe((*db.tables.Load())[d.Name])
	desc.TableStatus = types.TableStatusCreating
	return &dynamodb.CreateTableOutput{TableDescription: desc}, nil
}

// takeID returns an ID that was never used. The caller must hold control, and commit with putTable.
func (db *DB) takeID() uint32 {
	id := db.nextID
	db.nextID++
	return id
}

// putTable writes a descriptor and the next ID, and waits until they are on disk. It closes the
// batch.
func (db *DB) putTable(batch *pebble.Batch, d *catalog.Table) error {
	v, err := d.Encode()
	if err != nil {
		return joinClose(err, batch)
	}
	if err := batch.Set(row.TableKey(d.Name), v, nil); err != nil {
		return joinClose(err, batch)
	}
	if f := d.Format(); f > db.format {
		if err := batch.Set(row.KeyFormat, []byte{f}, nil); err != nil {
			return joinClose(err, batch)
		}
		db.format = f
	}
	return db.commitControl(batch)
}

// commitControl commits a change of descriptors, for which there must be room, and closes the
// batch.
func (db *DB) commitControl(batch *pebble.Batch) error {
	err := batch.Set(row.KeyIDs, binary.BigEndian.AppendUint64(nil, uint64(db.nextID)), nil)
	if err == nil {
		err = db.store.Apply(batch, db.writeSync())
	}
	if err = joinClose(err, batch); err != nil {
		return fmt.Errorf("engine: change tables: %w", err)
	}
	return nil
}

// openStream adds a new stream to a descriptor and to the batch, and publishes it. The caller must
// hold control.
func (db *DB) openStream(batch *pebble.Batch, d *catalog.Table, view types.StreamViewType) error {
	now := db.now()
	db.order.Lock()
	first := db.seq + 1
	db.order.Unlock()
	sd := &catalog.Stream{
		ID: db.takeID(), Table: d.Name, View: view, Created: now.UnixMilli(), Hash: d.Hash, Range: d.Range,
		Label: streamLabel(now, *db.streams.Load(), d.Name), NextID: 1,
	}
	for slot := range db.o.StreamShards {
		sd.Shards = append(sd.Shards, catalog.Shard{ID: sd.NextID, Slot: slot, First: first, Opened: now.UnixMilli()})
		sd.NextID++
	}
	if err := putStream(batch, sd); err != nil {
		return err
	}
	d.Stream, d.Latest = sd.ID, sd.ID
	db.setStream(newStream(sd))
	return nil
}

// streamLabel returns the creation time as a label, moved forward if a stream of the table already
// has that label.
func streamLabel(now time.Time, streams map[uint32]*stream, table string) string {
	for {
		label := now.UTC().Format("2006-01-02T15:04:05.000")
		taken := false
		for _, st := range streams {
			d := st.desc.Load()
			taken = taken || d.Table == table && d.Label == label
		}
		if !taken {
			return label
		}
		now = now.Add(time.Millisecond)
	}
}
