package enginebench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine"
)

// The benchmarks use one table: orders of customers, 100 per partition. One index, which projects
// all attributes, finds orders by status. The stream has both images.
const (
	tableName     = "bench"
	perPartition  = 100
	indexName     = "by-status"
	attributeText = types.ScalarAttributeTypeS
)

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int) types.AttributeValue  { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }
func partitionOf(n int) string           { return fmt.Sprintf("CUSTOMER#%09d", n/perPartition) }
func sortOf(n int) string                { return fmt.Sprintf("ORDER#%012d", n) }
func keyOf(n int) item                   { return item{"pk": text(partitionOf(n)), "sk": text(sortOf(n))} }
func ptr[T any](v T) *T                  { return &v }
func some(n, of int) int                 { return int(uint64(n) * 0x9e3779b97f4a7c15 >> 33 % uint64(of)) }

// notes is incompressible text. Items contain parts of it.
var notes = func() string {
	var b [1 << 19]byte
	rand.NewChaCha8([32]byte{1}).Read(b[:])
	return hex.EncodeToString(b[:])
}()

const noteBytes = 116

func noteOf(n int) string {
	at := some(n, len(notes)-noteBytes)
	return notes[at : at+noteBytes]
}

// itemOf returns the n-th item: 300 bytes by DynamoDB's size rule, 9 attributes.
func itemOf(n int) item {
	return item{
		"pk": text(partitionOf(n)), "sk": text(sortOf(n)),
		"status":  text("STATUS#" + strconv.Itoa(n%100000)),
		"created": text("2026-04-20T14:00:" + strconv.Itoa(n%60)),
		"total":   number(n % 100000), "lines": number(n % 7),
		"country": text("DE"), "paid": &types.AttributeValueMemberBOOL{Value: n%2 == 0},
		"note": text(noteOf(n)),
	}
}

func tableInput() *dynamodb.CreateTableInput {
	key := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	in := &dynamodb.CreateTableInput{
		TableName: ptr(tableName), BillingMode: types.BillingModePayPerRequest, KeySchema: key("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: ptr(indexName), KeySchema: key("status", "created"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: ptr(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	for _, name := range []string{"pk", "sk", "status", "created"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: ptr(name), AttributeType: attributeText})
	}
	return in
}

// fill creates the database with its items, unless it exists.
func fill(ctx context.Context, dir string, o Options) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	o.Progress(fmt.Sprintf("filling a table with %d items", o.Items))
	making := dir + "-partial" // an unfinished database of an earlier run is created again
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	db, err := engine.Open(making, engine.Options{NoSync: true, Logger: o.Logger})
	if err != nil {
		return err
	}
	err = fillTable(ctx, db, o)
	if err == nil {
		err = db.Compact(ctx) // otherwise the two sides would compact while they are measured, at different times
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("enginebench: fill: %w", err)
	}
	return os.Rename(making, dir)
}

func fillTable(ctx context.Context, db *engine.DB, o Options) error {
	if _, err := db.CreateTable(ctx, tableInput()); err != nil {
		return err
	}
	const atOnce = 500
	ins := make([]*dynamodb.PutItemInput, 0, atOnce)
	for n := range o.Items {
		ins = append(ins, &dynamodb.PutItemInput{TableName: ptr(tableName), Item: itemOf(n)})
		if len(ins) < atOnce && n < o.Items-1 {
			continue
		}
		if err := firstError(db.PutItems(ctx, ins)...); err != nil {
			return err
		}
		if ins = ins[:0]; n%100_000 == 99_999 {
			o.Progress(fmt.Sprintf("filled %d of %d", n+1, o.Items))
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// live is the engine to measure.
type live struct {
	db    *engine.DB
	items int
}

func openLive(dir string, o Options) (*live, error) {
	db, err := engine.Open(dir, engine.Options{Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return &live{db: db, items: o.Items}, nil
}

func (l *live) close() error { return l.db.Close() }
