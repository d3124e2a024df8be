package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
)

// refusedWith fails the test unless err is a ValidationException whose message contains the given
// text.
func refusedWith(t *testing.T, name, message string, err error) {
	t.Helper()
	if dynamo.Code(err) != dynamo.CodeValidation || !strings.Contains(err.Error(), message) {
		t.Errorf("%s: %v, want a ValidationException with %q", name, err, message)
	}
}

// TestUpdateTableWithoutChanges sends updates of tables and indexes that change nothing, or that name
// things that do not exist.
func TestUpdateTableWithoutChanges(t *testing.T) {
	db, ctx := memory(t, engine.Options{}), context.Background()
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	remove := &types.DeleteGlobalSecondaryIndexAction{IndexName: ptr("gsi1")}
	indexes := func(updates ...types.GlobalSecondaryIndexUpdate) *dynamodb.UpdateTableInput {
		return &dynamodb.UpdateTableInput{GlobalSecondaryIndexUpdates: append([]types.GlobalSecondaryIndexUpdate{}, updates...)}
	}
	create := &types.CreateGlobalSecondaryIndexAction{IndexName: ptr("new"), KeySchema: tableInput("table").KeySchema, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}
	undefined := indexes(types.GlobalSecondaryIndexUpdate{Create: create})
	undefined.AttributeDefinitions = []types.AttributeDefinition{{}}
	for name, c := range map[string]struct {
		in      *dynamodb.UpdateTableInput
		message string
	}{
		"nothing":               {&dynamodb.UpdateTableInput{}, "At least one of"},
		"no updates of indexes": {indexes(), "At least one of"},
		"an update of no index": {indexes(types.GlobalSecondaryIndexUpdate{}), "must not be null"},
		"two updates in one":    {indexes(types.GlobalSecondaryIndexUpdate{Delete: remove, Create: create}), "Only one of"},
		"an index twice":        {indexes(types.GlobalSecondaryIndexUpdate{Delete: remove}, types.GlobalSecondaryIndexUpdate{Delete: remove}), "Only one global secondary index update per index"},
		"an update without throughput": {indexes(types.GlobalSecondaryIndexUpdate{Update: &types.UpdateGlobalSecondaryIndexAction{IndexName: ptr("gsi1")}}),
			"At least one of ProvisionedThroughput"},
		"a definition without name": {undefined, "'attributeDefinitions.1.member.attributeName'"},
		"an unknown billing mode":   {&dynamodb.UpdateTableInput{BillingMode: "NOPE"}, "'billingMode'"},
		"replicas": {&dynamodb.UpdateTableInput{ReplicaUpdates: []types.ReplicationGroupUpdate{{Create: &types.CreateReplicationGroupMemberAction{RegionName: ptr("eu-west-1")}}}},
			"ReplicaUpdates is not available"},
		"consistency between Regions": {&dynamodb.UpdateTableInput{MultiRegionConsistency: types.MultiRegionConsistencyStrong}, "MultiRegionConsistency is not available"},
	} {
		c.in.TableName = ptr("table")
		_, err := db.UpdateTable(ctx, c.in)
		refusedWith(t, name, c.message, err)
	}
}

// TestNamesInTables creates tables whose keys, projections and expiry attributes have names at the
// length limit and above it.
func TestNamesInTables(t *testing.T) {
	ctx := context.Background()
	set := map[string]func(in *dynamodb.CreateTableInput, name *string){
		"partition key": func(in *dynamodb.CreateTableInput, name *string) {
			in.KeySchema[0].AttributeName, in.AttributeDefinitions[0].AttributeName = name, name
		},
		"sort key": func(in *dynamodb.CreateTableInput, name *string) {
			in.KeySchema[1].AttributeName, in.AttributeDefinitions[1].AttributeName = name, name
		},
		"index key": func(in *dynamodb.CreateTableInput, name *string) {
			in.GlobalSecondaryIndexes[0].KeySchema[0].AttributeName, in.AttributeDefinitions[2].AttributeName = name, name
		},
		"projection": func(in *dynamodb.CreateTableInput, name *string) {
			in.GlobalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{*name}}
		},
	}
	for what, set := range set {
		for n, ok := range map[int]bool{0: false, 1: true, 255: true, 256: false} {
			in := tableInput("table")
			set(in, ptr(strings.Repeat("n", n)))
			if _, err := memory(t, engine.Options{}).CreateTable(ctx, in); ok && err != nil {
				t.Errorf("%s of %d bytes: %v", what, n, err)
			} else if !ok {
				refusedWith(t, what, "Member must have length", err)
			}
		}
	}
	db := memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	_, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("table"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr(strings.Repeat("n", 256)), Enabled: ptr(true)}})
	refusedWith(t, "expiry", "Member must have length", err)
}

