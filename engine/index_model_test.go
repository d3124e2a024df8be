package engine_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

// indexModel is the model of an index: it gives the answers that the index must return.
type indexModel struct {
	name  string
	hash  []string
	sort  []string
	keeps []string // attributes besides the keys; nil means all
}

// modelIndexes are the indexes of the model's table that indexModel checks. One is local. One is
// global and has two attributes of different types in each key.
var modelIndexes = []indexModel{
	{name: "gsi1", hash: []string{"gsi1pk"}, sort: []string{"gsi1sk"}},
	{name: "lsi1", hash: []string{"pk"}, sort: []string{"n"}, keeps: []string{}},
	{name: "many", hash: []string{"a", "b"}, sort: []string{"c", "n"}, keeps: []string{"v"}},
}

func modelTable() *dynamodb.CreateTableInput {
	in := tableInput("model")
	for _, name := range []string{"a", "b", "c", "n"} {
		kind := types.ScalarAttributeTypeS
		if name == "b" || name == "n" {
			kind = types.ScalarAttributeTypeN
		}
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: kind})
	}
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: ptr("lsi1"), KeySchema: manyKeys([]string{"pk"}, []string{"n"}),
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}}
	in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: ptr("many"),
		KeySchema: manyKeys([]string{"a", "b"}, []string{"c", "n"}), Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"v"}}})
	return in
}

func manyKeys(hash, rng []string) (ks []types.KeySchemaElement) {
	for _, name := range hash {
		ks = append(ks, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeHash})
	}
	for _, name := range rng {
		ks = append(ks, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeRange})
	}
	return ks
}

// modelValue returns a random value for a key attribute of modelIndexes.
func modelValue(rng *rand.Rand, name string) types.AttributeValue {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	switch name {
	case "a":
		return str(pick("x", "x\x00", "y"))
	case "b":
		return num(pick("-1", "0", "1.5"))
	case "c":
		return str(pick("c", "cc", "c\x00d", "d", "\xf0\x9f\x98\x80"))
	case "n":
		return num(strconv.Itoa(rng.IntN(7) - 3))
	case "pk":
		return str(fmt.Sprintf("p%d", rng.IntN(6)))
	case "gsi1pk":
		return str(fmt.Sprintf("g%d", rng.IntN(3)))
	}
	return str(fmt.Sprintf("h%d", rng.IntN(5)))
}

func compareValues(a, b types.AttributeValue) int {
	if n, ok := a.(*types.AttributeValueMemberN); ok {
		x, xerr := strconv.ParseFloat(n.Value, 64)
		y, yerr := strconv.ParseFloat(b.(*types.AttributeValueMemberN).Value, 64)
		if xerr != nil || yerr != nil {
			panic("the model's numbers are plain")
		}
		return cmp.Compare(x, y)
	}
	return strings.Compare(a.(*types.AttributeValueMemberS).Value, b.(*types.AttributeValueMemberS).Value)
}

// entries returns the entries that the index must have for the given items.
func (x indexModel) entries(items map[string]item) map[string]item {
	out := map[string]item{}
	for k, it := range items {
		if slices.ContainsFunc(append(slices.Clone(x.hash), x.sort...), func(name string) bool { return it[name] == nil }) {
			continue
		}
		e := it
		if x.keeps != nil {
			e = keyIn(it)
			for _, names := range [][]string{x.hash, x.sort, x.keeps} {
				for _, name := range names {
					if it[name] != nil {
						e[name] = it[name]
					}
				}
			}
		}
		out[k] = e
	}
	return out
}

// indexQuery is a query and the tests that every item in its answer must pass.
type indexQuery struct {
	in    *dynamodb.QueryInput
	terms []string
	tests []func(item) bool
}

// random makes a query of the index. It uses all hash keys and a prefix of the sort keys, with any
// operator on the last one.
func (x indexModel) random(rng *rand.Rand) *indexQuery {
	q := &indexQuery{in: &dynamodb.QueryInput{TableName: ptr("model"), IndexName: &x.name, Limit: ptr(int32(1 + rng.IntN(7))),
		ScanIndexForward: ptr(rng.IntN(2) == 0), ExpressionAttributeValues: item{}}}
	for _, name := range x.hash {
		q.test(name, "=", modelValue(rng, name), nil)
	}
	n := rng.IntN(len(x.sort) + 1)
	for i, name := range x.sort[:n] {
		op := "="
		if i == n-1 {
			op = []string{"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"}[rng.IntN(7)]
		}
		lo, hi := modelValue(rng, name), modelValue(rng, name)
		if _, isNumber := lo.(*types.AttributeValueMemberN); isNumber && op == "begins_with" {
			op = ">"
		}
		if compareValues(lo, hi) > 0 {
			lo, hi = hi, lo
		}
		q.test(name, op, lo, hi)
	}
	rng.Shuffle(len(q.terms), func(i, j int) { q.terms[i], q.terms[j] = q.terms[j], q.terms[i] })
	q.in.KeyConditionExpression = ptr(strings.Join(q.terms, " AND "))
	return q
}

