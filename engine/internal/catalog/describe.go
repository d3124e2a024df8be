package catalog

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Describe returns the table as the API does. latest is its newest stream, nil for none, of the given ARN.
func (d *Table) Describe(arn string, items, bytes int64, latest *Stream, streamARN string) *types.TableDescription {
	t := *d
	created := time.UnixMilli(d.Created).UTC()
	td := &types.TableDescription{
		TableName: &t.Name, TableArn: &arn, TableId: &t.UUID, TableStatus: types.TableStatusActive, CreationDateTime: &created,
		KeySchema: keySchema(d.hashKeys(), d.rangeKeys()), AttributeDefinitions: d.attributeDefinitions(), ItemCount: &items, TableSizeBytes: &bytes,
		ProvisionedThroughput: throughput(d.Read, d.Write), DeletionProtectionEnabled: &t.Guarded,
	}
	if d.Billing == types.BillingModePayPerRequest {
		td.BillingModeSummary = &types.BillingModeSummary{BillingMode: d.Billing, LastUpdateToPayPerRequestDateTime: &created}
	}
	if d.Class != "" {
		td.TableClassSummary = &types.TableClassSummary{TableClass: d.Class}
	}
	if latest != nil {
		td.LatestStreamLabel, td.LatestStreamArn = &latest.Label, &streamARN
	}
	if latest != nil && d.Stream != 0 {
		on := true
		td.StreamSpecification = &types.StreamSpecification{StreamEnabled: &on, StreamViewType: latest.View}
	}
	for i := range d.Indexes {
		d.Indexes[i].describe(td)
	}
	return td
}

// describe adds an index to the description of a table.
func (d *Index) describe(td *types.TableDescription) {
	name, arn := d.Name, *td.TableArn+"/index/"+d.Name
	proj := &types.Projection{ProjectionType: d.Projection, NonKeyAttributes: slices.Clone(d.Include)}
	var zero int64
	if d.Local {
		td.LocalSecondaryIndexes = append(td.LocalSecondaryIndexes, types.LocalSecondaryIndexDescription{
			IndexName: &name, IndexArn: &arn, KeySchema: keySchema(d.Hash, d.Range), Projection: proj, ItemCount: &zero, IndexSizeBytes: &zero,
		})
		return
	}
	g := types.GlobalSecondaryIndexDescription{
		IndexName: &name, IndexArn: &arn, KeySchema: keySchema(d.Hash, d.Range), Projection: proj, ItemCount: &zero, IndexSizeBytes: &zero,
		IndexStatus: types.IndexStatusActive, ProvisionedThroughput: throughput(d.Read, d.Write),
	}
	if d.Building {
		filling := true
		g.IndexStatus, g.Backfilling = types.IndexStatusCreating, &filling
	}
	td.GlobalSecondaryIndexes = append(td.GlobalSecondaryIndexes, g)
}

// keySchema writes a key as the API does.
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

// throughput writes provisioned units as the API does.
func throughput(read, write int64) *types.ProvisionedThroughputDescription {
	var none int64
	return &types.ProvisionedThroughputDescription{ReadCapacityUnits: &read, WriteCapacityUnits: &write, NumberOfDecreasesToday: &none}
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
