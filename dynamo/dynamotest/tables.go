package dynamotest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func testTables(f *fixture) {
	f.define("Music", true, index("byArtist", "artist", "year", types.ProjectionTypeAll))
	out, err := f.api.DescribeTable(f.ctx, &dynamodb.DescribeTableInput{TableName: ptr("Music")})
	f.ok(err)
	d := out.Table
	if len(d.KeySchema) != 2 || *d.KeySchema[0].AttributeName != "pk" || *d.KeySchema[1].AttributeName != "sk" || len(d.AttributeDefinitions) != 4 {
		f.Errorf("described as %+v", d)
	}
	if d.BillingModeSummary == nil || d.BillingModeSummary.BillingMode != types.BillingModePayPerRequest || d.TableArn == nil || d.TableId == nil || d.CreationDateTime == nil {
		f.Errorf("described without %+v", d)
	}
	if len(d.GlobalSecondaryIndexes) != 1 || *d.GlobalSecondaryIndexes[0].IndexName != "byArtist" || d.GlobalSecondaryIndexes[0].IndexStatus != types.IndexStatusActive {
		f.Errorf("indexes %+v", d.GlobalSecondaryIndexes)
	}
	f.sub("exists", func(f *fixture) {
		_, err := f.api.CreateTable(f.ctx, &dynamodb.CreateTableInput{
			TableName: ptr("Music"), BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("pk"), AttributeType: "S"}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: ptr("pk"), KeyType: "HASH"}},
		})
		f.refused(err, "ResourceInUseException", "Table already exists: Music")
	})
	f.put("Music", A{"pk": "a", "sk": "b"})
	f.listTables()
	f.deleteTables()
	f.createFaults()
	f.sub("throughput that does not change", (*fixture).sameThroughput)
}

// sameThroughput requests the throughput that a table already has.
func (f *fixture) sameThroughput() {
	five := &types.ProvisionedThroughput{ReadCapacityUnits: ptr(int64(5)), WriteCapacityUnits: ptr(int64(5))}
	f.define("Provisioned", false, func(in *dynamodb.CreateTableInput) {
		in.BillingMode, in.ProvisionedThroughput = types.BillingModeProvisioned, five
	})
	_, err := f.api.UpdateTable(f.ctx, &dynamodb.UpdateTableInput{TableName: ptr("Provisioned"), ProvisionedThroughput: five})
	f.invalid(err, "The provisioned throughput for the table will not change. The requested value equals the current value.")
	_, err = f.api.UpdateTable(f.ctx, &dynamodb.UpdateTableInput{TableName: ptr("Provisioned"),
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: ptr(int64(6)), WriteCapacityUnits: ptr(int64(5))}})
	f.ok(err)
	f.waitActive("Provisioned")
}

func (f *fixture) listTables() {
	for _, n := range []string{"Alpha", "Zulu"} {
		f.define(n, false)
	}
	out, err := f.api.ListTables(f.ctx, &dynamodb.ListTablesInput{Limit: ptr(int32(2))})
	f.ok(err)
	if len(out.TableNames) != 2 || out.TableNames[0] != "Alpha" || out.TableNames[1] != "Music" || out.LastEvaluatedTableName == nil || *out.LastEvaluatedTableName != "Music" {
		f.Errorf("first page %v %v", out.TableNames, out.LastEvaluatedTableName)
	}
	out, err = f.api.ListTables(f.ctx, &dynamodb.ListTablesInput{ExclusiveStartTableName: out.LastEvaluatedTableName})
	f.ok(err)
	if len(out.TableNames) != 1 || out.TableNames[0] != "Zulu" || out.LastEvaluatedTableName != nil {
		f.Errorf("last page %v", out.TableNames)
	}
}

