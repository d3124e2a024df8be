package dynamotest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// statement runs one PartiQL statement.
func (f *fixture) statement(text string, params ...any) (*dynamodb.ExecuteStatementOutput, error) {
	in := &dynamodb.ExecuteStatementInput{Statement: &text}
	for _, v := range params {
		in.Parameters = append(in.Parameters, value(v))
	}
	return f.api.(dynamo.Statements).ExecuteStatement(f.ctx, in)
}

func (f *fixture) selects(text string, want ...A) {
	f.Helper()
	out, err := f.statement(text)
	f.ok(err)
	f.items(text, out.Items, want...)
}

func testStatements(f *fixture) {
	if _, ok := f.api.(dynamo.Statements); !ok {
		f.Skip("this API does not offer statements")
	}
	f.define("Items", true, index("byKind", "kind", "", types.ProjectionTypeKeysOnly))
	for _, sk := range []string{"1", "2", "3"} {
		_, err := f.statement(`INSERT INTO "Items" VALUE {'pk': 'a', 'sk': ?, 'kind': 'k', 'tags': <<'x','y'>>, 'm': {'l': [1, 'two', null]}}`, sk)
		f.ok(err)
	}
	f.sub("reads", (*fixture).statementReads)
	f.sub("writes", (*fixture).statementWrites)
	f.sub("pages", (*fixture).statementPages)
	f.sub("batch", (*fixture).statementBatch)
	f.sub("transaction", (*fixture).statementTransaction)
}

func (f *fixture) statementReads() {
	f.selects(`SELECT sk, m.l[1], tags FROM "Items" WHERE pk = 'a' AND sk > '2'`, A{"sk": "3", "l[1]": "two", "tags": ss{"x", "y"}})
	f.selects(`SELECT sk FROM "Items" WHERE pk = 'a' AND sk IN ['1', '3'] ORDER BY sk DESC`, A{"sk": "3"}, A{"sk": "1"})
	f.selects(`SELECT sk FROM "Items" WHERE pk = 'a' AND contains(tags, 'x') AND NOT sk = '2' AND m.none IS MISSING`, A{"sk": "1"}, A{"sk": "3"})
	f.selects(`SELECT sk FROM "Items" WHERE pk = 'none'`)
	_, err := f.statement(`SELECT kind, m FROM "Items"."byKind" WHERE kind = 'k'`)
	f.invalid(err, "Global secondary index byKind does not project [m]")
	_, err = f.statement(`SELECT * FROM "Items" WHERE pk = 'a' AND m < ?`, true)
	f.invalid(err, "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL")
	_, err = f.statement(`SELEC * FROM "Items"`)
	f.invalid(err, "Statement wasn't well formed, can't be processed: Expected data manipulation")
	_, err = f.statement(`SELECT * FROM "Nowhere" WHERE pk = 'a'`)
	f.refused(err, "ResourceNotFoundException", "Requested resource not found")
}

func (f *fixture) statementWrites() {
	out, err := f.statement(`UPDATE "Items" SET n = 1 SET tags = set_add(tags, <<'z'>>) REMOVE m WHERE pk = 'a' AND sk = '1' RETURNING ALL NEW *`)
	f.ok(err)
	f.items("returned", out.Items, A{"pk": "a", "sk": "1", "kind": "k", "tags": ss{"x", "y", "z"}, "n": 1})
	_, err = f.statement(`INSERT INTO "Items" VALUE {'pk': 'a', 'sk': '1'}`)
	f.refused(err, "DuplicateItemException", "Duplicate primary key exists in table")
	_, err = f.statement(`UPDATE "Items" SET n = 2 WHERE pk = 'a' AND sk = '1' AND n = 2`)
	f.refused(err, "ConditionalCheckFailedException", "The conditional request failed")
	_, err = f.statement(`UPDATE "Items" SET n = 2 WHERE pk = 'a' AND sk = 'none'`)
	f.refused(err, "ConditionalCheckFailedException", "The conditional request failed")
	_, err = f.statement(`UPDATE "Items" SET n = 2 WHERE pk = 'a'`)
	f.invalid(err, "Where clause does not contain a mandatory equality on all key attributes")
	_, err = f.statement(`DELETE FROM "Items" WHERE pk = 'a' AND sk = '1' AND n = 1`)
	f.ok(err)
	f.same("deleted", f.get("Items", A{"pk": "a", "sk": "1"}), nil)
	_, err = f.statement(`DELETE FROM "Items" WHERE pk = 'a' AND sk = '1' AND n = 1`)
	f.ok(err)
}

