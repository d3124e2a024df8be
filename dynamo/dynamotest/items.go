package dynamotest

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func testPut(f *fixture) {
	f.define("Items", false)
	whole := A{"pk": "all", "s": "text", "empty": "", "n": num("1.5"), "b": []byte{0, 1, 255}, "none": nil, "yes": true, "no": false,
		"l": []any{"a", 1, []any{}, A{}}, "m": A{"x": A{"y": 1}}, "ss": ss{"b", "a"}, "ns": ns{"3", "1"}, "bs": bs{{1}, {0}}}
	f.put("Items", whole)
	f.same("every type", f.get("Items", A{"pk": "all"}), whole)

	put := func(it A, change ...func(*dynamodb.PutItemInput)) (*dynamodb.PutItemOutput, error) {
		in := &dynamodb.PutItemInput{TableName: ptr("Items"), Item: it.item()}
		for _, c := range change {
			c(in)
		}
		return f.api.PutItem(f.ctx, in)
	}
	allOld := func(in *dynamodb.PutItemInput) { in.ReturnValues = types.ReturnValueAllOld }
	out, err := put(A{"pk": "new", "v": 1}, allOld)
	f.ok(err)
	f.same("old of a new item", out.Attributes, nil)
	out, err = put(A{"pk": "new", "w": 2}, allOld)
	f.ok(err)
	f.same("old of a replaced item", out.Attributes, A{"pk": "new", "v": 1})
	f.same("the item is replaced, not merged", f.get("Items", A{"pk": "new"}), A{"pk": "new", "w": 2})

	_, err = put(A{"pk": "x"}, func(in *dynamodb.PutItemInput) { in.ReturnValues = types.ReturnValueAllNew })
	f.invalid(err, "ReturnValues can only be ALL_OLD or NONE")
	for _, c := range []struct {
		name string
		it   A
		text string
	}{
		{"no key", A{"v": 1}, "One or more parameter values were invalid: Missing the key pk in the item"},
		{"key of another type", A{"pk": 1}, "Type mismatch for key pk expected: S actual: N"},
		{"empty key", A{"pk": ""}, "The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
		{"empty set", A{"pk": "x", "s": ss{}}, "An string set  may not be empty"},
		{"empty set inside", A{"pk": "x", "m": A{"l": []any{ns{}}}}, "An number set  may not be empty"},
		{"duplicate in a set", A{"pk": "x", "s": ss{"a", "a"}}, "Input collection [a, a] contains duplicates"},
		{"equal numbers in a set", A{"pk": "x", "s": ns{"1", "1.0"}}, "contains duplicates"},
		{"null that is false", A{"pk": "x", "s": &types.AttributeValueMemberNULL{}}, "Null attribute value types must have the value of true"},
		{"no number", A{"pk": "x", "n": num("ten")}, "cannot be converted to a numeric value"},
	} {
		f.sub(c.name, func(f *fixture) {
			_, err := put(c.it)
			f.invalid(err, c.text)
		})
	}
}

func testGet(f *fixture) {
	f.define("Items", true)
	f.put("Items", A{"pk": "a", "sk": "1", "m": A{"x": []any{"p", "q", A{"z": 1}}, "y": 2}, "v": "w"})
	get := func(key A, projection string, names map[string]string) (map[string]types.AttributeValue, error) {
		in := &dynamodb.GetItemInput{TableName: ptr("Items"), Key: key.item(), ExpressionAttributeNames: names}
		if projection != "" {
			in.ProjectionExpression = &projection
		}
		out, err := f.api.GetItem(f.ctx, in)
		if err != nil {
			return nil, err
		}
		return out.Item, nil
	}
	key := A{"pk": "a", "sk": "1"}
	for _, c := range []struct {
		projection string
		names      map[string]string
		want       A
	}{
		{"v, pk", nil, A{"v": "w", "pk": "a"}},
		{"m.y", nil, A{"m": A{"y": 2}}},
		{"m.x[0], m.x[2].z", nil, A{"m": A{"x": []any{"p", A{"z": 1}}}}},
		{"m.x[1]", nil, A{"m": A{"x": []any{"q"}}}},
		{"nothing.below.there", nil, A{}},
		{"#m.#y", map[string]string{"#m": "m", "#y": "y"}, A{"m": A{"y": 2}}},
	} {
		it, err := get(key, c.projection, c.names)
		f.ok(err)
		f.same(c.projection, it, c.want)
	}
	it, err := get(A{"pk": "a", "sk": "2"}, "v", nil)
	f.ok(err)
	f.same("no item", it, nil)
	for _, c := range []struct {
		name, projection string
		key              A
		names            map[string]string
		text             string
	}{
		{"path into a key", "pk.x", key, nil, "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk"},
		{"overlap", "m, m.x", key, nil, "Two document paths overlap with each other"},
		{"reserved word", "name", key, nil, "Attribute name is a reserved keyword; reserved keyword: name"},
		{"syntax", "a b", key, nil, "Invalid ProjectionExpression: Syntax error"},
		{"undefined name", "#n", key, nil, "An expression attribute name used in the document path is not defined; attribute name: #n"},
		{"unused name", "v", key, map[string]string{"#n": "n"}, "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}"},
		{"missing sort key", "", A{"pk": "a"}, nil, "The provided key element does not match the schema"},
		{"more than the key", "", A{"pk": "a", "sk": "1", "v": "w"}, nil, "The provided key element does not match the schema"},
		{"key of another type", "", A{"pk": "a", "sk": 1}, nil, "The provided key element does not match the schema"},
		{"empty key", "", A{"pk": "a", "sk": ""}, nil, "The AttributeValue for a key attribute cannot contain an empty string value"},
	} {
		f.sub(c.name, func(f *fixture) {
			_, err := get(c.key, c.projection, c.names)
			f.invalid(err, c.text)
		})
	}
}

func testDelete(f *fixture) {
	f.define("Items", false)
	f.put("Items", A{"pk": "a", "v": 1})
	del := func(key A, condition string) (*dynamodb.DeleteItemOutput, error) {
		in := &dynamodb.DeleteItemInput{TableName: ptr("Items"), Key: key.item(), ReturnValues: types.ReturnValueAllOld}
		if condition != "" {
			in.ConditionExpression = &condition
		}
		return f.api.DeleteItem(f.ctx, in)
	}
	_, err := del(A{"pk": "a"}, "attribute_exists(w)")
	f.refused(err, "ConditionalCheckFailedException", "The conditional request failed")
	out, err := del(A{"pk": "a"}, "attribute_exists(v)")
	f.ok(err)
	f.same("what was deleted", out.Attributes, A{"pk": "a", "v": 1})
	out, err = del(A{"pk": "a"}, "")
	f.ok(err)
	f.same("nothing was deleted", out.Attributes, nil)
	_, err = del(A{"pk": 1}, "")
	f.invalid(err, "The provided key element does not match the schema")
	_, err = del(A{"pk": "none"}, "attribute_exists(pk)")
	f.refused(err, "ConditionalCheckFailedException", "The conditional request failed")
}

// testConditions checks the results of conditions.
func testConditions(f *fixture) {
	f.define("Items", false)
	f.put("Items", A{"pk": "a", "s": "hello", "n": num("5"), "m": A{"k": "v", "l": []any{1, 2}}, "t": ss{"x", "y"}, "b": true, "z": nil})
	values := A{":s": "hello", ":h": "he", ":n": num("5.0"), ":six": 6, ":t": "x", ":l": []any{1, 2}, ":S": "S", ":v": "v", ":four": 4, ":b": true}
	for _, c := range []struct {
		condition string
		holds     bool
	}{
		{"s = :s", true}, {"n = :n", true}, {"s <> :s", false}, {"absent = lacking", false}, {"absent <> lacking", true},
		{"absent = :s", false}, {"absent <> :s", true}, {"n < :s", false}, {"n > :s", false}, {"n <> :s", true},
		{"n BETWEEN :four AND :six", true}, {"n between :six and :six", false}, {"n IN (:four, :six, :n)", true}, {"s IN (:h)", false},
		{"attribute_exists(m.k)", true}, {"attribute_exists(m.l[2])", false}, {"attribute_not_exists(m.x)", true},
		{"attribute_type(s, :S)", true}, {"attribute_type(n, :S)", false}, {"begins_with(s, :h)", true}, {"begins_with(n, :h)", false},
		{"contains(s, :h)", true}, {"contains(t, :t)", true}, {"contains(m.l, :four)", false}, {"size(s) = :n", true}, {"size(n) = :n", false},
		{"m.l = :l", true}, {"m.k = :v AND NOT s = :h", true}, {"NOT s = :h AND s = :h", false}, {"s = :h OR s = :s AND n = :n", true},
		{"(s = :s OR s = :h) AND n = :six", false}, {"b = :b", true}, {"attribute_exists(z)", true}, {"NOT (NOT (s = :s))", true},
	} {
		f.sub(c.condition, func(f *fixture) {
			used := A{}
			for name, v := range values {
				if usesValue(c.condition, name) {
					used[name] = v
				}
			}
			update := &dynamodb.UpdateItemInput{TableName: ptr("Items"), Key: A{"pk": "a"}.item(), UpdateExpression: ptr("REMOVE never"), ConditionExpression: &c.condition}
			if len(used) > 0 {
				update.ExpressionAttributeValues = used.item()
			}
			_, err := f.api.UpdateItem(f.ctx, update)
			if c.holds {
				f.ok(err)
			} else {
				f.refused(err, "ConditionalCheckFailedException", "The conditional request failed")
			}
		})
	}
	f.conditionFaults()
	f.sub("item that fails", (*fixture).conditionItem)
}

// usesValue reports whether an expression contains a value placeholder, and not just a longer one
// with the same beginning.
func usesValue(expression, name string) bool {
	for i := strings.Index(expression, name); i >= 0; {
		end := i + len(name)
		if end == len(expression) || !strings.ContainsAny(expression[end:end+1], "abcdefghijklmnopqrstuvwxyz_0123456789") {
			return true
		}
		next := strings.Index(expression[end:], name)
		if next < 0 {
			return false
		}
		i = end + next
	}
	return false
}

func (f *fixture) conditionFaults() {
	for _, c := range []struct {
		name, condition string
		values          A
		text            string
	}{
		{"syntax", "a = ", nil, "Invalid ConditionExpression: Syntax error"},
		{"empty", "", nil, "Invalid ConditionExpression: The expression can not be empty;"},
		{"undefined value", "s = :x", nil, "An expression attribute value used in expression is not defined; attribute value: :x"},
		{"undefined value behind OR", "attribute_exists(pk) OR s = :x", nil, "An expression attribute value used in expression is not defined; attribute value: :x"},
		{"unused value", "attribute_exists(pk)", A{":x": 1}, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:x}"},
		{"unknown function", "exists(pk)", nil, "Invalid function name; function: exists"},
		{"reserved word in any case", "Status = :x", A{":x": 1}, "Attribute name is a reserved keyword; reserved keyword: Status"},
		{"too long", "attribute_exists(" + strings.Repeat("a", 4100) + ")", nil, "Expression size has exceeded the maximum allowed size"},
	} {
		f.sub(c.name, func(f *fixture) {
			_, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: A{"pk": "a"}.item(), ConditionExpression: &c.condition, ExpressionAttributeValues: c.values.item()})
			f.invalid(err, c.text)
		})
	}
	_, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: A{"pk": "a"}.item(), ExpressionAttributeValues: A{":x": 1}.item()})
	f.invalid(err, "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null")
}

