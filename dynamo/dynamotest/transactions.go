package dynamotest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

func txPut(it A, condition string) types.TransactWriteItem {
	p := &types.Put{TableName: ptr("Items"), Item: it.item()}
	if condition != "" {
		p.ConditionExpression = &condition
	}
	return types.TransactWriteItem{Put: p}
}

func txUpdate(key A, update string, values A) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: ptr("Items"), Key: key.item(), UpdateExpression: &update, ExpressionAttributeValues: values.item()}}
}

func txDelete(key A) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: ptr("Items"), Key: key.item()}}
}

func txCheck(key A, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: ptr("Items"), Key: key.item(), ConditionExpression: &condition}}
}

func (f *fixture) transact(token string, items ...types.TransactWriteItem) error {
	in := &dynamodb.TransactWriteItemsInput{TransactItems: items}
	if token != "" {
		in.ClientRequestToken = &token
	}
	_, err := f.api.TransactWriteItems(f.ctx, in)
	return err
}

func testTransactWrite(f *fixture) {
	f.define("Items", false)
	f.put("Items", A{"pk": "old"})
	f.put("Items", A{"pk": "n", "n": 1})
	f.ok(f.transact("", txPut(A{"pk": "a"}, "attribute_not_exists(pk)"), txUpdate(A{"pk": "n"}, "ADD n :v", A{":v": 2}), txDelete(A{"pk": "old"}), txCheck(A{"pk": "none"}, "attribute_not_exists(pk)")))
	f.same("put", f.get("Items", A{"pk": "a"}), A{"pk": "a"})
	f.same("updated", f.get("Items", A{"pk": "n"}), A{"pk": "n", "n": 3})
	f.same("deleted", f.get("Items", A{"pk": "old"}), nil)

	failing := txPut(A{"pk": "a"}, "attribute_not_exists(pk)")
	failing.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	err := f.transact("", txPut(A{"pk": "c"}, ""), failing, txCheck(A{"pk": "n"}, "attribute_not_exists(pk)"), txUpdate(A{"pk": "a2"}, "SET a = b", nil))
	f.refused(err, "TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed, ConditionalCheckFailed, ValidationError]")
	f.same("nothing is written", f.get("Items", A{"pk": "c"}), nil)
	reasons, ok := dynamo.CancellationReasons(err)
	if !ok || len(reasons) != 4 {
		f.Fatalf("reasons %v", reasons)
	}
	f.same("the item that failed", reasons[1].Item, A{"pk": "a"})
	f.same("the item of one that did not ask", reasons[2].Item, nil)
	if reasons[0].Message != nil || reasons[1].Message == nil || *reasons[1].Message != "The conditional request failed" {
		f.Errorf("messages %v %v", reasons[0].Message, reasons[1].Message)
	}
	f.transactFaults()
	f.transactTokens()
}

func (f *fixture) transactFaults() {
	var many []types.TransactWriteItem
	for i := range 101 {
		many = append(many, txDelete(A{"pk": fmt.Sprint(i)}))
	}
	two := txDelete(A{"pk": "a"})
	two.Put = txPut(A{"pk": "a"}, "").Put
	elsewhere := txDelete(A{"pk": "a"})
	elsewhere.Delete.TableName = ptr("Nowhere")
	for _, c := range []struct {
		name  string
		items []types.TransactWriteItem
		code  string
		text  string
	}{
		{"none", []types.TransactWriteItem{}, "ValidationException", "Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"too many", many, "ValidationException", "Member must have length less than or equal to 100"},
		{"one item twice", []types.TransactWriteItem{txPut(A{"pk": "a"}, ""), txCheck(A{"pk": "a"}, "attribute_exists(pk)")}, "ValidationException", "Transaction request cannot include multiple operations on one item"},
		{"two actions in one", []types.TransactWriteItem{two}, "ValidationException", "TransactItems can only contain one of Check, Put, Update or Delete"},
		{"no table", []types.TransactWriteItem{elsewhere}, "ResourceNotFoundException", "Requested resource not found"},
		{"syntax", []types.TransactWriteItem{txCheck(A{"pk": "a"}, "!!!")}, "ValidationException", "Syntax error"},
		{"put too large", []types.TransactWriteItem{txPut(A{"pk": "a", "v": strings.Repeat("x", 400<<10)}, "")}, "ValidationException", "Item size has exceeded the maximum allowed size"},
		{"wrong key", []types.TransactWriteItem{txDelete(A{"pk": 1})}, "TransactionCanceledException", "[ValidationError]"},
	} {
		f.sub(c.name, func(f *fixture) { f.refused(f.transact("", c.items...), c.code, c.text) })
	}
}

// transactTokens checks that repeating a transaction with its token has no second effect.
func (f *fixture) transactTokens() {
	add := func(table A) types.TransactWriteItem { return txUpdate(A{"pk": "sum"}, "ADD n :v", table) }
	f.ok(f.transact("token-1", add(A{":v": num("1.0")})))
	f.ok(f.transact("token-1", add(A{":v": num("1")})))
	f.same("applied once", f.get("Items", A{"pk": "sum"}), A{"pk": "sum", "n": 1})
	f.refused(f.transact("token-1", add(A{":v": 2})), "IdempotentParameterMismatchException", "")
	f.ok(f.transact("token-2", add(A{":v": 2})))
	f.same("another token", f.get("Items", A{"pk": "sum"}), A{"pk": "sum", "n": 3})
	f.refused(f.transact("token-3", txCheck(A{"pk": "sum"}, "attribute_not_exists(pk)")), "TransactionCanceledException", "")
	f.ok(f.transact("token-3", add(A{":v": 1})))
	f.same("a cancelled transaction does not use its token", f.get("Items", A{"pk": "sum"}), A{"pk": "sum", "n": 4})
}

func testTransactGet(f *fixture) {
	f.define("Items", false)
	f.put("Items", A{"pk": "a", "v": 1, "w": 2})
	get := func(key A, projection string) types.TransactGetItem {
		g := &types.Get{TableName: ptr("Items"), Key: key.item()}
		if projection != "" {
			g.ProjectionExpression = &projection
		}
		return types.TransactGetItem{Get: g}
	}
	out, err := f.api.TransactGetItems(f.ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get(A{"pk": "none"}, ""), get(A{"pk": "a"}, "v")}})
	f.ok(err)
	if len(out.Responses) != 2 {
		f.Fatalf("%d responses", len(out.Responses))
	}
	f.same("missing", out.Responses[0].Item, nil)
	f.same("projected", out.Responses[1].Item, A{"v": 1})
	_, err = f.api.TransactGetItems(f.ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{}})
	f.invalid(err, "Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1")
	_, err = f.api.TransactGetItems(f.ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get(A{"pk": "a"}, "!!!")}})
	f.invalid(err, `Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"`)
	_, err = f.api.TransactGetItems(f.ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get(A{"x": "a"}, "")}})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || *cancelled.CancellationReasons[0].Code != "ValidationError" {
		f.Errorf("a wrong key: %v", err)
	}
}