func (f *fixture) deleteTables() {
	out, err := f.api.DeleteTable(f.ctx, &dynamodb.DeleteTableInput{TableName: ptr("Music")})
	f.ok(err)
	if out.TableDescription.TableStatus != types.TableStatusDeleting {
		f.Errorf("status %s", out.TableDescription.TableStatus)
	}
	gone := func() bool {
		_, err := f.api.DescribeTable(f.ctx, &dynamodb.DescribeTableInput{TableName: ptr("Music")})
		return err != nil
	}
	f.eventually("Music is gone", gone)
	_, err = f.api.DescribeTable(f.ctx, &dynamodb.DescribeTableInput{TableName: ptr("Music")})
	f.refused(err, "ResourceNotFoundException", "Requested resource not found: Table: Music not found")
	_, err = f.api.GetItem(f.ctx, &dynamodb.GetItemInput{TableName: ptr("Music"), Key: A{"pk": "a", "sk": "b"}.item()})
	f.refused(err, "ResourceNotFoundException", "Requested resource not found")
	f.define("Music", true)
	f.same("item of the table before", f.get("Music", A{"pk": "a", "sk": "b"}), nil)
}

func (f *fixture) createFaults() {
	attr := func(name, kind string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(kind)}
	}
	key := func(name, kind string) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyType(kind)}
	}
	cases := []struct {
		name   string
		change func(*dynamodb.CreateTableInput)
		text   string
	}{
		{"no name", func(in *dynamodb.CreateTableInput) { in.TableName = nil }, "The parameter 'TableName' is required but was not present in the request"},
		{"short name", func(in *dynamodb.CreateTableInput) { in.TableName = ptr("ab") }, "Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3"},
		{"bad name", func(in *dynamodb.CreateTableInput) { in.TableName = ptr("a b c") }, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"},
		{"undefined key", func(in *dynamodb.CreateTableInput) { in.KeySchema[0].AttributeName = ptr("x") }, "Some index key attributes are not defined in AttributeDefinitions. Keys: [x], AttributeDefinitions: [pk]"},
		{"spare definition", func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, attr("y", "S"))
		}, "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"},
		{"range first", func(in *dynamodb.CreateTableInput) { in.KeySchema[0].KeyType = "RANGE" }, "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
		{"key of type M", func(in *dynamodb.CreateTableInput) { in.AttributeDefinitions[0].AttributeType = "M" }, "Value 'M' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]"},
		{"no throughput", func(in *dynamodb.CreateTableInput) { in.BillingMode = "" }, "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"},
		{"same key twice", func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, attr("y", "S"))
			in.KeySchema = append(in.KeySchema, key("pk", "RANGE"))
		}, "Both the Hash Key and the Range Key element in the KeySchema have the same name"},
		{"three keys", func(in *dynamodb.CreateTableInput) {
			in.AttributeDefinitions = append(in.AttributeDefinitions, attr("y", "S"), attr("z", "S"))
			in.KeySchema = append(in.KeySchema, key("y", "RANGE"), key("z", "RANGE"))
		}, "KeySchemaElement(attributeName=z, keyType=RANGE)]' at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2"},
		{"local index without sort key", local("byX", "x", types.ProjectionTypeAll), "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"},
		{"empty list of indexes", func(in *dynamodb.CreateTableInput) { in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{} }, "List of GlobalSecondaryIndexes is empty"},
		{"two indexes of one name", func(in *dynamodb.CreateTableInput) {
			index("byX", "x", "", types.ProjectionTypeAll)(in)
			index("byX", "y", "", types.ProjectionTypeAll)(in)
		}, "Duplicate index name: byX"},
		{"include without attributes", index("byX", "x", "", types.ProjectionTypeInclude), "NonKeyAttributes is not specified"},
		{"attributes without include", index("byX", "x", "", types.ProjectionTypeAll, "a"), "ProjectionType is ALL, but NonKeyAttributes is specified"},
	}
	for _, c := range cases {
		f.sub(c.name, func(f *fixture) {
			in := &dynamodb.CreateTableInput{
				TableName: ptr("Faulty"), BillingMode: types.BillingModePayPerRequest,
				AttributeDefinitions: []types.AttributeDefinition{attr("pk", "S")}, KeySchema: []types.KeySchemaElement{key("pk", "HASH")},
			}
			c.change(in)
			_, err := f.api.CreateTable(f.ctx, in)
			f.invalid(err, c.text)
		})
	}
}