// conditionItem checks that a failed condition returns the item if requested.
func (f *fixture) conditionItem() {
	f.put("Items", A{"pk": "told", "v": 1})
	in := &dynamodb.PutItemInput{TableName: ptr("Items"), Item: A{"pk": "told"}.item(), ConditionExpression: ptr("attribute_not_exists(pk)")}
	for _, all := range []bool{false, true} {
		var want A
		if all {
			in.ReturnValuesOnConditionCheckFailure, want = types.ReturnValuesOnConditionCheckFailureAllOld, A{"pk": "told", "v": 1}
		}
		_, err := f.api.PutItem(f.ctx, in)
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			f.Fatalf("got %v", err)
		}
		f.same("the item that failed the condition", failed.Item, want)
	}
}

func testNumbers(f *fixture) {
	f.define("Items", false)
	nines := strings.Repeat("9", 38)
	for _, c := range []struct{ in, out string }{
		{"007", "7"}, {"-0", "0"}, {".5", "0.5"}, {"1.500", "1.5"}, {"+3", "3"}, {"1e3", "1000"}, {"1E125", "1" + strings.Repeat("0", 125)},
		{"1e-3", "0.001"}, {"0e99", "0"}, {"-1.10", "-1.1"}, {nines, nines}, {"0.1e1", "1"}, {"-" + nines + "e87", "-" + nines + strings.Repeat("0", 87)},
		{"1E-130", "0." + strings.Repeat("0", 129) + "1"},
	} {
		f.sub("taken "+c.in, func(f *fixture) {
			f.put("Items", A{"pk": "n", "n": num(c.in)})
			f.same(c.in, f.get("Items", A{"pk": "n"}), A{"pk": "n", "n": num(c.out)})
		})
	}
	for in, text := range map[string]string{
		"1e126": "Number overflow", "-1e126": "Number overflow", "1e-131": "Number underflow", "1" + nines: "more than 38 significant digits",
		"1e100000000000": "", "NaN": "cannot be converted to a numeric value", "Infinity": "cannot be converted", "": "cannot be converted", "1 ": "", "0x1": "cannot be converted",
	} {
		f.sub("refused "+in, func(f *fixture) {
			_, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: A{"pk": "n", "n": num(in)}.item()})
			f.invalid(err, text)
		})
	}
	f.sub("sum of too many digits", func(f *fixture) {
		f.put("Items", A{"pk": "sum", "n": num(nines)})
		_, err := f.api.UpdateItem(f.ctx, &dynamodb.UpdateItemInput{TableName: ptr("Items"), Key: A{"pk": "sum"}.item(), UpdateExpression: ptr("SET n = n + :d"),
			ExpressionAttributeValues: A{":d": num("0.1")}.item()})
		f.invalid(err, "")
	})
	_, err := f.api.UpdateItem(f.ctx, &dynamodb.UpdateItemInput{TableName: ptr("Items"), Key: A{"pk": "sum"}.item(), UpdateExpression: ptr("SET n = :a - :b"),
		ExpressionAttributeValues: A{":a": num("0.3"), ":b": num("0.1")}.item()})
	f.ok(err)
	f.same("decimal arithmetic", f.get("Items", A{"pk": "sum"}), A{"pk": "sum", "n": num("0.2")})
}

