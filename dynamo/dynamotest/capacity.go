package dynamotest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sized returns an item of exactly the given size in bytes by DynamoDB's rule.
func sized(pk string, bytes int, more A) A {
	it := A{"pk": pk}
	size := len("pk") + len(pk) + len("pad")
	for k, v := range more {
		it[k] = v
		size += len(k) + len(v.(string))
	}
	it["pad"] = strings.Repeat("x", bytes-size)
	return it
}

// charge fails unless the capacity has the expected values: in total, for the table, and for
// indexes by name.
func (f *fixture) charge(what string, cc *types.ConsumedCapacity, total, table float64, indexes map[string]float64) {
	f.Helper()
	if cc == nil || cc.Table == nil || cc.CapacityUnits == nil || cc.Table.CapacityUnits == nil {
		f.Errorf("%s: capacity is not told: %+v", what, cc)
		return
	}
	if *cc.CapacityUnits != total || *cc.Table.CapacityUnits != table {
		f.Errorf("%s: %g in all, %g of the table; want %g and %g", what, *cc.CapacityUnits, *cc.Table.CapacityUnits, total, table)
	}
	got := map[string]float64{}
	for _, m := range []map[string]types.Capacity{cc.GlobalSecondaryIndexes, cc.LocalSecondaryIndexes} {
		for name, c := range m {
			got[name] = *c.CapacityUnits
		}
	}
	for name, want := range indexes {
		if got[name] != want {
			f.Errorf("%s: %g of index %s, want %g", what, got[name], name, want)
		}
	}
	if len(got) != len(indexes) {
		f.Errorf("%s: indexes %v, want %v", what, got, indexes)
	}
}

func testCapacity(f *fixture) {
	f.define("Items", false, index("all", "g", "", types.ProjectionTypeAll), index("keys", "g", "", types.ProjectionTypeKeysOnly))
	both := func(all, keys float64) map[string]float64 {
		m := map[string]float64{}
		if all > 0 {
			m["all"] = all
		}
		if keys > 0 {
			m["keys"] = keys
		}
		return m
	}
	for _, c := range []struct {
		name         string
		before, it   A
		total, table float64
		all, keys    float64
	}{
		{"small, no index entry", nil, A{"pk": "c"}, 1, 1, 0, 0},
		{"1,024 bytes are one unit", nil, sized("c", 1024, nil), 1, 1, 0, 0},
		{"1,025 bytes are two", nil, sized("c", 1025, nil), 2, 2, 0, 0},
		{"the larger of old and new", sized("c", 3000, nil), A{"pk": "c"}, 3, 3, 0, 0},
		{"an entry appears", nil, sized("c", 1500, A{"g": "x"}), 5, 2, 2, 1},
		{"an entry stays as it is", sized("c", 1500, A{"g": "x"}), sized("c", 1500, A{"g": "x"}), 2, 2, 0, 0},
		{"what the entry holds changes", sized("c", 1500, A{"g": "x"}), sized("c", 2500, A{"g": "x"}), 6, 3, 3, 0},
		{"the entry's key moves", sized("c", 1500, A{"g": "x"}), sized("c", 1500, A{"g": "y"}), 8, 2, 4, 2},
		{"the entry goes", sized("c", 1500, A{"g": "x"}), A{"pk": "c"}, 5, 2, 2, 1},
	} {
		f.sub(c.name, func(f *fixture) {
			_, err := f.api.DeleteItem(f.ctx, &dynamodb.DeleteItemInput{TableName: ptr("Items"), Key: A{"pk": "c"}.item()})
			f.ok(err)
			if c.before != nil {
				f.put("Items", c.before)
			}
			out, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: c.it.item(), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
			f.ok(err)
			f.charge("put", out.ConsumedCapacity, c.total, c.table, both(c.all, c.keys))
		})
	}
	f.readCapacity()
	f.batchCapacity()
	f.sub("transactions", func(f *fixture) { f.transactionCapacity(both) })
}

