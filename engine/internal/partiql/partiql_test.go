package partiql_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
)

// TestStatements runs the files in testdata against an engine in memory. Each line of a command's
// input is a statement, in which \n stands for a newline.
//
//	table name=t keys=(pk:S,sk:S) [index=(name,hash:S[+hash:S][/sort:S],ALL|KEYS_ONLY|attr+attr[,local])]…
//	run [params=(S:x,N:1,…)] [limit=n] [consistent] [capacity] [old] [pages]     ExecuteStatement
//	batch [capacity]                                                              BatchExecuteStatement of all lines
//	transact [capacity] [token=x]                                                 ExecuteTransaction of all lines
func TestStatements(t *testing.T) {
	datadriven.Walk(t, "testdata/statements", func(t *testing.T, path string) {
		db := memory(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines := strings.Split(strings.TrimRight(d.Input, "\n"), "\n")
			for i := range lines {
				lines[i] = strings.ReplaceAll(lines[i], `\n`, "\n")
			}
			switch d.Cmd {
			case "table":
				createTable(t, db, d)
				return ""
			case "run":
				var out strings.Builder
				for _, line := range lines {
					out.WriteString(run(t, db, d, line) + "\n")
				}
				return out.String()
			case "batch":
				return batch(t, db, d, lines)
			case "transact":
				return transact(t, db, d, lines)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func memory(t testing.TB) *engine.DB {
	t.Helper()
	return enginetest.New(t).DB
}

// createTable creates the table that a command describes.
func createTable(t testing.TB, db *engine.DB, d *datadriven.TestData) {
	in := &dynamodb.CreateTableInput{BillingMode: types.BillingModePayPerRequest}
	attrs := map[string]string{}
	schema := func(list ...string) []types.KeySchemaElement {
		var keys []types.KeySchemaElement
		for i, a := range list {
			for part := range strings.SplitSeq(a, "+") {
				name, typ, _ := strings.Cut(part, ":")
				attrs[name] = typ
				keys = append(keys, types.KeySchemaElement{AttributeName: &name, KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]})
			}
		}
		return keys
	}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "name":
			in.TableName = &arg.Vals[0]
		case "keys":
			in.KeySchema = schema(arg.Vals...)
		case "index":
			keys, projection := schema(strings.Split(arg.Vals[1], "/")...), &types.Projection{ProjectionType: types.ProjectionType(arg.Vals[2])}
			if arg.Vals[2] != "ALL" && arg.Vals[2] != "KEYS_ONLY" {
				projection = &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: strings.Split(arg.Vals[2], "+")}
			}
			if len(arg.Vals) > 3 {
				in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{IndexName: &arg.Vals[0], KeySchema: keys, Projection: projection})
			} else {
				in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{IndexName: &arg.Vals[0], KeySchema: keys, Projection: projection})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(attrs[name])})
	}
	if _, err := db.CreateTable(context.Background(), in); err != nil {
		t.Fatal(err)
	}
}

// run executes one statement, or all its pages.
func run(t testing.TB, db *engine.DB, d *datadriven.TestData, statement string) string {
	in := &dynamodb.ExecuteStatementInput{Statement: &statement, Parameters: params(d)}
	if arg, ok := d.Arg("limit"); ok {
		n, err := strconv.Atoi(arg.Vals[0])
		if err != nil {
			t.Fatal(err)
		}
		limit := int32(n)
		in.Limit = &limit
	}
	consistent := d.HasArg("consistent")
	in.ConsistentRead = &consistent
	if d.HasArg("capacity") {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	}
	if d.HasArg("old") {
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	var text strings.Builder
	for {
		out, err := db.ExecuteStatement(context.Background(), in)
		if err != nil {
			return text.String() + failure(err)
		}
		var items []string
		for _, it := range out.Items {
			items = append(items, printed(it))
		}
		text.WriteString("[" + strings.Join(items, " ") + "]" + units(out.ConsumedCapacity))
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return text.String()
		}
		text.WriteString(" …")
		if !d.HasArg("pages") {
			return text.String()
		}
		text.WriteString(" ")
	}
}

func batch(t testing.TB, db *engine.DB, d *datadriven.TestData, statements []string) string {
	in := &dynamodb.BatchExecuteStatementInput{}
	for _, st := range statements {
		in.Statements = append(in.Statements, types.BatchStatementRequest{Statement: &st, Parameters: params(d)})
	}
	if d.HasArg("capacity") {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	}
	out, err := db.BatchExecuteStatement(context.Background(), in)
	if err != nil {
		return failure(err)
	}
	var text strings.Builder
	for _, r := range out.Responses {
		table := ""
		if r.TableName != nil {
			table = *r.TableName + " "
		}
		if r.Error != nil {
			text.WriteString(table + "error " + string(r.Error.Code) + ": " + *r.Error.Message + "\n")
		} else {
			text.WriteString(table + printed(r.Item) + "\n")
		}
	}
	for _, cc := range out.ConsumedCapacity {
		text.WriteString(units(&cc) + "\n")
	}
	return text.String()
}

