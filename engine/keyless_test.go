package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

// TestItemsHaveTheirKeys stores rows under keys that are not theirs. The code that writes rows
// must refuse them.
func TestItemsHaveTheirKeys(t *testing.T) {
	db, key := memory(t, engine.Options{}), item{"pk": str("p"), "sk": str("s")}
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("table")))
	for name, it := range map[string]item{
		"no attributes": {}, "no sort key": {"pk": str("p")}, "another key": {"pk": str("p"), "sk": str("t")}, "a key of another type": {"pk": str("p"), "sk": num("1")},
	} {
		if err := engine.StoreUnder(db, "table", key, it); !errors.Is(err, engine.ErrWrongKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all := scanAll(t, db, "table", ""); len(all) > 0 {
		t.Errorf("stored: %v", all)
	}
	if all := streamRecords(t, db, "table"); len(all) > 0 {
		t.Errorf("recorded: %v", all)
	}
}

// TestRemoveFromMissingItem removes attributes from an item that does not exist, in every way. No
// item may be created.
func TestRemoveFromMissingItem(t *testing.T) {
	db, ctx := memory(t, engine.Options{}), context.Background()
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(ctx, tableInput("table")))
	key := item{"pk": str("p"), "sk": str("s")}
	set := item{":s": &types.AttributeValueMemberSS{Value: []string{"x"}}}
	for name, in := range map[string]*dynamodb.UpdateItemInput{
		"REMOVE":                {UpdateExpression: ptr("REMOVE a")},
		"REMOVE below":          {UpdateExpression: ptr("REMOVE a.b, c[0]")},
		"DELETE":                {UpdateExpression: ptr("DELETE a :s"), ExpressionAttributeValues: set},
		"both":                  {UpdateExpression: ptr("REMOVE b DELETE a :s"), ExpressionAttributeValues: set},
		"AttributeUpdates":      {AttributeUpdates: map[string]types.AttributeValueUpdate{"a": {Action: types.AttributeActionDelete}}},
		"AttributeUpdates, set": {AttributeUpdates: map[string]types.AttributeValueUpdate{"a": {Action: types.AttributeActionDelete, Value: set[":s"]}}},
	} {
		in.TableName, in.Key, in.ReturnValues, in.ReturnConsumedCapacity = ptr("table"), key, types.ReturnValueAllNew, types.ReturnConsumedCapacityTotal
		out := must[*dynamodb.UpdateItemOutput](t)(db.UpdateItem(ctx, in))
		if out.Attributes != nil || *out.ConsumedCapacity.CapacityUnits != 1 {
			t.Errorf("%s: %v, %v units", name, out.Attributes, *out.ConsumedCapacity.CapacityUnits)
		}
		if all := scanAll(t, db, "table", ""); len(all) > 0 {
			t.Fatalf("%s made %v", name, all)
		}
	}
	must[*dynamodb.TransactWriteItemsOutput](t)(db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{
		Update: &types.Update{TableName: ptr("table"), Key: key, UpdateExpression: ptr("REMOVE a")}}}}))
	if all, records := scanAll(t, db, "table", ""), streamRecords(t, db, "table"); len(all)+len(records) > 0 {
		t.Errorf("stored: %v, recorded: %v", all, records)
	}
}
