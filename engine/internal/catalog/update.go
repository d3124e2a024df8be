package catalog

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/request"
)

// Change is a change of a table in progress.
type Change struct {
	Table   *Table               // the resulting table
	Now     int64                // milliseconds since 1970
	TakeID  func() uint32        // returns an ID that was never used
	Dropped []uint32             // deleted indexes
	Fill    bool                 // rows must be written for existing items
	Open    types.StreamViewType // view type of a stream to open; "" for none
	Stop    bool                 // the stream ends
}

// Update makes the changes requested by an UpdateTable.
func (c *Change) Update(in *dynamodb.UpdateTableInput) error {
	var cs request.Members
	checkDefinitions(&cs, in.AttributeDefinitions)
	request.CheckEnum(&cs, "billingMode", in.BillingMode, "PROVISIONED", "PAY_PER_REQUEST")
	if err := cs.Err(); err != nil {
		return err
	}
	if err := checkRegions(in); err != nil {
		return err
	}
	if err := checkTogether(in); err != nil {
		return err
	}
	d := c.Table
	if err := c.billing(in); err != nil {
		return err
	}
	if err := d.setOnDemand(d.Billing, "table", in.OnDemandThroughput); err != nil {
		return err
	}
	if err := d.setWarm(d.Billing, "table", in.WarmThroughput); err != nil {
		return err
	}
	if in.DeletionProtectionEnabled != nil {
		d.Guarded = *in.DeletionProtectionEnabled
	}
	if err := d.setClass(in.TableClass); err != nil {
		return err
	}
	if in.TableClass != "" {
		d.ClassAt = c.Now
	}
	if err := c.encryption(in.SSESpecification); err != nil {
		return err
	}
	if err := c.indexes(in); err != nil {
		return err
	}
	return c.stream(in.StreamSpecification)
}

// checkRegions rejects features of tables with several Regions.
func checkRegions(in *dynamodb.UpdateTableInput) error {
	for _, p := range []struct {
		name  string
		given bool
	}{
		{"ReplicaUpdates", len(in.ReplicaUpdates) > 0}, {"MultiRegionConsistency", in.MultiRegionConsistency != ""},
		{"GlobalTableWitnessUpdates", len(in.GlobalTableWitnessUpdates) > 0}, {"GlobalTableSettingsReplicationMode", in.GlobalTableSettingsReplicationMode != ""},
	} {
		if p.given {
			return request.Invalid(invalid+"%s is not available: this database has one Region, and its tables have no replicas", p.name)
		}
	}
	return nil
}

// checkTogether rejects an UpdateTable without changes, or with changes that DynamoDB allows only
// one at a time.
func checkTogether(in *dynamodb.UpdateTableInput) error {
	units, indexes, stream := in.ProvisionedThroughput != nil || in.BillingMode != "", len(in.GlobalSecondaryIndexUpdates) > 0, in.StreamSpecification != nil
	alone := []struct {
		given bool
		name  string
	}{
		{in.SSESpecification != nil, "Server-Side Encryption modification"}, {in.TableClass != "", "TableClass modification"},
		{in.DeletionProtectionEnabled != nil, "DeletionProtection modification"}, {in.WarmThroughput != nil && !indexes, "WarmThroughput"},
	}
	parts := 0
	for _, given := range []bool{units, indexes, stream, in.OnDemandThroughput != nil && !units, alone[0].given, alone[1].given, alone[2].given, alone[3].given} {
		if given {
			parts++
		}
	}
	if parts == 0 {
		return request.Invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, " +
			"MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required")
	}
	for _, a := range alone {
		if a.given && parts > 1 {
			return request.Invalid(invalid+"%s must be the only operation in the request", a.name)
		}
	}
	changes := slices.ContainsFunc(in.GlobalSecondaryIndexUpdates, func(g types.GlobalSecondaryIndexUpdate) bool { return g.Create != nil || g.Delete != nil })
	switch {
	case stream && in.ProvisionedThroughput != nil:
		return request.Invalid(invalid + "You cannot modify stream status while updating table IOPS")
	case changes && in.ProvisionedThroughput != nil:
		return request.Invalid(invalid + "You cannot create or delete index while updating table IOPS")
	case changes && stream:
		return request.Invalid(invalid + "You cannot create or delete index while changing stream status")
	}
	return nil
}

