package dynamotest

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// query runs a query on the table Items.
func (f *fixture) query(keys string, values A, change ...func(*dynamodb.QueryInput)) (*dynamodb.QueryOutput, error) {
	in := &dynamodb.QueryInput{TableName: ptr("Items"), KeyConditionExpression: &keys, ExpressionAttributeValues: values.item()}
	for _, c := range change {
		c(in)
	}
	return f.api.Query(f.ctx, in)
}

func testQuery(f *fixture) {
	f.define("Items", true)
	for _, sk := range []string{"a", "ab", "abc", "b", "c#1", "c#2", "d"} {
		f.put("Items", A{"pk": "p", "sk": sk, "len": len(sk)})
	}
	f.put("Items", A{"pk": "p2", "sk": "a"})
	for _, c := range []struct {
		keys   string
		values A
		want   string
	}{
		{"pk = :p", A{":p": "p"}, "a ab abc b c#1 c#2 d"},
		{"pk = :p AND sk = :s", A{":p": "p", ":s": "ab"}, "ab"},
		{"sk < :s AND pk = :p", A{":p": "p", ":s": "ab"}, "a"},
		{":p = pk AND (sk <= :s)", A{":p": "p", ":s": "ab"}, "a ab"},
		{"(pk = :p) AND sk > :s", A{":p": "p", ":s": "c#1"}, "c#2 d"},
		{"pk = :p AND sk >= :s", A{":p": "p", ":s": "c#1"}, "c#1 c#2 d"},
		{"pk = :p AND sk BETWEEN :s AND :t", A{":p": "p", ":s": "ab", ":t": "b"}, "ab abc b"},
		{"pk = :p AND begins_with(sk, :s)", A{":p": "p", ":s": "c#"}, "c#1 c#2"},
		{"pk = :p AND begins_with(sk, :s)", A{":p": "p", ":s": "a"}, "a ab abc"},
		{"pk = :p", A{":p": "none"}, ""},
	} {
		f.sub(c.keys, func(f *fixture) {
			for _, forward := range []bool{true, false} {
				out, err := f.query(c.keys, c.values, func(in *dynamodb.QueryInput) { in.ScanIndexForward = &forward })
				f.ok(err)
				want := strings.Fields(c.want)
				if !forward {
					for i, j := 0, len(want)-1; i < j; i, j = i+1, j-1 {
						want[i], want[j] = want[j], want[i]
					}
				}
				if got := sortKeys(out.Items); got != strings.Join(want, " ") {
					f.Errorf("forward %v: got %q, want %q", forward, got, want)
				}
			}
		})
	}
	f.queryParts()
	f.queryFaults()
}

func sortKeys(items []map[string]types.AttributeValue) string {
	var keys []string
	for _, it := range items {
		keys = append(keys, it["sk"].(*types.AttributeValueMemberS).Value)
	}
	return strings.Join(keys, " ")
}

// queryParts checks filter, projection, counting and limits.
func (f *fixture) queryParts() {
	p := A{":p": "p"}
	out, err := f.query("pk = :p", A{":p": "p", ":n": 2}, func(in *dynamodb.QueryInput) {
		in.FilterExpression = ptr("len > :n")
		in.ProjectionExpression = ptr("sk")
	})
	f.ok(err)
	f.items("filtered and projected", out.Items, A{"sk": "abc"}, A{"sk": "c#1"}, A{"sk": "c#2"})
	if out.Count != 3 || out.ScannedCount != 7 {
		f.Errorf("count %d of %d", out.Count, out.ScannedCount)
	}
	out, err = f.query("pk = :p", p, func(in *dynamodb.QueryInput) { in.Select = types.SelectCount })
	f.ok(err)
	if out.Count != 7 || out.Items != nil {
		f.Errorf("count %d with %d items", out.Count, len(out.Items))
	}
	out, err = f.query("pk = :p", A{":p": "p", ":n": 9}, func(in *dynamodb.QueryInput) { in.FilterExpression = ptr("len = :n"); in.Limit = ptr(int32(2)) })
	f.ok(err)
	if out.Count != 0 || out.ScannedCount != 2 {
		f.Errorf("count %d of %d", out.Count, out.ScannedCount)
	}
	f.same("an empty page goes on", out.LastEvaluatedKey, A{"pk": "p", "sk": "ab"})
	out, err = f.query("pk = :p", p, func(in *dynamodb.QueryInput) { in.Limit = ptr(int32(7)) })
	f.ok(err)
	f.same("a limit met exactly at the end", out.LastEvaluatedKey, A{"pk": "p", "sk": "d"})
	out, err = f.query("pk = :p", p, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = out.LastEvaluatedKey })
	f.ok(err)
	if out.Count != 0 || out.LastEvaluatedKey != nil {
		f.Errorf("behind the end: %d, %v", out.Count, out.LastEvaluatedKey)
	}
	out, err = f.query("pk = :p", p, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = A{"pk": "p", "sk": "aa"}.item() })
	f.ok(err)
	if got := sortKeys(out.Items); got != "ab abc b c#1 c#2 d" {
		f.Errorf("behind an item that is not there: %s", got)
	}
}

