package dynamotest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// updateCase is one update of an item with the key pk = "u".
type updateCase struct {
	name   string
	before A // without the key; nil: no item
	update string
	values A
	after  A      // without the key
	text   string // expected text of a ValidationException, in place of after
}

func (c *updateCase) input() *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{TableName: ptr("Items"), Key: A{"pk": "u"}.item(), ExpressionAttributeValues: c.values.item()}
	if c.update != "" {
		in.UpdateExpression = &c.update
	}
	return in
}

func keyed(a A) A {
	it := A{"pk": "u"}
	for k, v := range a {
		it[k] = v
	}
	return it
}

var updateCases = []updateCase{
	{name: "without expression makes an item of the key", after: A{}},
	{name: "set", update: "SET a = :v, b = :v", values: A{":v": 1}, after: A{"a": 1, "b": 1}},
	{name: "right sides read the old item", before: A{"a": 1, "b": 2}, update: "SET a = b, b = a", after: A{"a": 2, "b": 1}},
	{name: "arithmetic", before: A{"a": 5}, update: "SET a = a - :two, b = :two + a", values: A{":two": 2}, after: A{"a": 3, "b": 7}},
	{name: "if_not_exists", before: A{"a": 1}, update: "SET a = if_not_exists(a, :v), b = if_not_exists(b, :v) + :v", values: A{":v": 9}, after: A{"a": 1, "b": 18}},
	{name: "list_append", before: A{"l": []any{1}}, update: "SET l = list_append(l, :v), k = list_append(:v, l)", values: A{":v": []any{2}}, after: A{"l": []any{1, 2}, "k": []any{2, 1}}},
	{name: "nested", before: A{"m": A{"x": A{}}}, update: "SET m.x.y = :v, m.z = :v", values: A{":v": "w"}, after: A{"m": A{"x": A{"y": "w"}, "z": "w"}}},
	{name: "index past the end appends", before: A{"l": []any{1}}, update: "SET l[7] = :v", values: A{":v": 2}, after: A{"l": []any{1, 2}}},
	{name: "remove several indexes", before: A{"l": []any{0, 1, 2, 3}}, update: "REMOVE l[0], l[2]", after: A{"l": []any{1, 3}}},
	{name: "remove what is not there", before: A{"a": 1}, update: "REMOVE b, c", after: A{"a": 1}},
	{name: "add to a number", before: A{"a": 1}, update: "ADD a :v, b :v", values: A{":v": 2}, after: A{"a": 3, "b": 2}},
	{name: "add to a set", before: A{"s": ss{"x"}}, update: "ADD s :v", values: A{":v": ss{"x", "y"}}, after: A{"s": ss{"x", "y"}}},
	{name: "delete from a set", before: A{"s": ss{"x", "y"}, "t": ss{"x"}}, update: "DELETE s :v, t :v", values: A{":v": ss{"x"}}, after: A{"s": ss{"y"}}},
	{name: "all clauses", before: A{"a": 1, "b": 1, "s": ns{"1", "2"}}, update: "DELETE s :s ADD c :one REMOVE b SET a = :one", values: A{":s": ns{"1"}, ":one": 1}, after: A{"a": 1, "c": 1, "s": ns{"2"}}},
	{name: "no parent", before: A{"a": 1}, update: "SET m.x = :v", values: A{":v": 1}, text: "The document path provided in the update expression is invalid for update"},
	{name: "clause twice", update: "SET a = :v SET b = :v", values: A{":v": 1}, text: "The \"SET\" section can only be used once in an update expression"},
	{name: "overlap", before: A{"m": A{}}, update: "SET m.x = :v REMOVE m", values: A{":v": 1}, text: "Two document paths overlap with each other; must remove or rewrite one of these paths"},
	{name: "key", update: "SET pk = :v", values: A{":v": "x"}, text: "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"},
	{name: "missing operand", before: A{}, update: "SET a = b", text: "The provided expression refers to an attribute that does not exist in the item"},
	{name: "type of an operand", before: A{"a": "x"}, update: "SET a = a + :v", values: A{":v": 1}, text: "An operand in the update expression has an incorrect data type"},
	{name: "add to a string", before: A{"a": "x"}, update: "ADD a :v", values: A{":v": 1}, text: "An operand in the update expression has an incorrect data type"},
	{name: "add a string", update: "ADD a :v", values: A{":v": "x"}, text: "Incorrect operand type for operator or function; operator: ADD, operand type: STRING"},
	{name: "nested list_append", update: "SET a = list_append(list_append(:v, :v), :v)", values: A{":v": []any{}}, text: "The function is not allowed to be used this way in an expression; function: list_append"},
	{name: "empty", update: " ", text: "Invalid UpdateExpression"},
	{name: "unused value", update: "REMOVE a", values: A{":v": 1}, text: "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"},
	{name: "syntax", update: "INVALID SYNTAX HERE", values: A{":v": 1}, text: `Invalid UpdateExpression: Syntax error; token: "INVALID", near: "INVALID SYNTAX"`},
}