func (c *Change) encryption(s *types.SSESpecification) error {
	if s == nil {
		return nil
	}
	if !request.IsTrue(s.Enabled) && c.Table.Encryption == nil && s.SSEType == "" && s.KMSMasterKeyId == nil {
		return request.Invalid(invalid + "Table is already encrypted by default")
	}
	return c.Table.setEncryption(s)
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
	if mode == types.BillingModePayPerRequest && before.Billing != mode {
		c.Table.OnDemandAt = c.Now
	} else {
		c.Table.OnDemandAt = before.onDemandSince()
	}
	if err := c.Table.setBilling(mode, in.ProvisionedThroughput); err != nil {
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

// checkIndexUpdates rejects index updates that are empty or ambiguous, and two for the same index.
func checkIndexUpdates(updates []types.GlobalSecondaryIndexUpdate) error {
	seen := map[string]bool{}
	for _, g := range updates {
		given, name := 0, (*string)(nil)
		if g.Update != nil {
			given, name = given+1, g.Update.IndexName
		}
		if g.Create != nil {
			given, name = given+1, g.Create.IndexName
		}
		if g.Delete != nil {
			given, name = given+1, g.Delete.IndexName
		}
		switch {
		case given == 0:
			return request.Invalid(invalid + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")
		case given > 1:
			return request.Invalid(invalid + "Only one of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete can be specified")
		case name != nil && seen[*name]:
			return request.Invalid(invalid+"Only one global secondary index update per index is allowed simultaneously. Index: %s", *name)
		case name != nil:
			seen[*name] = true
		}
	}
	return nil
}

func (c *Change) indexes(in *dynamodb.UpdateTableInput) error {
	if err := checkIndexUpdates(in.GlobalSecondaryIndexUpdates); err != nil {
		return err
	}
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
	for _, x := range c.Table.Indexes {
		if c.Table.Billing == types.BillingModeProvisioned && in.BillingMode != "" && !x.Local && x.Read == 0 {
			return request.Invalid(invalid+"ProvisionedThroughput must be specified for index: %s", x.Name)
		}
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
	if slices.ContainsFunc(c.Table.Indexes, func(x Index) bool { return x.Name == *in.IndexName }) {
		return request.Invalid("Attempting to create an index which already exists")
	}
	x := types.GlobalSecondaryIndex{IndexName: in.IndexName, KeySchema: in.KeySchema, Projection: in.Projection,
		ProvisionedThroughput: in.ProvisionedThroughput, OnDemandThroughput: in.OnDemandThroughput, WarmThroughput: in.WarmThroughput}
	if err := c.Table.addGlobalIndex(x, known); err != nil {
		return err
	}
	all := c.Table.Indexes
	if n := slices.IndexFunc(all, func(x Index) bool { return !x.Local }); len(all)-n > maxGlobalIndexes {
		return request.LimitExceeded("GlobalSecondaryIndex count exceeds the per-table limit of 20")
	}
	added := &all[len(all)-1]
	added.ID, added.Building, c.Fill = c.TakeID(), true, true
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
	if err != nil {
		return err
	}
	x, mode := &c.Table.Indexes[i], c.Table.Billing
	if in.ProvisionedThroughput == nil && in.OnDemandThroughput == nil && in.WarmThroughput == nil {
		return request.Invalid(invalid+"At least one of ProvisionedThroughput, OnDemandThroughput or WarmThroughput is required for index: %s", x.Name)
	}
	if in.ProvisionedThroughput != nil {
		if err := x.setProvisioned(mode, x.Name, in.ProvisionedThroughput); err != nil {
			return err
		}
	}
	if err := x.setOnDemand(mode, "index : "+x.Name, in.OnDemandThroughput); err != nil {
		return err
	}
	return x.setWarm(mode, "index "+x.Name, in.WarmThroughput)
}

func (c *Change) stream(spec *types.StreamSpecification) error {
	switch {
	case spec == nil:
	case request.IsTrue(spec.StreamEnabled):
		if c.Table.Stream != 0 {
			return request.Invalid("Table already has an enabled stream: TableName: %s", c.Table.Name)
		}
		return c.openStream(spec, "If stream is being enabled then UpdateViewType is required")
	case c.Table.Stream == 0:
		return request.Invalid("Table has no stream to disable: TableName: %s", c.Table.Name)
	case spec.StreamViewType != "":
		return request.Invalid(invalid + "If stream is being disabled, then UpdateViewType must not be specified")
	default:
		c.Stop = true
	}
	return nil
}

// openStream records that a stream starts, if the specification requests one. A specification
// without a view type fails with the message viewless.
func (c *Change) openStream(spec *types.StreamSpecification, viewless string) error {
	if spec == nil || !request.IsTrue(spec.StreamEnabled) {
		return nil
	}
	var cs request.Members
	request.CheckEnum(&cs, "streamSpecification.streamViewType", spec.StreamViewType, "NEW_AND_OLD_IMAGES", "OLD_IMAGE", "NEW_IMAGE", "KEYS_ONLY")
	if spec.StreamViewType == "" {
		return request.Invalid(invalid+"%s", viewless)
	}
	c.Open = spec.StreamViewType
	return cs.Err()
}

// SetTTL selects the attribute that holds the expiry time of items, or disables expiry.
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