// testIndexChanges adds an index to a table with items, and deletes it.
func testIndexChanges(f *fixture) {
	f.define("Growing", true)
	for _, it := range []A{
		{"pk": "a", "sk": "1", "colour": "red"}, {"pk": "b", "sk": "1", "colour": "red"}, {"pk": "c", "sk": "1"},
		{"pk": "d", "sk": "1", "colour": 5}, {"pk": "e", "sk": "1", "colour": "blue"},
	} {
		f.put("Growing", it)
	}
	_, err := f.api.UpdateTable(f.ctx, &dynamodb.UpdateTableInput{
		TableName: ptr("Growing"), AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("colour"), AttributeType: "S"}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: ptr("byColour"), KeySchema: []types.KeySchemaElement{{AttributeName: ptr("colour"), KeyType: "HASH"}},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}}},
	})
	f.ok(err)
	f.waitActive("Growing")
	reds := func() int32 {
		out, err := f.api.Query(f.ctx, &dynamodb.QueryInput{TableName: ptr("Growing"), IndexName: ptr("byColour"),
			KeyConditionExpression: ptr("colour = :c"), ExpressionAttributeValues: A{":c": "red"}.item()})
		f.ok(err)
		return out.Count
	}
	f.eventually("the index holds what was there before", func() bool { return reds() == 2 })
	f.put("Growing", A{"pk": "f", "sk": "1", "colour": "red"})
	f.eventually("the index holds what is written after", func() bool { return reds() == 3 })
	_, err = f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Growing"), Item: A{"pk": "g", "sk": "1", "colour": 7}.item()})
	f.invalid(err, "Type mismatch for Index Key colour Expected: S Actual: N IndexName: byColour")
	_, err = f.api.UpdateTable(f.ctx, &dynamodb.UpdateTableInput{TableName: ptr("Growing"), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
		{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: ptr("byColour")}}}})
	f.ok(err)
	f.eventually("the index is gone", func() bool {
		_, err := f.api.Query(f.ctx, &dynamodb.QueryInput{TableName: ptr("Growing"), IndexName: ptr("byColour"),
			KeyConditionExpression: ptr("colour = :c"), ExpressionAttributeValues: A{":c": "red"}.item()})
		return err != nil
	})
	_, err = f.api.UpdateTable(f.ctx, &dynamodb.UpdateTableInput{TableName: ptr("Growing")})
	f.invalid(err, "At least one of ProvisionedThroughput")
}

func testTimeToLive(f *fixture) {
	f.define("Fading", false)
	spec := func(attr string, on bool) error {
		_, err := f.api.UpdateTimeToLive(f.ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("Fading"),
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attr, Enabled: &on}})
		return err
	}
	status := func() types.TimeToLiveStatus {
		out, err := f.api.DescribeTimeToLive(f.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: ptr("Fading")})
		f.ok(err)
		return out.TimeToLiveDescription.TimeToLiveStatus
	}
	if s := status(); s != types.TimeToLiveStatusDisabled {
		f.Errorf("at first %s", s)
	}
	f.invalid(spec("ttl", false), "TimeToLive is already disabled")
	f.ok(spec("ttl", true))
	f.eventually("expiry is on", func() bool { return status() == types.TimeToLiveStatusEnabled })
	f.invalid(spec("ttl", true), "TimeToLive is already enabled")
	f.invalid(spec("other", true), "TimeToLive is active on a different AttributeName")
	_, err := f.api.DescribeTimeToLive(f.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: ptr("Nowhere")})
	f.refused(err, "ResourceNotFoundException", "Requested resource not found: Table: Nowhere not found")
}