func (f *fixture) statementPages() {
	text, limit := `SELECT sk FROM "Items" WHERE pk = 'a'`, int32(1)
	in := &dynamodb.ExecuteStatementInput{Statement: &text, Limit: &limit}
	out, err := f.api.(dynamo.Statements).ExecuteStatement(f.ctx, in)
	f.ok(err)
	f.items("first page", out.Items, A{"sk": "2"})
	if out.NextToken == nil {
		f.Fatal("no NextToken")
	}
	in.NextToken = out.NextToken
	out, err = f.api.(dynamo.Statements).ExecuteStatement(f.ctx, in)
	f.ok(err)
	f.items("second page", out.Items, A{"sk": "3"})
	in.Statement = ptr(`SELECT * FROM "Items" WHERE pk = 'a'`)
	_, err = f.api.(dynamo.Statements).ExecuteStatement(f.ctx, in)
	f.invalid(err, "NextToken does not match request")
	in.NextToken = ptr("none")
	_, err = f.api.(dynamo.Statements).ExecuteStatement(f.ctx, in)
	f.invalid(err, "Invalid NextToken")
}

func (f *fixture) statementBatch() {
	in := &dynamodb.BatchExecuteStatementInput{}
	for _, text := range []string{
		`SELECT kind FROM "Items" WHERE pk = 'a' AND sk = '2'`, `SELECT * FROM "Items" WHERE pk = 'a'`, `SELECT * FROM "Nowhere" WHERE pk = 'a'`,
	} {
		in.Statements = append(in.Statements, types.BatchStatementRequest{Statement: &text})
	}
	out, err := f.api.(dynamo.Statements).BatchExecuteStatement(f.ctx, in)
	f.ok(err)
	if len(out.Responses) != 3 {
		f.Fatalf("%d responses", len(out.Responses))
	}
	f.same("read", out.Responses[0].Item, A{"kind": "k"})
	for i, code := range map[int]types.BatchStatementErrorCodeEnum{1: types.BatchStatementErrorCodeEnumValidationError, 2: types.BatchStatementErrorCodeEnumResourceNotFound} {
		if e := out.Responses[i].Error; e == nil || e.Code != code {
			f.Errorf("response %d: %+v, want %s", i, e, code)
		}
	}
}

func (f *fixture) statementTransaction() {
	run := func(texts ...string) (*dynamodb.ExecuteTransactionOutput, error) {
		in := &dynamodb.ExecuteTransactionInput{}
		for _, text := range texts {
			in.TransactStatements = append(in.TransactStatements, types.ParameterizedStatement{Statement: &text})
		}
		return f.api.(dynamo.Statements).ExecuteTransaction(f.ctx, in)
	}
	_, err := run(`EXISTS(SELECT * FROM "Items" WHERE pk = 'a' AND sk = '3' AND n IS MISSING)`, `INSERT INTO "Items" VALUE {'pk': 't', 'sk': '1'}`, `UPDATE "Items" SET n = 5 WHERE pk = 'a' AND sk = '2'`)
	f.ok(err)
	_, err = run(`INSERT INTO "Items" VALUE {'pk': 't', 'sk': '2'}`, `INSERT INTO "Items" VALUE {'pk': 't', 'sk': '1'}`)
	f.refused(err, "TransactionCanceledException", "specific reasons [None, DuplicateItem]")
	out, err := run(`SELECT n FROM "Items" WHERE pk = 'a' AND sk = '2'`, `SELECT * FROM "Items" WHERE pk = 't' AND sk = '2'`)
	f.ok(err)
	if len(out.Responses) != 2 {
		f.Fatalf("%d responses", len(out.Responses))
	}
	f.same("written", out.Responses[0].Item, A{"n": 5})
	f.same("not written", out.Responses[1].Item, nil)
	_, err = run(`SELECT * FROM "Items" WHERE pk = 't' AND sk = '1'`, `DELETE FROM "Items" WHERE pk = 't' AND sk = '1'`)
	f.invalid(err, "ExecuteTransaction API does not support both read and write operations in the same request.")
}
