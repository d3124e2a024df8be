package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/seeds"
)

// stage is the point at which DynamoDB detects a fault of a request. It reports the fault of the
// earliest stage, whatever else is wrong.
type stage int

const (
	ofMember     stage = iota + 1 // a member is missing or outside its bounds; all such faults are reported together
	ofParameters                  // parameters that exclude or require each other
	ofExpression                  // a fault of an expression, its placeholders, or a value
	ofTable
	ofKey
	ofCondition
)

// ordered is a write in which faults are planted.
type ordered struct {
	verb, table string
	keyed       item
	condition   *string
	names       map[string]string
	values      item
	units       types.ReturnConsumedCapacity
	returns     types.ReturnValue
	tell        types.ReturnValuesOnConditionCheckFailure
	expected    map[string]types.ExpectedAttributeValue
}

// planted lists the faults and the part of the request that each spoils. Those marked lone occur
// only in requests with a single write.
var planted = []struct {
	at   stage
	part string
	lone bool
	into func(*ordered)
}{
	{ofMember, "units", false, func(o *ordered) { o.units = "NOPE" }},
	{ofMember, "tell", false, func(o *ordered) { o.tell = "NOPE" }},
	{ofMember, "returns", true, func(o *ordered) { o.returns = "NOPE" }},
	{ofMember, "keyed", false, func(o *ordered) { o.keyed = nil }},
	{ofMember, "table", false, func(o *ordered) { o.table = "a table" }},
	{ofParameters, "expected", true, func(o *ordered) {
		o.expected = map[string]types.ExpectedAttributeValue{"s": {ComparisonOperator: "NULL"}}
		if o.condition == nil {
			o.condition = ptr("attribute_exists(s)")
		}
	}},
	{ofParameters, "condition", true, func(o *ordered) {
		o.condition, o.names = nil, map[string]string{"#n": "s"}
	}},
	{ofExpression, "condition", false, func(o *ordered) { o.condition = ptr("s =") }},
	{ofExpression, "condition", false, func(o *ordered) { o.condition = ptr("s = :undefined") }},
	{ofExpression, "values", false, func(o *ordered) {
		o.values = item{":unused": &types.AttributeValueMemberS{Value: "x"}}
		if o.condition == nil {
			o.condition = ptr("attribute_exists(s)")
		}
	}},
	{ofExpression, "value", false, func(o *ordered) {
		if o.keyed != nil {
			o.keyed["pk"] = &types.AttributeValueMemberN{Value: "x"}
		}
	}},
	{ofTable, "table", false, func(o *ordered) { o.table = "missing" }},
	{ofKey, "key", false, func(o *ordered) {
		if o.keyed != nil {
			delete(o.keyed, "sk")
		}
	}},
	{ofKey, "key", false, func(o *ordered) {
		if o.keyed != nil {
			o.keyed["sk"] = &types.AttributeValueMemberS{}
		}
	}},
	{ofCondition, "condition", false, func(o *ordered) { o.condition = ptr("attribute_exists(nothing)") }},
}

// stageOf returns the stage of the fault that an answer reports.
func stageOf(err error) stage {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		first := stage(0)
		for _, r := range cancelled.CancellationReasons {
			switch at := map[string]stage{"ValidationError": ofKey, "ConditionalCheckFailed": ofCondition}[*r.Code]; {
			case at > 0 && (first == 0 || at < first):
				first = at
			}
		}
		return first
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return 0
	}
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(api.ErrorMessage(), part) })
	}
	switch {
	case api.ErrorCode() == "ResourceNotFoundException":
		return ofTable
	case api.ErrorCode() == "ConditionalCheckFailedException":
		return ofCondition
	case has("validation error"):
		return ofMember
	case has("expression and non-expression", "only be specified when using expressions"):
		return ofParameters
	case has("provided key element", "Missing the key", "Type mismatch for key", "AttributeValue for a key attribute"):
		return ofKey
	}
	return ofExpression
}

func newOrdered(verb string) *ordered {
	return &ordered{verb: verb, table: "table", keyed: item{"pk": &types.AttributeValueMemberS{Value: "p"}, "sk": &types.AttributeValueMemberS{Value: verb}}}
}

