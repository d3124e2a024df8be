package partiql_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/dynamo"
)

// clause is a random condition: its text, and a function that reports whether it holds for an item.
type clause struct {
	text  string
	holds func(map[string]types.AttributeValue) bool
}

func text(av types.AttributeValue) string {
	if av == nil {
		return "none"
	}
	return printedValue(av)
}

// compared compares two values. It returns false if they are not comparable.
func compared(a, b types.AttributeValue) (int, bool) {
	x, okX := a.(*types.AttributeValueMemberN)
	y, okY := b.(*types.AttributeValueMemberN)
	if okX && okY {
		m, errM := strconv.Atoi(x.Value)
		n, errN := strconv.Atoi(y.Value)
		return m - n, errM == nil && errN == nil
	}
	s, okX := a.(*types.AttributeValueMemberS)
	t, okY := b.(*types.AttributeValueMemberS)
	if okX && okY {
		return strings.Compare(s.Value, t.Value), true
	}
	return 0, false
}

// drawKey draws values that usually occur in the keys.
func drawKey(t *rapid.T, attr string) types.AttributeValue {
	if attr == "pk" {
		return value("S", rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "pk"))
	}
	return value("N", strconv.Itoa(rapid.IntRange(0, 4).Draw(t, "sk")))
}

func drawValue(t *rapid.T) types.AttributeValue {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return value("S", rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(t, "s"))
	case 1:
		return value("BOOL", strconv.FormatBool(rapid.Bool().Draw(t, "bool")))
	}
	return value("N", strconv.Itoa(rapid.IntRange(0, 4).Draw(t, "n")))
}

func drawOperand(t *rapid.T, attr string) types.AttributeValue {
	if attr == "pk" || attr == "sk" {
		return drawKey(t, attr)
	}
	return drawValue(t)
}

var tests = map[string]func(order int) bool{
	"<": func(o int) bool { return o < 0 }, "<=": func(o int) bool { return o <= 0 },
	">": func(o int) bool { return o > 0 }, ">=": func(o int) bool { return o >= 0 },
}

// drawLeaf draws a condition on one attribute.
func drawLeaf(t *rapid.T) clause {
	attr := rapid.SampledFrom([]string{"pk", "pk", "sk", "sk", "a", "b"}).Draw(t, "attr")
	v := drawOperand(t, attr)
	kind := rapid.IntRange(0, 7).Draw(t, "leaf")
	_, isBool := v.(*types.AttributeValueMemberBOOL)
	if isBool && (kind == 2 || kind == 3) {
		kind = 0
	}
	switch kind {
	case 0, 1:
		return clause{attr + " = " + text(v), func(it map[string]types.AttributeValue) bool { return it[attr] != nil && text(it[attr]) == text(v) }}
	case 2:
		op := rapid.SampledFrom(slices.Sorted(maps.Keys(tests))).Draw(t, "op")
		return clause{attr + " " + op + " " + text(v), func(it map[string]types.AttributeValue) bool {
			order, ok := compared(it[attr], v)
			return ok && tests[op](order)
		}}
	case 3:
		return clause{attr + " BETWEEN " + text(v) + " AND " + text(v), func(it map[string]types.AttributeValue) bool {
			order, ok := compared(it[attr], v)
			return ok && order == 0
		}}
	case 4:
		w := drawOperand(t, attr)
		return clause{attr + " IN [" + text(v) + ", " + text(w) + "]", func(it map[string]types.AttributeValue) bool {
			return it[attr] != nil && (text(it[attr]) == text(v) || text(it[attr]) == text(w))
		}}
	case 5:
		return clause{"begins_with(" + attr + ", 'a')", func(it map[string]types.AttributeValue) bool {
			s, ok := it[attr].(*types.AttributeValueMemberS)
			return ok && strings.HasPrefix(s.Value, "a")
		}}
	case 6:
		return clause{attr + " IS MISSING", func(it map[string]types.AttributeValue) bool { return it[attr] == nil }}
	}
	return clause{attr + " <> " + text(v), func(it map[string]types.AttributeValue) bool { return text(it[attr]) != text(v) }}
}

func drawClause(depth int) *rapid.Generator[clause] {
	return rapid.Custom(func(t *rapid.T) clause {
		kind := rapid.IntRange(0, 3).Draw(t, "clause")
		if depth == 0 || kind == 0 {
			return drawLeaf(t)
		}
		x := drawClause(depth-1).Draw(t, "x")
		if kind == 1 {
			return clause{"NOT (" + x.text + ")", func(it map[string]types.AttributeValue) bool { return !x.holds(it) }}
		}
		y := drawClause(depth-1).Draw(t, "y")
		if kind == 2 {
			return clause{"(" + x.text + ") OR (" + y.text + ")", func(it map[string]types.AttributeValue) bool { return x.holds(it) || y.holds(it) }}
		}
		return clause{"(" + x.text + ") AND (" + y.text + ")", func(it map[string]types.AttributeValue) bool { return x.holds(it) && y.holds(it) }}
	})
}

// TestSelectFindsWhatHolds compares the items that random conditions select, page by page, with the
// items for which the conditions hold.
func TestSelectFindsWhatHolds(t *testing.T) {
	db := memory(t)
	ctx := context.Background()
	name := "tab"
	hash, rng := "pk", "sk"
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &hash, AttributeType: types.ScalarAttributeTypeS}, {AttributeName: &rng, AttributeType: types.ScalarAttributeTypeN}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &rng, KeyType: types.KeyTypeRange}}})
	if err != nil {
		t.Fatal(err)
	}
	var items []map[string]types.AttributeValue
	values := []types.AttributeValue{nil, value("S", "a"), value("S", "ab"), value("N", "1"), value("N", "3"), value("BOOL", "true")}
	for i, pk := range []string{"p", "q", "r"} {
		for sk := range 5 {
			it := map[string]types.AttributeValue{"pk": value("S", pk), "sk": value("N", strconv.Itoa(sk))}
			for j, attr := range []string{"a", "b"} {
				if av := values[(7*i+3*sk+2*j)%len(values)]; av != nil {
					it[attr] = av
				}
			}
			if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
				t.Fatal(err)
			}
			items = append(items, it)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := drawClause(3).Draw(t, "where")
		var want []string
		for _, it := range items {
			if c.holds(it) {
				want = append(want, printed(it))
			}
		}
		statement, limit := "SELECT * FROM tab WHERE "+c.text, int32(rapid.IntRange(1, 20).Draw(t, "limit"))
		in := &dynamodb.ExecuteStatementInput{Statement: &statement, Limit: &limit}
		var got []string
		for {
			out, err := db.ExecuteStatement(ctx, in)
			if err != nil {
				refusedAsDocumented(t, statement, err)
				return
			}
			for _, it := range out.Items {
				got = append(got, printed(it))
			}
			if in.NextToken = out.NextToken; in.NextToken == nil {
				break
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%s\nselected %s\nholds of %s", statement, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// refusedAsDocumented fails unless a condition is refused for one of the reasons for which a valid
// condition may be refused.
func refusedAsDocumented(t *rapid.T, statement string, err error) {
	for _, reason := range []string{
		"Overlapping conditions with range keys", "Too many decomposed read operations", "Key attribute's data type should match",
		"operator or function: begins_with, operand type",
	} {
		if dynamo.Code(err) == dynamo.CodeValidation && strings.Contains(err.Error(), reason) {
			return
		}
	}
	t.Fatal(fmt.Sprintf("%s: %v", statement, err))
}
