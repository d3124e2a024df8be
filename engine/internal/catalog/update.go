package catalog

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// Change is a change of a table under way.
type Change struct {
	Table   *Table               // as it will be
	TakeID  func() uint32        // returns an id that was never used
	Dropped []uint32             // indexes that go
	Fill    bool                 // rows are to be made for existing items
	Open    types.StreamViewType // a stream of this view begins; "" for none
	Stop    bool                 // the stream ends
}

// Update makes the changes that an UpdateTable asks for.
func (c *Change) Update(in *dynamodb.UpdateTableInput) error {
	if in.BillingMode == "" && in.ProvisionedThroughput == nil && in.StreamSpecification == nil && in.GlobalSecondaryIndexUpdates == nil &&
		in.DeletionProtectionEnabled == nil && in.TableClass == "" {
		return request.Invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
	}
	if err := c.billing(in); err != nil {
		return err
	}
	if in.DeletionProtectionEnabled != nil {
		c.Table.Guarded = *in.DeletionProtectionEnabled
	}
	if in.TableClass != "" {
		c.Table.Class = in.TableClass
	}
	if err := c.indexes(in); err != nil {
		return err
	}
	return c.stream(in.StreamSpecification)
}

func (c *Change) billing(in *dynamodb.UpdateTableInput) error {
	if in.BillingMode == "" && in.ProvisionedThroughput == nil {
		return nil
	}
	mode := in.BillingMode
	if mode == "" {
		mode = c.Table.Billing
	}
	before := *c.Table
	if err := c.Table.SetBilling(mode, in.ProvisionedThroughput); err != nil {
		return err
	}
	if mode == types.BillingModeProvisioned && before.Billing == mode && before.Read == c.Table.Read && before.Write == c.Table.Write {
		return request.Invalid("The provisioned throughput for the table will not change. The requested value equals the current value. "+
			"Current ReadCapacityUnits provisioned for the table: %d. Requested ReadCapacityUnits: %d. "+
			"Current WriteCapacityUnits provisioned for the table: %d. Requested WriteCapacityUnits: %d. "+
			"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.",
			before.Read, c.Table.Read, before.Write, c.Table.Write)
	}
	return nil
}

func (c *Change) indexes(in *dynamodb.UpdateTableInput) error {
	changes := 0
	for _, g := range in.GlobalSecondaryIndexUpdates {
		switch {
		case g.Create != nil:
			changes++
			if err := c.createIndex(g.Create, in.AttributeDefinitions); err != nil {
				return err
			}
		case g.Delete != nil:
			changes++
			if err := c.deleteIndex(g.Delete.IndexName); err != nil {
				return err
			}
		case g.Update != nil:
			if err := c.resizeIndex(g.Update); err != nil {
				return err
			}
		}
	}
	if changes > 1 {
		return request.LimitExceeded("Only 1 online index can be created or deleted simultaneously per table")
	}
	return nil
}

func (c *Change) createIndex(in *types.CreateGlobalSecondaryIndexAction, defs []types.AttributeDefinition) error {
	var cs request.Members
	checkIndex(&cs, "globalSecondaryIndexUpdates.1.member.create", in.IndexName, in.KeySchema, in.Projection)
	if err := cs.Err(); err != nil {
		return err
	}
	known, err := definitionsOf(defs)
	if err != nil {
		return err
	}
	for name, t := range c.Table.Keys() {
		switch known.types[name] {
		case "":
			known.names, known.types[name] = append(known.names, name), t
		case t:
		default:
			return request.Invalid("One or more parameter values were invalid: Attribute %s is already defined with another type", name)
		}
	}
	if err := c.Table.addGlobalIndex(in.IndexName, in.KeySchema, in.Projection, in.ProvisionedThroughput, known); err != nil {
		return err
	}
	all := c.Table.Indexes
	if n := slices.IndexFunc(all, func(x Index) bool { return !x.Local }); len(all)-n > maxGlobalIndexes {
		return request.LimitExceeded("GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	x := &all[len(all)-1]
	x.ID, x.Building, c.Fill = c.TakeID(), true, true
	return nil
}

func (c *Change) findIndex(name *string) (int, error) {
	if name == nil {
		var cs request.Members
		cs.AddNull("globalSecondaryIndexUpdates.1.member.indexName")
		return 0, cs.Err()
	}
	i := slices.IndexFunc(c.Table.Indexes, func(x Index) bool { return !x.Local && x.Name == *name })
	if i < 0 {
		return 0, request.NoTable()
	}
	return i, nil
}

func (c *Change) deleteIndex(name *string) error {
	i, err := c.findIndex(name)
	if err != nil {
		return err
	}
	c.Dropped = append(c.Dropped, c.Table.Indexes[i].ID)
	c.Table.Indexes = slices.Delete(c.Table.Indexes, i, i+1)
	return nil
}

func (c *Change) resizeIndex(in *types.UpdateGlobalSecondaryIndexAction) error {
	i, err := c.findIndex(in.IndexName)
	if err != nil || in.ProvisionedThroughput == nil {
		return err
	}
	if p := in.ProvisionedThroughput; p.ReadCapacityUnits != nil && p.WriteCapacityUnits != nil {
		c.Table.Indexes[i].Read, c.Table.Indexes[i].Write = *p.ReadCapacityUnits, *p.WriteCapacityUnits
	}
	return nil
}

func (c *Change) stream(spec *types.StreamSpecification) error {
	switch {
	case spec == nil:
	case request.IsTrue(spec.StreamEnabled):
		if c.Table.Stream != 0 {
			return request.Invalid("Table already has an enabled stream: TableName: %s", c.Table.Name)
		}
		return c.openStream(spec)
	case c.Table.Stream == 0:
		return request.Invalid("Table is already disabled for streams: TableName: %s", c.Table.Name)
	case spec.StreamViewType != "":
		return request.Invalid("One or more parameter values were invalid: UpdateStreamEnabled is false, but StreamViewType is specified")
	default:
		c.Stop = true
	}
	return nil
}

// openStream notes that a stream begins, if the specification asks for one.
func (c *Change) openStream(spec *types.StreamSpecification) error {
	if spec == nil || !request.IsTrue(spec.StreamEnabled) {
		return nil
	}
	switch spec.StreamViewType {
	case types.StreamViewTypeKeysOnly, types.StreamViewTypeNewImage, types.StreamViewTypeOldImage, types.StreamViewTypeNewAndOldImages:
		c.Open = spec.StreamViewType
		return nil
	}
	return request.Invalid("One or more parameter values were invalid: StreamViewType is required when StreamEnabled is true")
}

// SetTTL chooses the attribute that says when an item expires, or switches expiry off.
func (c *Change) SetTTL(spec *types.TimeToLiveSpecification) error {
	d, attr := c.Table, *spec.AttributeName
	switch on := request.IsTrue(spec.Enabled); {
	case on && d.TTL == attr:
		return request.Invalid("TimeToLive is already enabled")
	case !on && d.TTL == "":
		return request.Invalid("TimeToLive is already disabled")
	case d.TTL != "" && d.TTL != attr:
		return request.Invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", d.TTL)
	case on:
		d.TTL, d.Filling, c.Fill = attr, true, true
	default:
		d.TTL, d.Filling = "", false
	}
	return nil
}