func (f *fixture) queryFaults() {
	start := func(a A) func(*dynamodb.QueryInput) {
		return func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = a.item() }
	}
	for _, c := range []struct {
		name, keys string
		values     A
		change     func(*dynamodb.QueryInput)
		text       string
	}{
		{"no hash key", "sk = :s", A{":s": "a"}, nil, "Query condition missed key schema element: pk"},
		{"another attribute", "pk = :p AND len = :p", A{":p": "p"}, nil, "Query condition missed key schema element: sk"},
		{"range on the hash key", "pk > :p", A{":p": "p"}, nil, "Query key condition not supported"},
		{"two conditions on a key", "pk = :p AND sk > :p AND sk < :p", A{":p": "p"}, nil, ""},
		{"or", "pk = :p OR sk = :p", A{":p": "p"}, nil, "Invalid operator used in KeyConditionExpression: OR"},
		{"unequal", "pk = :p AND sk <> :p", A{":p": "p"}, nil, "Invalid operator used in KeyConditionExpression: <>"},
		{"type", "pk = :p", A{":p": 1}, nil, "Condition parameter type does not match schema type"},
		{"bounds in the wrong order", "pk = :p AND sk BETWEEN :b AND :a", A{":p": "p", ":a": "a", ":b": "b"}, nil, "lower bound"},
		{"empty", "", A{":p": "p"}, nil, "Invalid KeyConditionExpression: The expression can not be empty;"},
		{"filter on a key", "pk = :p", A{":p": "p"}, func(in *dynamodb.QueryInput) { in.FilterExpression = ptr("sk = :p") }, "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"},
		{"limit", "pk = :p", A{":p": "p"}, func(in *dynamodb.QueryInput) { in.Limit = ptr(int32(0)) }, "Member must have value greater than or equal to 1"},
		{"no index", "pk = :p", A{":p": "p"}, func(in *dynamodb.QueryInput) { in.IndexName = ptr("none") }, "The table does not have the specified index: none"},
		{"select", "pk = :p", A{":p": "p"}, func(in *dynamodb.QueryInput) { in.Select = types.SelectAllProjectedAttributes }, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"},
		{"start: missing part", "pk = :p", A{":p": "p"}, start(A{"pk": "p"}), "The provided starting key is invalid"},
		{"start: spare part", "pk = :p", A{":p": "p"}, start(A{"pk": "p", "sk": "a", "len": 1}), "The provided starting key is invalid"},
		{"start: wrong type", "pk = :p", A{":p": "p"}, start(A{"pk": "p", "sk": 1}), "The provided starting key is invalid"},
		{"start: another partition", "pk = :p", A{":p": "p"}, start(A{"pk": "p2", "sk": "a"}), "The provided starting key is outside query boundaries based on provided conditions"},
	} {
		f.sub(c.name, func(f *fixture) {
			var change []func(*dynamodb.QueryInput)
			if c.change != nil {
				change = append(change, c.change)
			}
			_, err := f.query(c.keys, c.values, change...)
			f.invalid(err, c.text)
		})
	}
	_, err := f.api.Query(f.ctx, &dynamodb.QueryInput{TableName: ptr("Items")})
	f.invalid(err, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
}

func testQueryIndex(f *fixture) {
	f.define("Items", true, index("all", "g", "h", types.ProjectionTypeAll), index("keys", "g", "", types.ProjectionTypeKeysOnly),
		index("some", "g", "h", types.ProjectionTypeInclude, "v"), local("near", "h", types.ProjectionTypeKeysOnly))
	on := func(name string) func(*dynamodb.QueryInput) {
		return func(in *dynamodb.QueryInput) { in.IndexName = &name }
	}
	f.put("Items", A{"pk": "1", "sk": "a", "g": "x", "h": "2", "v": 1, "w": 1})
	f.put("Items", A{"pk": "2", "sk": "b", "g": "x", "h": "1", "v": 2, "w": 2})
	f.put("Items", A{"pk": "3", "sk": "c", "g": "x", "h": "1", "v": 3, "w": 3})
	f.put("Items", A{"pk": "4", "sk": "d", "g": "x"})
	f.put("Items", A{"pk": "5", "sk": "e", "h": "1"})
	all := func(name string) []map[string]types.AttributeValue {
		out, err := f.query("g = :g", A{":g": "x"}, on(name))
		f.ok(err)
		return out.Items
	}
	f.eventually("the index is up to date", func() bool { return len(all("keys")) == 4 })
	if n := len(all("all")); n != 3 {
		f.Errorf("an index is sparse: got %d items, want 3", n)
	}
	out, err := f.query("g = :g AND h = :h", A{":g": "x", ":h": "2"}, on("some"))
	f.ok(err)
	f.items("included attributes", out.Items, A{"pk": "1", "sk": "a", "g": "x", "h": "2", "v": 1})
	out, err = f.query("g = :g AND h = :h", A{":g": "x", ":h": "1"}, on("all"), func(in *dynamodb.QueryInput) { in.Limit = ptr(int32(1)) })
	f.ok(err)
	if len(out.LastEvaluatedKey) != 4 || out.Count != 1 {
		f.Errorf("page of an index: %d items, then %v", out.Count, out.LastEvaluatedKey)
	}
	first := out.Items[0]
	out, err = f.query("g = :g AND h = :h", A{":g": "x", ":h": "1"}, on("all"), func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = out.LastEvaluatedKey })
	f.ok(err)
	if out.Count != 1 || plain(out.Items[0]["pk"]) == plain(first["pk"]) {
		f.Errorf("index keys are not unique: second page %v", out.Items)
	}
	f.indexMoves(all)
	f.indexFaults(on)
}

