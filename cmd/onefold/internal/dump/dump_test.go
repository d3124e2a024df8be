package dump_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/cmd/onefold/internal/dump"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
)

type item = map[string]types.AttributeValue

func ptr[T any](v T) *T { return &v }

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// database opens a database in memory with a table that uses everything in a description.
func database(t *testing.T) *engine.DB {
	t.Helper()
	return enginetest.New(t).DB
}

func keys(hash, rng string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &rng, KeyType: types.KeyTypeRange}}
}

func create(t *testing.T, db *engine.DB, billing types.BillingMode) {
	t.Helper()
	all := &types.Projection{ProjectionType: types.ProjectionTypeAll}
	in := &dynamodb.CreateTableInput{
		TableName: ptr("table"), BillingMode: billing, KeySchema: keys("pk", "sk"),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: ptr("pk"), AttributeType: "S"}, {AttributeName: ptr("sk"), AttributeType: "N"}, {AttributeName: ptr("g"), AttributeType: "S"}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: ptr("global"), KeySchema: keys("g", "sk"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"a", "b"}}}},
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{IndexName: ptr("local"), KeySchema: keys("pk", "g"), Projection: all}},
		StreamSpecification:   &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: types.StreamViewTypeNewImage},
	}
	if billing == types.BillingModeProvisioned {
		units := &types.ProvisionedThroughput{ReadCapacityUnits: ptr(int64(5)), WriteCapacityUnits: ptr(int64(6))}
		in.ProvisionedThroughput, in.GlobalSecondaryIndexes[0].ProvisionedThroughput = units, units
	}
	ctx := context.Background()
	if _, err := db.CreateTable(ctx, in); err != nil {
		t.Fatal(err)
	}
	if _, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: ptr("table"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: ptr("ttl"), Enabled: ptr(true)}}); err != nil {
		t.Fatal(err)
	}
}

// TestDescription creates a table from a description. Its own description is the same, apart from
// names and times.
func TestDescription(t *testing.T) {
	ctx := context.Background()
	for _, billing := range []types.BillingMode{types.BillingModePayPerRequest, types.BillingModeProvisioned} {
		from, to := database(t), database(t)
		create(t, from, billing)
		b, err := dump.Describe(ctx, from, "table")
		if err != nil {
			t.Fatal(err)
		}
		d, err := dump.ParseDescription(b)
		if err != nil {
			t.Fatal(err)
		}
		if made, err := d.Ensure(ctx, to, "table"); err != nil || !made {
			t.Fatal(made, err)
		}
		if made, err := d.Ensure(ctx, to, "table"); err != nil || made {
			t.Error("made again", err)
		}
		want, got := described(t, from), described(t, to)
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", billing, got, want)
		}
		ttl, err := to.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: ptr("table")})
		if err != nil || *ttl.TimeToLiveDescription.AttributeName != "ttl" {
			t.Errorf("%+v, %v", ttl, err)
		}
	}
}

func described(t *testing.T, db *engine.DB) *types.TableDescription {
	t.Helper()
	out, err := db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: ptr("table")})
	if err != nil {
		t.Fatal(err)
	}
	d := out.Table
	d.CreationDateTime, d.TableId, d.LatestStreamArn, d.LatestStreamLabel = nil, nil, nil, nil
	if d.BillingModeSummary != nil {
		d.BillingModeSummary.LastUpdateToPayPerRequestDateTime = nil
	}
	return d
}