// testKeys checks numeric and binary keys: different spellings of a number are one key, and keys
// are ordered by value.
func testKeys(f *fixture) {
	f.define("Counted", true, keyType("pk", "N"), keyType("sk", "N"))
	f.put("Counted", A{"pk": num("1.0"), "sk": num("2"), "v": "a"})
	f.put("Counted", A{"pk": num("1"), "sk": num("2.00"), "v": "b"})
	f.same("one key", f.get("Counted", A{"pk": num("01"), "sk": num("20e-1")}), A{"pk": num("1"), "sk": num("2"), "v": "b"})
	sorted := []string{"-100", "-10.5", "-1", "-0.001", "0", "0.0000001", "0.5", "3", "20", "1000000"}
	for _, i := range []int{4, 7, 1, 9, 0, 3, 2, 8, 6, 5} {
		f.put("Counted", A{"pk": 7, "sk": num(sorted[i])})
	}
	out, err := f.api.Query(f.ctx, &dynamodb.QueryInput{TableName: ptr("Counted"), KeyConditionExpression: ptr("pk = :p"), ExpressionAttributeValues: A{":p": 7}.item()})
	f.ok(err)
	var want []A
	for _, s := range sorted {
		want = append(want, A{"pk": 7, "sk": num(s)})
	}
	f.items("numbers in order", out.Items, want...)

	f.define("Bytes", true, keyType("pk", "B"), keyType("sk", "B"))
	keys := [][]byte{{0}, {0, 0}, {0, 1}, {0, 255}, {1}, {1, 0}, {127}, {128}, {255}, {255, 0}, {255, 255}}
	for _, i := range []int{5, 0, 10, 3, 8, 1, 9, 2, 7, 4, 6} {
		f.put("Bytes", A{"pk": []byte{0, 255}, "sk": keys[i]})
	}
	out, err = f.api.Query(f.ctx, &dynamodb.QueryInput{TableName: ptr("Bytes"), KeyConditionExpression: ptr("pk = :p"), ExpressionAttributeValues: A{":p": []byte{0, 255}}.item()})
	f.ok(err)
	want = nil
	for _, k := range keys {
		want = append(want, A{"pk": []byte{0, 255}, "sk": k})
	}
	f.items("bytes in order", out.Items, want...)
}

