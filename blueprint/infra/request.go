package infra

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

// request returns the request that creates the table, with the indexes, capacity and protection of
// the options.
func (o *Options) request(s *table.Schema) *dynamodb.CreateTableInput {
	in := s.CreateTableInput(o.TableName)
	key := in.AttributeDefinitions[:2]
	in.AttributeDefinitions, in.GlobalSecondaryIndexes = key, nil
	for _, name := range o.Indexes {
		pk, sk := name+"pk", name+"sk"
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &pk, AttributeType: types.ScalarAttributeTypeS},
			types.AttributeDefinition{AttributeName: &sk, AttributeType: types.ScalarAttributeTypeS})
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName:  &name,
			KeySchema:  []types.KeySchemaElement{{AttributeName: &pk, KeyType: types.KeyTypeHash}, {AttributeName: &sk, KeyType: types.KeyTypeRange}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		})
	}
	o.bound(in)
	return in
}

// bound sets capacity and protection according to the options.
func (o *Options) bound(in *dynamodb.CreateTableInput) {
	protected := true
	in.DeletionProtectionEnabled = &protected
	var provisioned *types.ProvisionedThroughput
	var most *types.OnDemandThroughput
	if o.Provisioned {
		in.BillingMode = types.BillingModeProvisioned
		provisioned = &types.ProvisionedThroughput{ReadCapacityUnits: units(o.Read.Min), WriteCapacityUnits: units(o.Write.Min)}
	} else if o.Read.Max > 0 || o.Write.Max > 0 {
		most = &types.OnDemandThroughput{MaxReadRequestUnits: units(o.Read.Max), MaxWriteRequestUnits: units(o.Write.Max)}
	}
	in.ProvisionedThroughput, in.OnDemandThroughput = provisioned, most
	for i := range in.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes[i].ProvisionedThroughput, in.GlobalSecondaryIndexes[i].OnDemandThroughput = provisioned, most
	}
}

// units returns a pointer to a number of units, or nil for no limit.
func units(n int) *int64 {
	if n == 0 {
		return nil
	}
	u := int64(n)
	return &u
}
