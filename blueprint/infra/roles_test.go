package infra_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/infra"
	"github.com/onefold/onefold/blueprint/infra/iamtest"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// everything is the schema of a table with all products and accounts.
var everything = table.MustSchema("everything", analytics.Schema, telemetry.Schema, eventstore.Schema, accounts.Schema)

// asRole returns the table as a role sees it, on an engine that enforces its policy.
func asRole(t *testing.T, db *engine.DB, role string) *iamtest.Guard {
	t.Helper()
	parts, err := infra.Policies(everything, role, iamtest.TableARN("everything"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := iamtest.Parse(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return &iamtest.Guard{Backend: db, Policy: policy}
}

// attempt is an operation on the items of an entity.
type attempt struct {
	name string
	try  func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error
}

var name = aws.String("everything")

func keyOf(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{table.AttrPK: item[table.AttrPK], table.AttrSK: item[table.AttrSK]}
}

// attempts are the operations on items: those of the API, and updates of a single attribute.
var attempts = []attempt{
	{"get", func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error {
		_, err := g.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: name, Key: keyOf(item)})
		return err
	}},
	{"query", func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error {
		_, err := g.Query(t.Context(), &dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("pk = :p"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":p": item[table.AttrPK]}})
		return err
	}},
	{"put", func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error {
		_, err := g.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item})
		return err
	}},
	{"update", func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error {
		var errs error
		for attribute := range item {
			if attribute == table.AttrPK || attribute == table.AttrSK {
				continue
			}
			_, err := g.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: name, Key: keyOf(item), UpdateExpression: aws.String("SET #a = :v"),
				ExpressionAttributeNames: map[string]string{"#a": attribute}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": item[attribute]}})
			errs = errors.Join(errs, err)
		}
		return errs
	}},
	{"delete", func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error {
		_, err := g.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: name, Key: keyOf(item)})
		return err
	}},
	{"batch", func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error {
		_, err := g.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"everything": {{PutRequest: &types.PutRequest{Item: item}}}}})
		return err
	}},
	{"transact", func(t *testing.T, g *iamtest.Guard, item map[string]types.AttributeValue) error {
		_, err := g.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Delete: &types.Delete{TableName: name, Key: keyOf(item)}}}})
		return err
	}},
	{"scan", func(t *testing.T, g *iamtest.Guard, _ map[string]types.AttributeValue) error {
		_, err := g.Scan(t.Context(), &dynamodb.ScanInput{TableName: name})
		return err
	}},
	{"drop", func(t *testing.T, g *iamtest.Guard, _ map[string]types.AttributeValue) error {
		_, err := g.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: name})
		return err
	}},
}

// exampleOf returns an item with all attributes of an entity.
func exampleOf(e *table.EntityInfo) map[string]types.AttributeValue {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	pk := e.PK
	if len(e.PKWords) > 0 {
		_, rest, _ := strings.Cut(pk, "}")
		pk = e.PKWords[0] + rest
	}
	item := map[string]types.AttributeValue{table.AttrPK: text(filled(pk)), table.AttrSK: text(filled(e.SK)), table.AttrEntity: text(e.Name)}
	for _, a := range e.Attributes {
		item[a.Name] = text("1")
	}
	return item
}