func testLimits(f *fixture) {
	f.define("Items", true)
	put := func(it A) error {
		_, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: it.item()})
		return err
	}
	f.ok(put(A{"pk": strings.Repeat("p", 2048), "sk": strings.Repeat("s", 1024)}))
	f.invalid(put(A{"pk": strings.Repeat("p", 2049), "sk": "s"}), "Size of hashkey has exceeded the maximum size limit of2048 bytes")
	f.invalid(put(A{"pk": "p", "sk": strings.Repeat("s", 1025)}), "Aggregated size of all range keys has exceeded the size limit of 1024 bytes")

	const limit = 400 * 1024
	fits := limit - len("pk") - 1 - len("sk") - 1 - len("v")
	f.ok(put(A{"pk": "a", "sk": "b", "v": strings.Repeat("x", fits)}))
	f.invalid(put(A{"pk": "a", "sk": "b", "v": strings.Repeat("x", fits+1)}), "Item size has exceeded the maximum allowed size")
	_, err := f.api.UpdateItem(f.ctx, &dynamodb.UpdateItemInput{TableName: ptr("Items"), Key: A{"pk": "a", "sk": "b"}.item(), UpdateExpression: ptr("SET w = :w"), ExpressionAttributeValues: A{":w": 1}.item()})
	f.invalid(err, "Item size to update has exceeded the maximum allowed size")

	deep := func(levels int) any {
		var v any = "bottom"
		for range levels - 1 {
			v = []any{v}
		}
		return v
	}
	f.ok(put(A{"pk": "deep", "sk": "s", "v": deep(32)}))
	f.sub("too deep", func(f *fixture) {
		f.invalid(put(A{"pk": "deep", "sk": "s", "v": deep(33)}), "Nesting Levels have exceeded supported limits")
	})
}

