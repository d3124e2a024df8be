package catalog

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Describe adds an index to the description of a table.
func (d *Index) Describe(td *types.TableDescription) {
	name, arn := d.Name, *td.TableArn+"/index/"+d.Name
	proj := &types.Projection{ProjectionType: d.Projection, NonKeyAttributes: slices.Clone(d.Include)}
	var zero int64
	if d.Local {
		td.LocalSecondaryIndexes = append(td.LocalSecondaryIndexes, types.LocalSecondaryIndexDescription{
			IndexName: &name, IndexArn: &arn, KeySchema: KeySchema(d.Hash, d.Range), Projection: proj, ItemCount: &zero, IndexSizeBytes: &zero,
		})
		return
	}
	g := types.GlobalSecondaryIndexDescription{
		IndexName: &name, IndexArn: &arn, KeySchema: KeySchema(d.Hash, d.Range), Projection: proj, ItemCount: &zero, IndexSizeBytes: &zero,
		IndexStatus: types.IndexStatusActive, ProvisionedThroughput: Throughput(d.Read, d.Write),
	}
	if d.Building {
		filling := true
		g.IndexStatus, g.Backfilling = types.IndexStatusCreating, &filling
	}
	td.GlobalSecondaryIndexes = append(td.GlobalSecondaryIndexes, g)
}

// KeySchema writes a key as the API does.
func KeySchema(hash, rng Key) []types.KeySchemaElement {
	ks := []types.KeySchemaElement{{AttributeName: &hash.Name, KeyType: types.KeyTypeHash}}
	if rng.Name != "" {
		ks = append(ks, types.KeySchemaElement{AttributeName: &rng.Name, KeyType: types.KeyTypeRange})
	}
	return ks
}

// Throughput writes provisioned units as the API does.
func Throughput(read, write int64) *types.ProvisionedThroughputDescription {
	var none int64
	return &types.ProvisionedThroughputDescription{ReadCapacityUnits: &read, WriteCapacityUnits: &write, NumberOfDecreasesToday: &none}
}

// AttributeDefinitions returns the attributes of all keys, sorted by name.
func (d *Table) AttributeDefinitions() []types.AttributeDefinition {
	keys := d.Keys()
	var defs []types.AttributeDefinition
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		defs = append(defs, types.AttributeDefinition{AttributeName: &name, AttributeType: keys[name]})
	}
	return defs
}