// send sends the write as a single request.
func (o *ordered) send(db *engine.DB) (err error) {
	ctx := context.Background()
	switch o.verb {
	case "Put":
		_, err = db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &o.table, Item: o.keyed, ConditionExpression: o.condition, ExpressionAttributeNames: o.names,
			ExpressionAttributeValues: o.values, ReturnConsumedCapacity: o.units, ReturnValues: o.returns, ReturnValuesOnConditionCheckFailure: o.tell, Expected: o.expected})
	case "Delete":
		_, err = db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &o.table, Key: o.keyed, ConditionExpression: o.condition, ExpressionAttributeNames: o.names,
			ExpressionAttributeValues: o.values, ReturnConsumedCapacity: o.units, ReturnValues: o.returns, ReturnValuesOnConditionCheckFailure: o.tell, Expected: o.expected})
	default:
		_, err = db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &o.table, Key: o.keyed, ConditionExpression: o.condition, ExpressionAttributeNames: o.names,
			ExpressionAttributeValues: o.values, ReturnConsumedCapacity: o.units, ReturnValues: o.returns, ReturnValuesOnConditionCheckFailure: o.tell, Expected: o.expected})
	}
	return err
}

// action returns the write as part of a transaction.
func (o *ordered) action() (a types.TransactWriteItem) {
	switch o.verb {
	case "Put":
		a.Put = &types.Put{TableName: &o.table, Item: o.keyed, ConditionExpression: o.condition, ExpressionAttributeNames: o.names,
			ExpressionAttributeValues: o.values, ReturnValuesOnConditionCheckFailure: o.tell}
	case "Delete":
		a.Delete = &types.Delete{TableName: &o.table, Key: o.keyed, ConditionExpression: o.condition, ExpressionAttributeNames: o.names,
			ExpressionAttributeValues: o.values, ReturnValuesOnConditionCheckFailure: o.tell}
	default:
		a.Update = &types.Update{TableName: &o.table, Key: o.keyed, UpdateExpression: ptr("REMOVE t"), ConditionExpression: o.condition, ExpressionAttributeNames: o.names,
			ExpressionAttributeValues: o.values, ReturnValuesOnConditionCheckFailure: o.tell}
	}
	return a
}

// plantTwo plants two faults in different parts and returns the earlier of their stages.
func plantTwo(r *rand.Rand, lone bool, into ...*ordered) (stage, string) {
	for {
		a, b := r.IntN(len(planted)), r.IntN(len(planted))
		x, y := planted[a], planted[b]
		apart := len(into) > 1
		if a == b || !apart && x.part == y.part || !lone && (x.lone || y.lone) {
			continue
		}
		if !apart && x.at < y.at { // an earlier fault keeps the parts in place that a later one needs
			x, y = y, x
		}
		x.into(into[0])
		y.into(into[len(into)-1])
		return min(x.at, y.at), fmt.Sprintf("%d of %s and %d of %s", x.at, x.part, y.at, y.part)
	}
}

// TestOrderOfValidation plants two faults at once in single writes and in transactions. The engine
// must report the fault that DynamoDB detects first.
func TestOrderOfValidation(t *testing.T) {
	db := memory(t, engine.Options{})
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("table")))
	for seed := range seeds.Each(t, 1) {
		twoFaults(t, db, rand.New(rand.NewPCG(seed, 5)))
	}
}

// twoFaults tries many pairs of faults.
func twoFaults(t *testing.T, db *engine.DB, r *rand.Rand) {
	for range 4000 {
		verbs := []string{"Put", "Update", "Delete"}
		r.Shuffle(3, func(i, j int) { verbs[i], verbs[j] = verbs[j], verbs[i] })
		one := newOrdered(verbs[0])
		want, faults := plantTwo(r, true, one)
		if err := one.send(db); stageOf(err) != want {
			t.Fatalf("%s with %s: stage %d, want %d: %v", one.verb, faults, stageOf(err), want, err)
		}
		two := []*ordered{newOrdered(verbs[1]), newOrdered(verbs[2])}
		want, faults = plantTwo(r, false, two...)
		in := &dynamodb.TransactWriteItemsInput{}
		for _, o := range two {
			if in.TransactItems = append(in.TransactItems, o.action()); o.units != "" {
				in.ReturnConsumedCapacity = o.units
			}
		}
		if _, err := db.TransactWriteItems(context.Background(), in); stageOf(err) != want {
			t.Fatalf("%s and %s with %s: stage %d, want %d: %v", two[0].verb, two[1].verb, faults, stageOf(err), want, err)
		}
	}
}