func TestBadDescriptions(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"Table":{}}`, `{"KeySchema":5}`, `{"Table":{"KeySchema":[{"AttributeName":1}]}}`} {
		if _, err := dump.ParseDescription([]byte(text)); !errors.Is(err, dump.ErrDescription) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func randomValue(rng *rand.Rand, depth int) types.AttributeValue {
	switch n := rng.IntN(8); {
	case n == 0 && depth > 0:
		return &types.AttributeValueMemberM{Value: item{"x": randomValue(rng, depth-1), "\n\"": randomValue(rng, depth-1)}}
	case n == 1 && depth > 0:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{randomValue(rng, depth-1)}}
	case n == 2:
		return &types.AttributeValueMemberB{Value: []byte{0, 1, byte(rng.IntN(256))}}
	case n == 3:
		return &types.AttributeValueMemberN{Value: fmt.Sprint(rng.IntN(1000), ".25")}
	case n == 4:
		return &types.AttributeValueMemberSS{Value: []string{"a", "ü\u2028<>&\x00"}}
	case n == 5:
		return &types.AttributeValueMemberNULL{Value: true}
	}
	return str(string(rune(rng.IntN(0xd800))) + "text")
}

func itemsOf(t *testing.T, api dynamo.API) map[string]item {
	t.Helper()
	items := map[string]item{}
	in := &dynamodb.ScanInput{TableName: ptr("table")}
	for {
		out, err := api.Scan(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Items {
			items[it["pk"].(*types.AttributeValueMemberS).Value+"/"+it["sk"].(*types.AttributeValueMemberN).Value] = it
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return items
		}
	}
}

// withoutPutter hides PutItems, leaves items unprocessed and throttles, like DynamoDB.
type withoutPutter struct {
	dynamo.API
	calls atomic.Int64
}

func (w *withoutPutter) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	n := w.calls.Add(1)
	if n%29 == 0 {
		return nil, &types.ProvisionedThroughputExceededException{}
	}
	var left []types.WriteRequest
	if of := in.RequestItems["table"]; n%13 == 0 && len(of) > 1 {
		in.RequestItems["table"], left = of[:1], of[1:]
	}
	out, err := w.API.BatchWriteItem(ctx, in, o...)
	if err == nil && left != nil {
		out.UnprocessedItems["table"] = left
	}
	return out, err
}

// TestRoundTrip exports random items and imports them in both ways of writing, from plain and
// compressed files. Some keys occur several times in the file; the last line of each wins.
func TestRoundTrip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	ctx := context.Background()
	from := database(t)
	create(t, from, types.BillingModePayPerRequest)
	var stale bytes.Buffer
	for i := range 1500 {
		it := item{"pk": str(fmt.Sprint("p", rng.IntN(50))), "sk": &types.AttributeValueMemberN{Value: fmt.Sprint(i)}, "v": randomValue(rng, 4)}
		if _, err := from.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("table"), Item: it}); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			fmt.Fprintf(&stale, `{"Item":{"pk":{"S":%q},"sk":{"N":"%d"},"v":{"S":"stale"}}}`+"\r\n", it["pk"].(*types.AttributeValueMemberS).Value, i)
		}
	}
	var lines bytes.Buffer
	n, err := (&dump.Export{API: from, Table: "table", Segments: 3}).Run(ctx, &lines)
	if err != nil || n != 1500 {
		t.Fatal(n, err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	write(t, plain, append(stale.Bytes(), bytes.TrimSuffix(lines.Bytes(), []byte("\n"))...))
	zipped := filepath.Join(t.TempDir(), "zipped")
	write(t, zipped, gzipped(t, stale.Bytes(), lines.Bytes()))
	for _, name := range []string{plain, zipped, "-"} {
		for _, many := range []bool{true, false} {
			to := database(t)
			create(t, to, types.BillingModePayPerRequest)
			m := dump.Import{API: to, Table: "table", Writers: 3, Stdin: bytes.NewReader(append(bytes.Clone(stale.Bytes()), lines.Bytes()...))}
			if !many {
				m.API = &withoutPutter{API: to}
			}
			sources, err := dump.Sources([]string{name})
			if err != nil {
				t.Fatal(err)
			}
			sum, err := m.Run(ctx, sources)
			if err != nil || sum != (dump.Imported{Lines: 1800, Items: 1800}) {
				t.Errorf("%s: %+v, %v", name, sum, err)
			}
			if got, want := itemsOf(t, to), itemsOf(t, from); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d items differ from %d", name, len(got), len(want))
			}
		}
	}
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// gzipped returns a file with a gzip member per part, as written by AWS and log rotation.
func gzipped(t *testing.T, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, part := range parts {
		z := gzip.NewWriter(&b)
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestRefusedBatch imports through BatchWriteItem a batch with one invalid item. Only that item is
// rejected.
func TestRefusedBatch(t *testing.T) {
	db := database(t)
	create(t, db, types.BillingModePayPerRequest)
	var text strings.Builder
	for i := range 60 {
		value := `{"S":"x"}`
		if i == 7 {
			value = `{"S":"` + strings.Repeat("x", 400<<10) + `"}`
		}
		fmt.Fprintf(&text, `{"Item":{"pk":{"S":"p"},"sk":{"N":"%d"},"v":%s}}`+"\n", i, value)
	}
	fmt.Fprintf(&text, "%s\n", strings.Repeat("x", dump.MaxLine+1))
	var rejected []string
	m := dump.Import{API: &withoutPutter{API: db}, Table: "table", Writers: 1, Stdin: strings.NewReader(text.String()),
		Reject: func(r dump.Rejected) error { rejected = append(rejected, r.Error()); return nil }}
	sum, err := m.Run(context.Background(), []dump.Source{{Name: "-"}})
	if err == nil || !errors.Is(err, dump.ErrDamaged) { // its manifest claims that it has no items
		t.Error(err)
	}
	if sum != (dump.Imported{Lines: 61, Items: 59, Rejected: 2}) || len(rejected) != 2 {
		t.Errorf("%+v %v", sum, rejected)
	}
	if all := strings.Join(rejected, "\n"); !strings.Contains(all, "standard input:8: was rejected: ") || !strings.Contains(all, "standard input:61: the line is longer") {
		t.Error(all)
	}
}

// TestImportStops checks that a database error, an invalid line without Reject and a cancelled
// context end an import at once.
func TestImportStops(t *testing.T) {
	db := database(t)
	create(t, db, types.BillingModePayPerRequest)
	lines := strings.Repeat(`{"Item":{"pk":{"S":"p"},"sk":{"N":"1"}}}`+"\n", 10_000)
	sources, err := dump.Sources([]string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	m := dump.Import{API: broken{db}, Table: "table", Writers: 2, Stdin: strings.NewReader(lines)}
	if _, err := m.Run(context.Background(), sources); !errors.Is(err, errBroken) {
		t.Errorf("a broken database: %v", err)
	}
	m = dump.Import{API: db, Table: "table", Writers: 2, Stdin: strings.NewReader(lines + "?\n" + lines)}
	var r *dump.Rejected
	if _, err := m.Run(context.Background(), sources); !errors.As(err, &r) || r.Line != 10_001 {
		t.Errorf("a bad line: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m = dump.Import{API: db, Table: "table", Writers: 2, Stdin: strings.NewReader(lines), Read: func(int64, int64) { cancel() }}
	if _, err := m.Run(ctx, sources); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	m = dump.Import{API: db, Table: "table", Writers: 2, Stdin: bytes.NewReader(gzipped(t, []byte(lines))[:200])}
	if _, err := m.Run(context.Background(), sources); err == nil {
		t.Error("a file that is cut off is no error")
	}
}

// TestNumberKeys checks that the last line of a key wins, however its number is written, with any
// writer.
func TestNumberKeys(t *testing.T) {
	var text strings.Builder
	spellings := []string{"%d", "%d.0", "+%d", "0%d.00", "%d0e-1", "0.%dE3"}
	for _, spelling := range spellings {
		for i := range 200 {
			fmt.Fprintf(&text, `{"Item":{"pk":{"S":"p"},"sk":{"N":"`+spelling+`"},"v":{"S":%q}}}`+"\n", 111*(1+i%9), spelling)
		}
	}
	for _, many := range []bool{true, false} {
		db := database(t)
		create(t, db, types.BillingModePayPerRequest)
		m := dump.Import{API: db, Table: "table", Writers: 8, Stdin: strings.NewReader(text.String())}
		if !many {
			m.API = &withoutPutter{API: db}
		}
		sources, err := dump.Sources([]string{"-"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Run(context.Background(), sources); err != nil {
			t.Fatal(err)
		}
		out, err := db.Scan(context.Background(), &dynamodb.ScanInput{TableName: ptr("table")})
		if err != nil || len(out.Items) != 9 {
			t.Fatalf("%d items, %v", len(out.Items), err)
		}
		for _, it := range out.Items {
			if got := it["v"].(*types.AttributeValueMemberS).Value; got != spellings[len(spellings)-1] {
				t.Errorf("%s: the line %s counts", it["sk"].(*types.AttributeValueMemberN).Value, got)
			}
		}
	}
}

type broken struct{ dynamo.API }

var errBroken = errors.New("broken")

func (b broken) BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return nil, errBroken
}
