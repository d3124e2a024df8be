package catalog

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Counts is the number of items in a table, or entries in an index, and their size by DynamoDB's
// rule.
type Counts struct{ Items, Bytes int64 }

// Describe returns the table in the form of the API, with the counts of the table and its indexes.
// latest is its newest stream, with the given ARN, or nil.
func (d *Table) Describe(arn string, held Counts, indexes []Counts, latest *Stream, streamARN string) *types.TableDescription {
	t := *d
	created := time.UnixMilli(d.Created).UTC()
	td := &types.TableDescription{
		TableName: &t.Name, TableArn: &arn, TableId: &t.UUID, TableStatus: types.TableStatusActive, CreationDateTime: &created,
		KeySchema: keySchema(d.hashKeys(), d.rangeKeys()), AttributeDefinitions: d.attributeDefinitions(), ItemCount: &held.Items, TableSizeBytes: &held.Bytes,
		ProvisionedThroughput: d.provisioned(), DeletionProtectionEnabled: &t.Guarded,
		OnDemandThroughput: d.onDemand(), SSEDescription: d.Encryption.describe(arn),
	}
	read, write := d.warm(d.Billing)
	td.WarmThroughput = &types.TableWarmThroughputDescription{ReadUnitsPerSecond: &read, WriteUnitsPerSecond: &write, Status: types.TableStatusActive}
	if since := d.onDemandSince(); since != 0 {
		td.BillingModeSummary = &types.BillingModeSummary{BillingMode: d.Billing, LastUpdateToPayPerRequestDateTime: timeOf(since)}
	}
	if d.Class != "" {
		td.TableClassSummary = &types.TableClassSummary{TableClass: d.Class, LastUpdateDateTime: timeOf(d.ClassAt)}
	}
	if latest != nil {
		td.LatestStreamLabel, td.LatestStreamArn = &latest.Label, &streamARN
	}
	if latest != nil && d.Stream != 0 {
		on := true
		td.StreamSpecification = &types.StreamSpecification{StreamEnabled: &on, StreamViewType: latest.View}
	}
	for i := range d.Indexes {
		d.Indexes[i].describe(td, d.Billing, indexes[i])
	}
	return td
}

// onDemandSince returns when the table last switched to on-demand, or 0 if never.
func (d *Table) onDemandSince() int64 {
	if d.OnDemandAt == 0 && d.Billing == types.BillingModePayPerRequest {
		return d.Created
	}
	return d.OnDemandAt
}

// timeOf converts milliseconds since 1970 to a time, and 0 to nil.
func timeOf(millis int64) *time.Time {
	if millis == 0 {
		return nil
	}
	t := time.UnixMilli(millis).UTC()
	return &t
}

// describe adds an index to the description of a table. Counts are not reported while the index is
// being built.
func (d *Index) describe(td *types.TableDescription, mode types.BillingMode, held Counts) {
	name, arn := d.Name, *td.TableArn+"/index/"+d.Name
	proj := &types.Projection{ProjectionType: d.Projection, NonKeyAttributes: slices.Clone(d.Include)}
	if d.Building {
		held = Counts{}
	}
	if d.Local {
		td.LocalSecondaryIndexes = append(td.LocalSecondaryIndexes, types.LocalSecondaryIndexDescription{
			IndexName: &name, IndexArn: &arn, KeySchema: keySchema(d.Hash, d.Range), Projection: proj, ItemCount: &held.Items, IndexSizeBytes: &held.Bytes,
		})
		return
	}
	g := types.GlobalSecondaryIndexDescription{
		IndexName: &name, IndexArn: &arn, KeySchema: keySchema(d.Hash, d.Range), Projection: proj, ItemCount: &held.Items, IndexSizeBytes: &held.Bytes,
		IndexStatus: types.IndexStatusActive, ProvisionedThroughput: d.provisioned(), OnDemandThroughput: d.onDemand(),
	}
	read, write := d.warm(mode)
	g.WarmThroughput = &types.GlobalSecondaryIndexWarmThroughputDescription{ReadUnitsPerSecond: &read, WriteUnitsPerSecond: &write, Status: types.IndexStatusActive}
	if d.Building {
		filling := true
		g.IndexStatus, g.Backfilling = types.IndexStatusCreating, &filling
	}
	td.GlobalSecondaryIndexes = append(td.GlobalSecondaryIndexes, g)
}

// keySchema returns a key in the form of the API.
func keySchema(hash, rng Keys) []types.KeySchemaElement {
	var ks []types.KeySchemaElement
	for i := range hash {
		ks = append(ks, types.KeySchemaElement{AttributeName: &hash[i].Name, KeyType: types.KeyTypeHash})
	}
	for i := range rng {
		ks = append(ks, types.KeySchemaElement{AttributeName: &rng[i].Name, KeyType: types.KeyTypeRange})
	}
	return ks
}

// attributeDefinitions returns the attributes of all keys, sorted by name.
func (d *Table) attributeDefinitions() []types.AttributeDefinition {
	keys := d.Keys()
	var defs []types.AttributeDefinition
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		defs = append(defs, types.AttributeDefinition{AttributeName: &name, AttributeType: keys[name]})
	}
	return defs
}