// indexMoves checks that an index follows changes of its items.
func (f *fixture) indexMoves(all func(string) []map[string]types.AttributeValue) {
	f.put("Items", A{"pk": "1", "sk": "a", "g": "y", "h": "2"})
	_, err := f.api.UpdateItem(f.ctx, &dynamodb.UpdateItemInput{TableName: ptr("Items"), Key: A{"pk": "2", "sk": "b"}.item(), UpdateExpression: ptr("REMOVE h")})
	f.ok(err)
	_, err = f.api.DeleteItem(f.ctx, &dynamodb.DeleteItemInput{TableName: ptr("Items"), Key: A{"pk": "3", "sk": "c"}.item()})
	f.ok(err)
	f.eventually("the index follows", func() bool { return len(all("all")) == 0 && len(all("keys")) == 2 })
	out, err := f.query("pk = :p", A{":p": "1"}, func(in *dynamodb.QueryInput) { in.IndexName = ptr("near"); in.Select = types.SelectAllAttributes })
	f.ok(err)
	f.items("a local index reaches back", out.Items, A{"pk": "1", "sk": "a", "g": "y", "h": "2"})
}

func (f *fixture) indexFaults(on func(string) func(*dynamodb.QueryInput)) {
	_, err := f.query("g = :g", A{":g": "x"}, on("all"), func(in *dynamodb.QueryInput) { in.ConsistentRead = ptr(true) })
	f.invalid(err, "Consistent reads are not supported on global secondary indexes")
	_, err = f.query("g = :g", A{":g": "x"}, on("keys"), func(in *dynamodb.QueryInput) { in.Select = types.SelectAllAttributes })
	f.invalid(err, "Select type ALL_ATTRIBUTES is not supported for global secondary index keys because its projection type is not ALL")
	f.sub("attribute that is not projected", func(f *fixture) {
		_, err := f.query("g = :g", A{":g": "x"}, on("some"), func(in *dynamodb.QueryInput) { in.ProjectionExpression = ptr("v, w") })
		f.invalid(err, "Global secondary index some does not project [w]")
	})
	for _, c := range []struct {
		name string
		it   A
		text string
	}{
		{"key of another type", A{"pk": "6", "sk": "f", "g": 1}, "Type mismatch for Index Key g Expected: S Actual: N"},
		{"empty key", A{"pk": "6", "sk": "f", "g": ""}, "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: "},
	} {
		f.sub(c.name, func(f *fixture) {
			_, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: c.it.item()})
			f.invalid(err, c.text)
			_, err = f.api.BatchWriteItem(f.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"Items": {{PutRequest: &types.PutRequest{Item: c.it.item()}}}}})
			f.invalid(err, c.text)
		})
	}
}

