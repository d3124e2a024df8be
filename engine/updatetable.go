package engine

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/cockroachdb/pebble/v2"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
)

// UpdateTable changes billing, stream, deletion protection, or one global index of a table. A new index is filled in
// the background: DescribeTable tells when it is ACTIVE.
func (db *DB) UpdateTable(ctx context.Context, in *dynamodb.UpdateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	db.control.Lock()
	defer db.control.Unlock()
	t, err := db.named(in.TableName)
	if err != nil {
		return nil, err
	}
	u := tableUpdate{db: db, t: t, d: t.schema.Load().desc.Clone(), batch: db.store.NewBatch()}
	if err := u.apply(in); err != nil {
		return nil, joinClose(err, u.batch)
	}
	if err := u.commit(); err != nil {
		return nil, err
	}
	desc := db.describe(t)
	desc.TableStatus = types.TableStatusUpdating
	return &dynamodb.UpdateTableOutput{TableDescription: desc}, nil
}

// tableUpdate is a change of a descriptor under way. Whoever makes one holds DB.control.
type tableUpdate struct {
	db      *DB
	t       *table
	d       *catalog.Table
	batch   *pebble.Batch
	stop    bool // the stream ends
	fill    bool // rows are to be made for existing items
	dropped []uint32
}

func (u *tableUpdate) apply(in *dynamodb.UpdateTableInput) error {
	if in.BillingMode == "" && in.ProvisionedThroughput == nil && in.StreamSpecification == nil && in.GlobalSecondaryIndexUpdates == nil &&
		in.DeletionProtectionEnabled == nil && in.TableClass == "" {
		return dynamo.Validation("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
	}
	if err := u.billing(in); err != nil {
		return err
	}
	if in.DeletionProtectionEnabled != nil {
		u.d.Guarded = *in.DeletionProtectionEnabled
	}
	if in.TableClass != "" {
		u.d.Class = in.TableClass
	}
	if err := u.indexes(in); err != nil {
		return err
	}
	return u.stream(in.StreamSpecification)
}

func (u *tableUpdate) billing(in *dynamodb.UpdateTableInput) error {
	if in.BillingMode == "" && in.ProvisionedThroughput == nil {
		return nil
	}
	mode := in.BillingMode
	if mode == "" {
		mode = u.d.Billing
	}
	return u.d.SetBilling(mode, in.ProvisionedThroughput)
}

func (u *tableUpdate) indexes(in *dynamodb.UpdateTableInput) error {
	changes := 0
	for _, g := range in.GlobalSecondaryIndexUpdates {
		switch {
		case g.Create != nil:
			changes++
			if err := u.createIndex(g.Create, in.AttributeDefinitions); err != nil {
				return err
			}
		case g.Delete != nil:
			changes++
			if err := u.deleteIndex(g.Delete.IndexName); err != nil {
				return err
			}
		case g.Update != nil:
			if err := u.resizeIndex(g.Update); err != nil {
				return err
			}
		}
	}
	if changes > 1 {
		msg := "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
		return &types.LimitExceededException{Message: &msg}
	}
	return nil
}

func (u *tableUpdate) createIndex(c *types.CreateGlobalSecondaryIndexAction, defs []types.AttributeDefinition) error {
	var cs request.Members
	catalog.CheckIndex(&cs, "globalSecondaryIndexUpdates.1.member.create", c.IndexName, c.KeySchema, c.Projection)
	if err := cs.Err(); err != nil {
		return err
	}
	known, err := catalog.DefinitionsOf(defs)
	if err != nil {
		return err
	}
	for name, t := range u.d.Keys() {
		switch known.Types[name] {
		case "":
			known.Names, known.Types[name] = append(known.Names, name), t
		case t:
		default:
			return dynamo.Validation("One or more parameter values were invalid: Attribute %s is already defined with another type", name)
		}
	}
	if err := u.d.AddGlobalIndex(c.IndexName, c.KeySchema, c.Projection, c.ProvisionedThroughput, known); err != nil {
		return err
	}
	if n := slices.IndexFunc(u.d.Indexes, func(x catalog.Index) bool { return !x.Local }); len(u.d.Indexes)-n > catalog.MaxGlobalIndexes {
		msg := "Subscriber limit exceeded: GlobalSecondaryIndex count exceeds the per-table limit of 20"
		return &types.LimitExceededException{Message: &msg}
	}
	x := &u.d.Indexes[len(u.d.Indexes)-1]
	x.ID, x.Building, u.fill = u.db.takeID(), true, true
	return nil
}

func (u *tableUpdate) findIndex(name *string) (int, error) {
	if name == nil {
		var c request.Members
		c.AddNull("globalSecondaryIndexUpdates.1.member.indexName")
		return 0, c.Err()
	}
	i := slices.IndexFunc(u.d.Indexes, func(x catalog.Index) bool { return !x.Local && x.Name == *name })
	if i < 0 {
		msg := "Requested resource not found"
		return 0, &types.ResourceNotFoundException{Message: &msg}
	}
	return i, nil
}

func (u *tableUpdate) deleteIndex(name *string) error {
	i, err := u.findIndex(name)
	if err != nil {
		return err
	}
	u.dropped = append(u.dropped, u.d.Indexes[i].ID)
	u.d.Indexes = slices.Delete(u.d.Indexes, i, i+1)
	return nil
}

func (u *tableUpdate) resizeIndex(c *types.UpdateGlobalSecondaryIndexAction) error {
	i, err := u.findIndex(c.IndexName)
	if err != nil || c.ProvisionedThroughput == nil {
		return err
	}
	if p := c.ProvisionedThroughput; p.ReadCapacityUnits != nil && p.WriteCapacityUnits != nil {
		u.d.Indexes[i].Read, u.d.Indexes[i].Write = *p.ReadCapacityUnits, *p.WriteCapacityUnits
	}
	return nil
}

func (u *tableUpdate) stream(spec *types.StreamSpecification) error {
	switch {
	case spec == nil:
	case request.IsTrue(spec.StreamEnabled):
		if u.d.Stream != 0 {
			return dynamo.Validation("Table already has an enabled stream: TableName: %s", u.d.Name)
		}
		return u.db.openStream(u.batch, u.d, spec.StreamViewType)
	case u.d.Stream == 0:
		return dynamo.Validation("Table is already disabled for streams: TableName: %s", u.d.Name)
	case spec.StreamViewType != "":
		return dynamo.Validation("One or more parameter values were invalid: UpdateStreamEnabled is false, but StreamViewType is specified")
	default:
		u.stop = true
	}
	return nil
}

// commit writes the descriptor and publishes the schema while no write is under way, then starts the backfill.
func (u *tableUpdate) commit() error {
	u.t.gate.Lock()
	defer u.t.gate.Unlock()
	if u.stop {
		if err := u.db.closeStream(u.batch, u.d); err != nil {
			return joinClose(err, u.batch)
		}
	}
	for _, id := range u.dropped {
		prefix := row.AppendIndexPrefix(nil, u.d.ID, id)
		if err := u.batch.DeleteRange(prefix, row.UpperBound(prefix), nil); err != nil {
			return joinClose(err, u.batch)
		}
	}
	if u.d.TTL == "" {
		prefix := binary.BigEndian.AppendUint32([]byte{row.SpaceExpiry}, u.d.ID)
		if err := u.batch.DeleteRange(prefix, row.UpperBound(prefix), nil); err != nil {
			return joinClose(err, u.batch)
		}
	}
	if err := u.db.putTable(u.batch, u.d); err != nil {
		return err
	}
	u.db.publish(u.t, u.d)
	if u.fill {
		u.db.startBackfill(u.t)
	}
	return nil
}

// publish makes a descriptor the table's schema. The caller holds the table's gate for writing.
func (db *DB) publish(t *table, d *catalog.Table) {
	t.schema.Store(newSchema(t, d, (*db.streams.Load())[d.Stream], db.tableARN(d.Name)))
}