func (f *fixture) readCapacity() {
	f.put("Items", sized("r", 4097, nil))
	for _, c := range []struct {
		pk         string
		consistent bool
		want       float64
	}{{"r", true, 2}, {"r", false, 1}, {"none", true, 1}, {"none", false, 0.5}} {
		out, err := f.api.GetItem(f.ctx, &dynamodb.GetItemInput{TableName: ptr("Items"), Key: A{"pk": c.pk}.item(), ConsistentRead: &c.consistent,
			ProjectionExpression: ptr("pk"), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
		f.ok(err)
		f.charge("get", out.ConsumedCapacity, c.want, c.want, nil)
	}
	f.define("Pages", true)
	for _, sk := range []string{"1", "2", "3"} {
		f.put("Pages", A{"pk": "p", "sk": sk, "v": strings.Repeat("x", 3000)})
	}
	q, err := f.api.Query(f.ctx, &dynamodb.QueryInput{TableName: ptr("Pages"), KeyConditionExpression: ptr("pk = :p"), ConsistentRead: ptr(true),
		FilterExpression: ptr("v = :p"), ExpressionAttributeValues: A{":p": "p"}.item(), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
	f.ok(err)
	f.charge("a query rounds the sum of what it evaluates", q.ConsumedCapacity, 3, 3, nil)
	out, err := f.api.GetItem(f.ctx, &dynamodb.GetItemInput{TableName: ptr("Items"), Key: A{"pk": "r"}.item(), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	f.ok(err)
	if out.ConsumedCapacity == nil || out.ConsumedCapacity.Table != nil || *out.ConsumedCapacity.TableName != "Items" {
		f.Errorf("TOTAL: %+v", out.ConsumedCapacity)
	}
	out, err = f.api.GetItem(f.ctx, &dynamodb.GetItemInput{TableName: ptr("Items"), Key: A{"pk": "r"}.item()})
	f.ok(err)
	if out.ConsumedCapacity != nil {
		f.Errorf("not asked for: %+v", out.ConsumedCapacity)
	}
}

func (f *fixture) batchCapacity() {
	get, err := f.api.BatchGetItem(f.ctx, &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		RequestItems: map[string]types.KeysAndAttributes{"Items": {Keys: []map[string]types.AttributeValue{A{"pk": "r"}.item(), A{"pk": "none"}.item()}}}})
	f.ok(err)
	if len(get.ConsumedCapacity) != 1 {
		f.Fatalf("batch get: %v", get.ConsumedCapacity)
	}
	f.charge("a batch rounds each item", &get.ConsumedCapacity[0], 1.5, 1.5, nil)
	write, err := f.api.BatchWriteItem(f.ctx, &dynamodb.BatchWriteItemInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		RequestItems: map[string][]types.WriteRequest{"Items": {
			{PutRequest: &types.PutRequest{Item: sized("b1", 1500, nil).item()}}, {PutRequest: &types.PutRequest{Item: sized("b2", 100, nil).item()}}}}})
	f.ok(err)
	if len(write.ConsumedCapacity) != 1 {
		f.Fatalf("batch write: %v", write.ConsumedCapacity)
	}
	f.charge("batch write", &write.ConsumedCapacity[0], 3, 3, nil)
}

func (f *fixture) transactionCapacity(both func(all, keys float64) map[string]float64) {
	out, err := f.api.TransactWriteItems(f.ctx, &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		TransactItems: []types.TransactWriteItem{txPut(sized("t", 1500, A{"g": "x"}), ""), txCheck(A{"pk": "none"}, "attribute_not_exists(pk)")}})
	f.ok(err)
	if len(out.ConsumedCapacity) != 1 {
		f.Fatalf("transaction: %v", out.ConsumedCapacity)
	}
	f.charge("a transaction doubles the table, not the indexes", &out.ConsumedCapacity[0], 9, 6, both(2, 1))
	get, err := f.api.TransactGetItems(f.ctx, &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
		TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: ptr("Items"), Key: A{"pk": "r"}.item()}}}})
	f.ok(err)
	if len(get.ConsumedCapacity) != 1 {
		f.Fatalf("transaction: %v", get.ConsumedCapacity)
	}
	f.charge("transactional read", &get.ConsumedCapacity[0], 4, 4, nil)
}

// testOrder checks which of several errors is reported: first the form, then expressions, the
// table, the key, and the condition.
func testOrder(f *fixture) {
	f.define("Items", false)
	key := A{"pk": 1}.item()
	get := func(table string, projection *string) error {
		_, err := f.api.GetItem(f.ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ProjectionExpression: projection})
		return err
	}
	f.invalid(get("bad table", ptr("!!!")), "Member must satisfy regular expression pattern")
	f.invalid(get("Nowhere", ptr("!!!")), "Invalid ProjectionExpression: Syntax error")
	f.refused(get("Nowhere", nil), "ResourceNotFoundException", "Requested resource not found")
	f.invalid(get("Items", nil), "The provided key element does not match the schema")
	_, err := f.api.PutItem(f.ctx, &dynamodb.PutItemInput{TableName: ptr("Items"), Item: A{"v": 1}.item(), ConditionExpression: ptr("attribute_exists(pk)")})
	f.invalid(err, "Missing the key pk in the item")
	_, err = f.api.PutItem(f.ctx, &dynamodb.PutItemInput{ReturnValues: "SOME", ReturnConsumedCapacity: "MUCH", Item: A{"pk": "a"}.item(), TableName: ptr("Items")})
	f.invalid(err, "2 validation errors detected: ")
}
