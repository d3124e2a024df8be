package partiql_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine"
)

// FuzzExecuteStatement runs arbitrary text as a statement. The statement must either be executed or
// be refused.
func FuzzExecuteStatement(f *testing.F) {
	files, err := filepath.Glob("testdata/statements/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no statements to begin with", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			f.Add(strings.TrimSuffix(line, "\n"), "", uint8(strings.Count(line, "?")))
		}
	}
	db := memory(f)
	makeTable(f, db, "tab")
	f.Fuzz(func(t *testing.T, statement, token string, params uint8) {
		in := &dynamodb.ExecuteStatementInput{Statement: &statement}
		for i := range params {
			in.Parameters = append(in.Parameters, []types.AttributeValue{value("S", "x"), value("N", "1"), value("SS", "a+b"), value("L", "a")}[i%4])
		}
		if token != "" {
			in.NextToken = &token
		}
		answered(t, db, in)
	})
}

func makeTable(t testing.TB, db *engine.DB, name string) {
	hash, rng := "pk", "sk"
	_, err := db.CreateTable(context.Background(), &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &hash, AttributeType: types.ScalarAttributeTypeS}, {AttributeName: &rng, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &rng, KeyType: types.KeyTypeRange}}})
	if err != nil {
		t.Fatal(err)
	}
}

// answered fails unless a statement is executed or refused by the rules of the API. It reports
// whether it was executed.
func answered(t testing.TB, db *engine.DB, in *dynamodb.ExecuteStatementInput) bool {
	_, err := db.ExecuteStatement(context.Background(), in)
	var api smithy.APIError
	if err != nil && !errors.As(err, &api) {
		t.Fatalf("%q: %v", *in.Statement, err)
	}
	return err == nil
}

// TestLongStatements runs statements of the maximum length, with parts that are nested as deep, or
// repeated as often, as that length allows. Their memory use must be proportional to their length.
func TestLongStatements(t *testing.T) {
	const longest, most = 8192, 64 << 20
	db := memory(t)
	makeTable(t, db, "tab")
	where := "SELECT * FROM tab WHERE "
	for _, shape := range []struct{ before, again, middle, close string }{
		{where, "(", "a=1", ")"},
		{where, "NOT ", "a=1", ""},
		{where, "a=", "1", ""},
		{where, "((a=1)=", "(b=1)", ")"},
		{where, "(attribute_exists(a)=", "attribute_exists(b)", ")"},
		{where, "(attribute_exists(a)=true) IN [", "a=1", "]"},
		{where + "attribute_exists(a) IN [true", ",attribute_exists(b)", "", "]"},
		{where + "a=1", " AND a=1", "", ""},
		{where + "a=1", " OR pk='b'", "", ""},
		{where + "pk='a'", " AND (pk='a' OR sk='b')", "", ""},
		{where + "pk IN ['a'", ",'b'", "", "]"},
		{where + "a=", "[", "1", "]"},
		{where + "a=", "{'a':", "1", "}"},
		{where + "a=<<1", ",1", "", ">>"},
		{where + "a", ".a", "=1", ""},
		{where + "a", "[1]", "=1", ""},
		{where + "a=", "- ", "1", ""},
		{where + "a=1", "0", "", ""},
		{where + "size(a)>0", "\n", "", ""},
		{where, "size(", "a", ")"},
		{"SELECT a", ",a", " FROM tab", ""},
		{"SELECT a", ".a", " FROM tab", ""},
		{"INSERT INTO tab VALUE {'pk':'a','sk':'b'", ",'a':1", "", "}"},
		{"UPDATE tab SET a=1", ",a=1", " WHERE pk='a' AND sk='b'", ""},
		{"UPDATE tab SET a=", "list_append(a,", "a", ")"},
		{"UPDATE tab SET a=a", "+1", " WHERE pk='a' AND sk='b'", ""},
		{"", "EXISTS(SELECT * FROM tab WHERE ", "a=1", ")"},
		{where + "pk='a' ORDER BY pk", ",pk", "", ""},
		{"-- ", "-", "", ""}, {"/*", "*", "", "/"}, {"", ";", "", ""}, {"", "\"", "", ""},
	} {
		n := (longest - len(shape.before) - len(shape.middle)) / (len(shape.again) + len(shape.close))
		statement := shape.before + strings.Repeat(shape.again, n) + shape.middle + strings.Repeat(shape.close, n)
		if strings.HasPrefix(shape.again, ",") || strings.HasPrefix(shape.again, " AND (") {
			statement = shape.before + strings.Repeat(shape.again, n) + shape.middle + shape.close
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answered(t, db, &dynamodb.ExecuteStatementInput{Statement: &statement})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s…: %d bytes were allocated", statement[:min(60, len(statement))], took)
		}
	}
}