// test adds one condition.
func (q *indexQuery) test(name, op string, lo, hi types.AttributeValue) {
	q.in.ExpressionAttributeValues[":"+name] = lo
	term := name + " " + op + " :" + name
	holds := func(v types.AttributeValue) bool { return compareValues(v, lo) == 0 }
	switch op {
	case "<":
		holds = func(v types.AttributeValue) bool { return compareValues(v, lo) < 0 }
	case "<=":
		holds = func(v types.AttributeValue) bool { return compareValues(v, lo) <= 0 }
	case ">":
		holds = func(v types.AttributeValue) bool { return compareValues(v, lo) > 0 }
	case ">=":
		holds = func(v types.AttributeValue) bool { return compareValues(v, lo) >= 0 }
	case "BETWEEN":
		term += " AND :" + name + "2"
		q.in.ExpressionAttributeValues[":"+name+"2"] = hi
		holds = func(v types.AttributeValue) bool { return compareValues(v, lo) >= 0 && compareValues(v, hi) <= 0 }
	case "begins_with":
		term = "begins_with(" + name + ", :" + name + ")"
		prefix := lo.(*types.AttributeValueMemberS).Value
		holds = func(v types.AttributeValue) bool {
			return strings.HasPrefix(v.(*types.AttributeValueMemberS).Value, prefix)
		}
	}
	q.terms = append(q.terms, term)
	q.tests = append(q.tests, func(it item) bool { return holds(it[name]) })
}

// check scans an index, which must contain the entries of the given items, and runs some random
// queries on it.
func (x indexModel) check(m *model, items map[string]item) {
	m.t.Helper()
	entries := x.entries(items)
	got := map[string]item{}
	for _, it := range scanAll(m.t, m.db, "model", x.name) {
		got[keyOf(it)] = it
	}
	sameItems(m.t, "index "+x.name, got, entries)
	for range 2 {
		x.checkQuery(m, x.random(m.rng), entries)
	}
}

func (x indexModel) checkQuery(m *model, q *indexQuery, entries map[string]item) {
	m.t.Helper()
	got, what := map[string]item{}, fmt.Sprintf("query %s: %s", x.name, *q.in.KeyConditionExpression)
	var before item
	for {
		out, err := m.db.Query(m.ctx, q.in)
		if err != nil {
			m.t.Fatalf("%s: %v", what, err)
		}
		for _, it := range out.Items {
			if before != nil && x.order(before, it, *q.in.ScanIndexForward) > 0 {
				m.t.Errorf("%s: %v after %v", what, it, before)
			}
			before, got[keyOf(it)] = it, it
		}
		if q.in.ExclusiveStartKey = out.LastEvaluatedKey; q.in.ExclusiveStartKey == nil {
			break
		}
	}
	want := map[string]item{}
	for k, it := range entries {
		if !slices.ContainsFunc(q.tests, func(holds func(item) bool) bool { return !holds(it) }) {
			want[k] = it
		}
	}
	sameItems(m.t, what, got, want)
}

// order compares two items by the sort keys of the index.
func (x indexModel) order(a, b item, forward bool) int {
	for _, name := range x.sort {
		if c := compareValues(a[name], b[name]); c != 0 {
			if forward {
				return c
			}
			return -c
		}
	}
	return 0
}

// TestManyKeysBackfill adds an index with several attributes per key to a table that has items.
func TestManyKeysBackfill(t *testing.T) {
	in := modelTable()
	many := in.GlobalSecondaryIndexes[1]
	in.GlobalSecondaryIndexes, in.AttributeDefinitions = in.GlobalSecondaryIndexes[:1], slices.DeleteFunc(in.AttributeDefinitions,
		func(a types.AttributeDefinition) bool { return len(*a.AttributeName) == 1 && *a.AttributeName != "n" })
	m := newModelOf(t, memory(t, engine.Options{}), in, 1)
	for range 300 {
		m.step()
	}
	_, err := m.db.UpdateTable(m.ctx, &dynamodb.UpdateTableInput{TableName: ptr("model"), AttributeDefinitions: modelTable().AttributeDefinitions,
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: many.IndexName, KeySchema: many.KeySchema, Projection: many.Projection}}}})
	m.must(err)
	for range 100 {
		m.step()
	}
	for building := true; building; {
		out, err := m.db.DescribeTable(m.ctx, &dynamodb.DescribeTableInput{TableName: ptr("model")})
		m.must(err)
		building = out.Table.GlobalSecondaryIndexes[1].IndexStatus != types.IndexStatusActive
	}
	modelIndexes[2].check(m, m.items)
}