// TestLegacyConditionsOfReads sends conditions of Query and Scan that compare nothing, or compare
// values without an order.
func TestLegacyConditionsOfReads(t *testing.T) {
	db, ctx := memory(t, engine.Options{}), context.Background()
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	cond := func(op types.ComparisonOperator, values ...types.AttributeValue) map[string]types.Condition {
		return map[string]types.Condition{"a": {ComparisonOperator: op, AttributeValueList: values}}
	}
	list := &types.AttributeValueMemberL{}
	for name, c := range map[string]struct {
		in      dynamodb.ScanInput
		message string
	}{
		"operator alone":       {dynamodb.ScanInput{ConditionalOperator: "AND"}, "ConditionalOperator cannot be used without Filter or Expected"},
		"operator of one":      {dynamodb.ScanInput{ConditionalOperator: "OR", ScanFilter: cond("EQ", str("x"))}, "two or more elements"},
		"unknown operator":     {dynamodb.ScanInput{ConditionalOperator: "XOR", ScanFilter: cond("EQ", str("x"))}, "'conditionalOperator'"},
		"unknown comparison":   {dynamodb.ScanInput{ScanFilter: cond("NOPE", str("x"))}, "'scanFilter.a.member.comparisonOperator'"},
		"no comparison":        {dynamodb.ScanInput{ScanFilter: cond("", str("x"))}, "Value null at 'scanFilter.a.member.comparisonOperator'"},
		"CONTAINS of a list":   {dynamodb.ScanInput{ScanFilter: cond("CONTAINS", list)}, "ComparisonOperator CONTAINS is not valid for L AttributeValue type"},
		"IN of lists":          {dynamodb.ScanInput{ScanFilter: cond("IN", list, list)}, "ComparisonOperator IN is not valid for L AttributeValue type"},
		"BEGINS_WITH a number": {dynamodb.ScanInput{ScanFilter: cond("BEGINS_WITH", num("1"))}, "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"},
		"BETWEEN backwards":    {dynamodb.ScanInput{ScanFilter: cond("BETWEEN", num("2"), num("1"))}, "lower bound is greater"},
		"an empty name":        {dynamodb.ScanInput{ScanFilter: map[string]types.Condition{"": {ComparisonOperator: "NULL"}}}, "Empty attribute name"},
		"an empty attribute":   {dynamodb.ScanInput{AttributesToGet: []string{""}}, "Empty attribute name"},
	} {
		c.in.TableName = ptr("table")
		_, err := db.Scan(ctx, &c.in)
		refusedWith(t, name, c.message, err)
	}
	_, err := db.Query(ctx, &dynamodb.QueryInput{TableName: ptr("table"), KeyConditions: cond("NOPE", str("x"))})
	refusedWith(t, "key condition", "'keyConditions.a.member.comparisonOperator'", err)
}

// TestLegacyWritesAreChecked sends AttributeUpdates and Expected that request nothing that can be
// done.
func TestLegacyWritesAreChecked(t *testing.T) {
	db, ctx := memory(t, engine.Options{}), context.Background()
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	key := item{"pk": str("p"), "sk": str("s")}
	putItem(t, db, "table", item{"pk": key["pk"], "sk": key["sk"], "a": str("x")})
	update := func(action types.AttributeAction, v types.AttributeValue) map[string]types.AttributeValueUpdate {
		return map[string]types.AttributeValueUpdate{"a": {Action: action, Value: v}}
	}
	expect := func(x types.ExpectedAttributeValue) map[string]types.ExpectedAttributeValue {
		return map[string]types.ExpectedAttributeValue{"a": x}
	}
	set := &types.AttributeValueMemberSS{Value: []string{"x"}}
	for name, c := range map[string]struct {
		in      dynamodb.UpdateItemInput
		message string
	}{
		"unknown action":         {dynamodb.UpdateItemInput{AttributeUpdates: update("NOPE", str("x"))}, "'attributeUpdates.a.member.action'"},
		"ADD of a string":        {dynamodb.UpdateItemInput{AttributeUpdates: update("ADD", str("x"))}, "ADD action is not supported for the type S"},
		"ADD to another type":    {dynamodb.UpdateItemInput{AttributeUpdates: update("ADD", num("1"))}, "Type mismatch for attribute to update"},
		"DELETE of another type": {dynamodb.UpdateItemInput{AttributeUpdates: update("DELETE", set)}, "Type mismatch for attribute to update"},
		"operator alone":         {dynamodb.UpdateItemInput{ConditionalOperator: "AND"}, "ConditionalOperator cannot be used without Filter or Expected"},
		"unknown operator":       {dynamodb.UpdateItemInput{ConditionalOperator: "XOR", Expected: expect(types.ExpectedAttributeValue{Value: str("x")})}, "'conditionalOperator'"},
		"unknown comparison":     {dynamodb.UpdateItemInput{Expected: expect(types.ExpectedAttributeValue{ComparisonOperator: "NOPE"})}, "'expected.a.member.comparisonOperator'"},
		"unknown answer to a failure": {dynamodb.UpdateItemInput{ReturnValuesOnConditionCheckFailure: "NOPE"},
			"'returnValuesOnConditionCheckFailure'"},
		"CONTAINS of a set": {dynamodb.UpdateItemInput{Expected: expect(types.ExpectedAttributeValue{ComparisonOperator: "CONTAINS", AttributeValueList: []types.AttributeValue{set}})},
			"ComparisonOperator CONTAINS is not valid for SS AttributeValue type"},
	} {
		c.in.TableName, c.in.Key = ptr("table"), key
		_, err := db.UpdateItem(ctx, &c.in)
		refusedWith(t, name, c.message, err)
	}
}