func testScan(f *fixture) {
	f.define("Items", false, index("byG", "g", "", types.ProjectionTypeAll))
	const n = 60
	for i := range n {
		it := A{"pk": fmt.Sprint("k", i), "v": i}
		if i%3 == 0 {
			it["g"] = fmt.Sprint(i % 5)
		}
		f.put("Items", it)
	}
	scan := func(change func(*dynamodb.ScanInput)) (seen map[string]int, pages int) {
		seen = map[string]int{}
		in := &dynamodb.ScanInput{TableName: ptr("Items")}
		change(in)
		for {
			out, err := f.api.Scan(f.ctx, in)
			f.ok(err)
			pages++
			for _, it := range out.Items {
				seen[it["pk"].(*types.AttributeValueMemberS).Value]++
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				return seen, pages
			}
		}
	}
	once := func(what string, seen map[string]int, want int) {
		for k, times := range seen {
			if times != 1 {
				f.Errorf("%s: %s was returned %d times", what, k, times)
			}
		}
		if len(seen) != want {
			f.Errorf("%s: got %d items, want %d", what, len(seen), want)
		}
	}
	seen, pages := scan(func(in *dynamodb.ScanInput) { in.Limit = ptr(int32(7)) })
	once("pages", seen, n)
	if pages < n/7 {
		f.Errorf("%d pages of 7", pages)
	}
	together := map[string]int{}
	for s := range int32(4) {
		part, _ := scan(func(in *dynamodb.ScanInput) {
			in.Segment, in.TotalSegments, in.Limit = &s, ptr(int32(4)), ptr(int32(5))
		})
		for k, times := range part {
			together[k] += times
		}
	}
	once("segments", together, n)
	seen, _ = scan(func(in *dynamodb.ScanInput) { in.IndexName, in.Limit = ptr("byG"), ptr(int32(3)) })
	once("index", seen, n/3)
	seen, _ = scan(func(in *dynamodb.ScanInput) {
		in.FilterExpression, in.ExpressionAttributeValues = ptr("v < :v AND pk <> :k"), A{":v": 10, ":k": "k3"}.item()
	})
	once("filter, also on the key", seen, 9)
	f.scanFaults()
}

func (f *fixture) scanFaults() {
	for _, c := range []struct {
		name   string
		change func(*dynamodb.ScanInput)
		text   string
	}{
		{"limit of nothing", func(in *dynamodb.ScanInput) { in.Limit = ptr(int32(0)) }, "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		{"segment alone", func(in *dynamodb.ScanInput) { in.Segment = ptr(int32(0)) }, "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"},
		{"segments alone", func(in *dynamodb.ScanInput) { in.TotalSegments = ptr(int32(2)) }, "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"},
		{"segment beyond", func(in *dynamodb.ScanInput) { in.Segment, in.TotalSegments = ptr(int32(5)), ptr(int32(5)) }, "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5"},
		{"start: wrong type", func(in *dynamodb.ScanInput) { in.ExclusiveStartKey = A{"pk": 1}.item() }, "The provided starting key is invalid: The provided key element does not match the schema"},
		{"start: no key", func(in *dynamodb.ScanInput) { in.ExclusiveStartKey = A{"v": "x"}.item() }, "The provided starting key is invalid"},
	} {
		f.sub(c.name, func(f *fixture) {
			in := &dynamodb.ScanInput{TableName: ptr("Items")}
			c.change(in)
			_, err := f.api.Scan(f.ctx, in)
			f.invalid(err, c.text)
		})
	}
}

// testPages checks the 1 MB page limit, which counts evaluated items, not returned ones.
func testPages(f *fixture) {
	f.define("Items", true)
	big := strings.Repeat("x", 300<<10)
	for i := range 5 {
		f.put("Items", A{"pk": "p", "sk": fmt.Sprint(i), "v": big})
	}
	out, err := f.query("pk = :p", A{":p": "p", ":v": "none"}, func(in *dynamodb.QueryInput) { in.FilterExpression = ptr("v = :v") })
	f.ok(err)
	if out.Count != 0 || out.ScannedCount < 3 || out.ScannedCount > 4 || out.LastEvaluatedKey == nil {
		f.Errorf("first page: %d of %d, then %v", out.Count, out.ScannedCount, plainItem(out.LastEvaluatedKey))
	}
	rest, err := f.query("pk = :p", A{":p": "p"}, func(in *dynamodb.QueryInput) {
		in.ExclusiveStartKey, in.ProjectionExpression = out.LastEvaluatedKey, ptr("sk")
	})
	f.ok(err)
	if rest.Count != 5-out.ScannedCount || rest.LastEvaluatedKey != nil {
		f.Errorf("second page: %d, then %v", rest.Count, rest.LastEvaluatedKey)
	}
}