func transact(t testing.TB, db *engine.DB, d *datadriven.TestData, statements []string) string {
	in := &dynamodb.ExecuteTransactionInput{}
	for _, st := range statements {
		in.TransactStatements = append(in.TransactStatements, types.ParameterizedStatement{Statement: &st, Parameters: params(d)})
	}
	if arg, ok := d.Arg("token"); ok {
		in.ClientRequestToken = &arg.Vals[0]
	}
	if d.HasArg("capacity") {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	}
	out, err := db.ExecuteTransaction(context.Background(), in)
	if err != nil {
		return failure(err)
	}
	var text strings.Builder
	for _, r := range out.Responses {
		text.WriteString(printed(r.Item) + "\n")
	}
	if len(out.Responses) == 0 {
		text.WriteString("done\n")
	}
	for _, cc := range out.ConsumedCapacity {
		text.WriteString(units(&cc) + "\n")
	}
	return text.String()
}

// params reads the values of params=(S:x,N:1,BOOL:true,NULL:true,B:…,SS:a+b,NS:1+2,L:a+b,M:a+b).
// Lists and maps contain strings.
func params(d *datadriven.TestData) []types.AttributeValue {
	arg, ok := d.Arg("params")
	if !ok {
		return nil
	}
	list := make([]types.AttributeValue, 0, len(arg.Vals))
	for _, v := range arg.Vals {
		typ, text, _ := strings.Cut(v, ":")
		list = append(list, value(typ, text))
	}
	return list
}

func value(typ, text string) types.AttributeValue {
	members := strings.Split(text, "+")
	switch typ {
	case "N":
		return &types.AttributeValueMemberN{Value: text}
	case "BOOL":
		return &types.AttributeValueMemberBOOL{Value: text == "true"}
	case "NULL":
		return &types.AttributeValueMemberNULL{Value: text == "true"}
	case "B":
		return &types.AttributeValueMemberB{Value: []byte(text)}
	case "SS":
		return &types.AttributeValueMemberSS{Value: members}
	case "NS":
		return &types.AttributeValueMemberNS{Value: members}
	case "L", "M":
		m, l := map[string]types.AttributeValue{}, []types.AttributeValue{}
		for _, s := range members {
			l = append(l, value("S", s))
			m[s] = value("S", s)
		}
		if typ == "L" {
			return &types.AttributeValueMemberL{Value: l}
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return &types.AttributeValueMemberS{Value: text}
}

func failure(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return "error " + err.Error()
	}
	text := api.ErrorCode() + ": " + api.ErrorMessage()
	if reasons, ok := dynamo.CancellationReasons(err); ok {
		for _, r := range reasons {
			text += "\n  " + *r.Code
			if r.Message != nil {
				text += ": " + *r.Message
			}
		}
	}
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) && failed.Item != nil {
		text += " " + printed(failed.Item)
	}
	return text
}

// units prints the capacity that a request consumed: the sum, the table and the indexes.
func units(cc *types.ConsumedCapacity) string {
	if cc == nil {
		return ""
	}
	text := fmt.Sprintf(" %g", *cc.CapacityUnits)
	if cc.Table != nil {
		text += fmt.Sprintf(" table=%g", *cc.Table.CapacityUnits)
	}
	for _, m := range []map[string]types.Capacity{cc.GlobalSecondaryIndexes, cc.LocalSecondaryIndexes} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			text += fmt.Sprintf(" %s=%g", name, *m[name].CapacityUnits)
		}
	}
	return text
}

// printed formats an item as PartiQL would, with its attributes in order.
func printed(it map[string]types.AttributeValue) string {
	if it == nil {
		return "none"
	}
	return printedValue(&types.AttributeValueMemberM{Value: it})
}

func printedValue(av types.AttributeValue) string {
	var parts []string
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return "'" + v.Value + "'"
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return "base64:" + base64.StdEncoding.EncodeToString(v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberSS:
		return "<<" + strings.Join(slices.Sorted(slices.Values(v.Value)), ",") + ">>"
	case *types.AttributeValueMemberNS:
		return "<<" + strings.Join(slices.Sorted(slices.Values(v.Value)), ",") + ">>"
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			parts = append(parts, printedValue(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *types.AttributeValueMemberM:
		for _, k := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, k+":"+printedValue(v.Value[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return fmt.Sprintf("%v", av)
}