func testUpdate(f *fixture) {
	f.define("Items", false, index("byG", "g", "", types.ProjectionTypeAll))
	for _, c := range updateCases {
		f.sub(c.name, func(f *fixture) {
			_, err := f.api.DeleteItem(f.ctx, &dynamodb.DeleteItemInput{TableName: ptr("Items"), Key: A{"pk": "u"}.item()})
			f.ok(err)
			if c.before != nil {
				f.put("Items", keyed(c.before))
			}
			_, err = f.api.UpdateItem(f.ctx, c.input())
			if c.text != "" {
				f.invalid(err, c.text)
				return
			}
			f.ok(err)
			f.same("after", f.get("Items", A{"pk": "u"}), keyed(c.after))
		})
	}
	_, err := f.api.UpdateItem(f.ctx, (&updateCase{update: "SET g = :v", values: A{":v": 1}}).input())
	f.invalid(err, "Type mismatch for Index Key g Expected: S Actual: N IndexName: byG")
	f.sub("empty index key", func(f *fixture) {
		_, err := f.api.UpdateItem(f.ctx, (&updateCase{update: "SET g = :v", values: A{":v": ""}}).input())
		f.invalid(err, "A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: byG, IndexKey: g")
	})
	f.updateReturns()
}

func (f *fixture) updateReturns() {
	before := A{"a": 1, "m": A{"x": 1, "y": 2}, "l": []any{"p", "q"}, "other": "o"}
	c := updateCase{update: "SET a = :v, m.x = :v, l[1] = :v, n = :v", values: A{":v": 5}}
	for how, want := range map[types.ReturnValue]A{
		types.ReturnValueNone:       nil,
		types.ReturnValueAllOld:     keyed(before),
		types.ReturnValueAllNew:     keyed(A{"a": 5, "m": A{"x": 5, "y": 2}, "l": []any{"p", 5}, "other": "o", "n": 5}),
		types.ReturnValueUpdatedOld: {"a": 1, "m": A{"x": 1}, "l": []any{"q"}},
		types.ReturnValueUpdatedNew: {"a": 5, "m": A{"x": 5}, "l": []any{5}, "n": 5},
	} {
		f.put("Items", keyed(before))
		in := c.input()
		in.ReturnValues = how
		out, err := f.api.UpdateItem(f.ctx, in)
		f.ok(err)
		f.same(string(how), out.Attributes, want)
	}
	_, err := f.api.DeleteItem(f.ctx, &dynamodb.DeleteItemInput{TableName: ptr("Items"), Key: A{"pk": "u"}.item()})
	f.ok(err)
	in := (&updateCase{update: "SET a = :v", values: A{":v": 5}}).input()
	in.ReturnValues = types.ReturnValueAllOld
	out, err := f.api.UpdateItem(f.ctx, in)
	f.ok(err)
	f.same("old of a new item", out.Attributes, nil)
}