// filled replaces the variables of a template.
func filled(template string) string {
	var b strings.Builder
	for rest := strings.NewReplacer("[", "", "]", "").Replace(template); ; {
		before, after, ok := strings.Cut(rest, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("x1")
		_, rest, _ = strings.Cut(after, "}")
	}
}

func denied(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException"
}

// withEverything opens an engine with a table for all entities.
func withEverything(t *testing.T) *engine.DB {
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := everything.Ensure(t.Context(), db, "everything"); err != nil {
		t.Fatal(err)
	}
	return db
}

// allowedTo returns the attempts that a role's policy allows, for each entity.
func allowedTo(t *testing.T, role string) map[string][]string {
	g := asRole(t, withEverything(t), role)
	allowed := map[string][]string{}
	for _, e := range everything.Entities() {
		for _, a := range attempts {
			if !denied(a.try(t, g, exampleOf(&e))) {
				allowed[e.Name] = append(allowed[e.Name], a.name)
			}
		}
	}
	return allowed
}

// TestEveryOperationOfEveryRole compares what each role may do with the items of each entity, on an
// engine with its policy enforced, with a table that people have reviewed: write it again with
// ONEFOLD_REWRITE=1. Rules that hold for all entities are checked as well.
func TestEveryOperationOfEveryRole(t *testing.T) {
	var b strings.Builder
	for _, role := range infra.Roles() {
		allowed := allowedTo(t, role)
		for _, e := range everything.Entities() {
			may := allowed[e.Name]
			fmt.Fprintf(&b, "%-6s %-30s %s\n", role, e.Name, strings.Join(may, " "))
			check := func(what string, holds bool) {
				if !holds {
					t.Errorf("%s: %s: %s: it may %v", role, e.Name, what, may)
				}
			}
			check("nobody scans or drops", !slices.Contains(may, "scan") && !slices.Contains(may, "drop"))
			if role == "keeper" {
				continue
			}
			checkRole(check, role, &e, may)
		}
	}
	const file = "testdata/roles.txt"
	if os.Getenv("ONEFOLD_REWRITE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != b.String() {
		t.Errorf("the roles differ from %s (%v):\n%s", file, err, b.String())
	}
}

// indistinct are entities whose attributes derived items in the same partition have as well. IAM
// cannot tell them apart.
var indistinct = map[string]bool{"telemetry.sequence": true}

func checkRole(check func(what string, holds bool), role string, e *table.EntityInfo, may []string) {
	rights := table.Rights{}
	switch role {
	case "writer":
		rights = e.Access.Ingest
	case "worker":
		rights = e.Access.Fold
	}
	has := func(what string) bool { return slices.Contains(may, what) }
	check("no role but the keeper uses BatchWriteItem", !has("batch"))
	check("puts what it declares, and nothing else", has("put") == (rights.Puts != nil) || role == "worker" && indistinct[e.Name])
	check("deletes what it declares", rights.Deletes == nil || has("delete"))
	check("facts are never deleted", !e.Immutable || !has("delete") && !has("transact"))
	check("facts are never changed", !e.Immutable || !has("update"))
	check("updates no whole item that it does not declare", slices.Contains(rights.Updates, table.Whole[0]) || !has("update"))
	if strings.HasPrefix(e.PK, "ACCOUNT#") {
		check("accounts are neither put nor deleted", !has("put") && !has("delete") && !has("update"))
		check("credentials are read only to check keys", role == "writer" && e.Name == "accounts.key" || !has("get") && !has("query"))
	}
}

// TestAttributesOfRoles checks what depends on the attributes of a request: single attributes of a
// user that ingest reads, the one of a key that it updates, and those of other entities.
func TestAttributesOfRoles(t *testing.T) {
	g := asRole(t, withEverything(t), "writer")
	key := func(pk, sk string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
	}
	get := func(pk, sk, projection string) error {
		in := &dynamodb.GetItemInput{TableName: name, Key: key(pk, sk)}
		if projection != "" {
			in.ProjectionExpression = &projection
		}
		_, err := g.GetItem(t.Context(), in)
		return err
	}
	update := func(pk, sk, expression string) error {
		_, err := g.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: name, Key: key(pk, sk), UpdateExpression: &expression,
			ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberS{Value: "1"}}})
		return err
	}
	for what, c := range map[string]struct {
		err    error
		denied bool
	}{
		"roles of a key's creator":    {get("ACCOUNT#USER#ann", "PROFILE", "pk, sk, grants, disabled"), false},
		"a password":                  {get("ACCOUNT#USER#ann", "PROFILE", "pk, sk, grants, password"), true},
		"all of a user":               {get("ACCOUNT#USER#ann", "PROFILE", ""), true},
		"a second factor":             {get("ACCOUNT#USER#ann", "SECOND_FACTOR", "secret"), true},
		"the day of a key's last use": {update("ACCOUNT#KEY#k", "KEY", "SET lastUsed = :v"), false},
		"the scope of a key":          {update("ACCOUNT#KEY#k", "KEY", "SET lastUsed = :v, #s = :v"), true},
		"settings of a site":          {update("SITE#blog", "METADATA", "SET ownerId = :v"), true},
		"the head of a stream":        {update("AGGREGATE#order#1", "#METADATA", "SET currentSeqNum = :v"), false},
		"a mark through a head":       {update("AGGREGATE#order#1", "COMMIT#c", "SET digest = :v"), true},
	} {
		if denied(c.err) != c.denied {
			t.Errorf("%s: denied %t, want %t: %v", what, denied(c.err), c.denied, c.err)
		}
	}
}