// testLegacy checks the legacy parameters from before expressions.
func testLegacy(f *fixture) {
	f.define("Items", true)
	f.put("Items", A{"pk": "a", "sk": "1", "n": 1, "t": ss{"x"}, "gone": "g"})
	_, err := f.api.UpdateItem(f.ctx, &dynamodb.UpdateItemInput{TableName: ptr("Items"), Key: A{"pk": "a", "sk": "1"}.item(),
		Expected: map[string]types.ExpectedAttributeValue{"n": {Value: value(1)}, "none": {Exists: ptr(false)}},
		AttributeUpdates: map[string]types.AttributeValueUpdate{
			"n": {Action: types.AttributeActionAdd, Value: value(4)}, "t": {Action: types.AttributeActionAdd, Value: value(ss{"y"})},
			"gone": {Action: types.AttributeActionDelete}, "name": {Value: value("put")}}})
	f.ok(err)
	f.same("updated", f.get("Items", A{"pk": "a", "sk": "1"}), A{"pk": "a", "sk": "1", "n": 5, "t": ss{"x", "y"}, "name": "put"})
	_, err = f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: A{"pk": "a", "sk": "1"}.item(),
		Expected: map[string]types.ExpectedAttributeValue{"n": {ComparisonOperator: types.ComparisonOperatorGt, AttributeValueList: []types.AttributeValue{value(9)}}}})
	f.refused(err, "ConditionalCheckFailedException", "The conditional request failed")
	_, err = f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: A{"pk": "a", "sk": "1"}.item(), ConditionExpression: ptr("attribute_exists(pk)"),
		Expected: map[string]types.ExpectedAttributeValue{"n": {Exists: ptr(false)}}})
	f.invalid(err, "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}")
	f.put("Items", A{"pk": "a", "sk": "2", "n": 7})
	q, err := f.api.Query(f.ctx, &dynamodb.QueryInput{TableName: ptr("Items"), AttributesToGet: []string{"n", "sk"},
		KeyConditions: map[string]types.Condition{"pk": {ComparisonOperator: types.ComparisonOperatorEq, AttributeValueList: []types.AttributeValue{value("a")}},
			"sk": {ComparisonOperator: types.ComparisonOperatorGe, AttributeValueList: []types.AttributeValue{value("1")}}},
		QueryFilter: map[string]types.Condition{"n": {ComparisonOperator: types.ComparisonOperatorGt, AttributeValueList: []types.AttributeValue{value(6)}}}})
	f.ok(err)
	f.items("legacy query", q.Items, A{"sk": "2", "n": 7})
	s, err := f.api.Scan(f.ctx, &dynamodb.ScanInput{TableName: ptr("Items"), ScanFilter: map[string]types.Condition{"name": {ComparisonOperator: types.ComparisonOperatorNotNull}}})
	f.ok(err)
	if s.Count != 1 || s.ScannedCount != 2 {
		f.Errorf("legacy scan: %d of %d", s.Count, s.ScannedCount)
	}
}
