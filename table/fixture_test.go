package table_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamotest"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

type noteKey struct {
	Owner string `dynamodbav:"owner"`
	Shard int    `dynamodbav:"shard"`
	ID    string `dynamodbav:"id"`
}

type note struct {
	noteKey
	Author string    `dynamodbav:"author,omitempty"`
	Status string    `dynamodbav:"status,omitempty"`
	Open   bool      `dynamodbav:"open,omitempty"`
	Count  int       `dynamodbav:"count,omitempty"`
	Text   string    `dynamodbav:"text"`
	Tags   []string  `dynamodbav:"tags,omitempty"`
	Until  time.Time `dynamodbav:"until,omitempty"`
}

var (
	notes = table.Define[note, noteKey]("test.note", table.Def[note]{
		PK: "OWNER#{owner}#SHARD#{shard}", SK: "NOTE#{id}",
		Indexes: []table.Index[note]{
			{Name: "gsi1", PK: "AUTHOR#{author}", SK: "STATUS#{status}#{id}"},
			{Name: "gsi3", PK: "KIND#{status}[#{shard}]", SK: "AUTHOR#{author}"},
			{Name: "gsi2", PK: "OPEN#{owner}", SK: "NOTE#{id}", When: func(n *note) bool { return n.Open }, WhenReads: []string{"open"}},
		},
		Expires: func(n *note) time.Time { return n.Until }, ExpiresReads: []string{"until"},
	})
	noteCount  = table.FieldOf(notes, func(n *note) *int { return &n.Count })
	noteText   = table.FieldOf(notes, func(n *note) *string { return &n.Text })
	noteStatus = table.FieldOf(notes, func(n *note) *string { return &n.Status })
	noteAuthor = table.FieldOf(notes, func(n *note) *string { return &n.Author })
	noteOpen   = table.FieldOf(notes, func(n *note) *bool { return &n.Open })
	noteTags   = table.FieldOf(notes, func(n *note) *[]string { return &n.Tags })
	noteUntil  = table.FieldOf(notes, func(n *note) *time.Time { return &n.Until })
)

type factKey struct {
	ID string `dynamodbav:"id"`
}

type fact struct {
	factKey
	Until time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

var facts = table.Define[fact, factKey]("test.fact", table.Def[fact]{PK: "FACT#{id}", SK: "FACT", Immutable: true})

type notesIn struct {
	Owner    string `dynamodbav:"owner"`
	From, To string
	Shards   int `dynamodbav:"-"`
}

type authorIn struct {
	Author string `dynamodbav:"author"`
	Status string `dynamodbav:"status"`
}

func notesDef(id string, desc bool) table.QueryDef[notesIn] {
	return table.QueryDef[notesIn]{
		ID: id, Question: "notes of an owner", From: "NOTE#{From}", To: "NOTE#{To}", Desc: desc, FanOut: "shard",
		Over: func(in notesIn) []int { return upTo(in.Shards) },
	}
}

func upTo(n int) []int {
	var ns []int
	for i := range n {
		ns = append(ns, i)
	}
	return ns
}

var (
	notesUp   = table.NewQuery(notes, notesDef("N1", false))
	notesDown = table.NewQuery(notes, notesDef("N2", true))
	byAuthor  = table.NewQuery(notes, table.QueryDef[authorIn]{ID: "N3", Index: "gsi1", Prefix: "STATUS#{status}#"})
	byKind    = table.NewQuery(notes, table.QueryDef[kindIn]{ID: "N7", Index: "gsi3", FanOut: "shard",
		Over: func(kindIn) []int { return upTo(4) }, Desc: true})
	getNote  = table.NewGet[noteKey](notes, table.GetDef{ID: "N4", Question: "one note"})
	addFact  = table.NewCreate(facts, table.CreateDef{ID: "N5", Question: "a fact, once"})
	oddNotes = table.NewQuery(notes, table.QueryDef[noteKeyOfShard]{ID: "N6", Filter: func(noteKeyOfShard) table.Cond {
		return table.Or(noteCount.In(1, 3, 5), table.Not(noteText.Exists()))
	}})
	schema = table.MustSchema("test", notes, facts, notesUp, notesDown, byAuthor, byKind, getNote, addFact, oddNotes)
)

type kindIn struct {
	Status string `dynamodbav:"status"`
}

type noteKeyOfShard struct {
	Owner string `dynamodbav:"owner"`
	Shard int    `dynamodbav:"shard"`
}

// faulty is an API whose answers are as slow and incomplete as the protocol allows: small pages,
// unprocessed items, throttling.
type faulty struct {
	dynamo.API
	mu      sync.Mutex
	rng     *rand.Rand
	pages   int32 // number of items in a page of a Query; 0 means as requested
	trouble float64
	cancel  []string // the reasons with which the next transaction is cancelled
}

func (f *faulty) bad() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.Float64() < f.trouble
}

func (f *faulty) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if f.pages > 0 && (in.Limit == nil || *in.Limit > f.pages) {
		small := *in
		small.Limit = &f.pages
		in = &small
	}
	return f.API.Query(ctx, in, o...)
}

func (f *faulty) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if !f.bad() {
		return f.API.BatchGetItem(ctx, in, o...)
	}
	for name, keys := range in.RequestItems {
		if len(keys.Keys) < 2 {
			return nil, &types.ProvisionedThroughputExceededException{}
		}
		half, rest := keys, keys
		half.Keys, rest.Keys = keys.Keys[:len(keys.Keys)/2], keys.Keys[len(keys.Keys)/2:]
		out, err := f.API.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{name: half}}, o...)
		if err == nil {
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{name: rest}
		}
		return out, err
	}
	return nil, errors.New("no table")
}

func (f *faulty) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if !f.bad() {
		return f.API.BatchWriteItem(ctx, in, o...)
	}
	for name, writes := range in.RequestItems {
		if len(writes) < 2 {
			return nil, &types.ProvisionedThroughputExceededException{}
		}
		out, err := f.API.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{name: writes[:len(writes)/2]}}, o...)
		if err == nil {
			out.UnprocessedItems = map[string][]types.WriteRequest{name: writes[len(writes)/2:]}
		}
		return out, err
	}
	return nil, errors.New("no table")
}

func (f *faulty) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if f.cancel == nil {
		return f.API.TransactWriteItems(ctx, in, o...)
	}
	var reasons []types.CancellationReason
	for _, code := range f.cancel {
		reasons = append(reasons, types.CancellationReason{Code: &code})
	}
	f.cancel = nil
	return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
}

var start = time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)

// onDynalite is the environment variable with which TestOnDynalite makes the tests that it runs use
// Dynalite.
const onDynalite = "ONEFOLD_TEST_TABLES_ON_DYNALITE"

// database returns the database for a test's tables.
func database(t *testing.T) dynamo.API {
	t.Helper()
	if os.Getenv(onDynalite) != "" {
		return dynamotest.Dynalite(t)
	}
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// open creates an empty table whose clock stands still.
func open(t *testing.T) (context.Context, *table.Table, *faulty) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	api := &faulty{API: database(t), rng: rand.New(rand.NewPCG(seed, 0))}
	if err := schema.Ensure(t.Context(), api, "test"); err != nil {
		t.Fatal(err)
	}
	return t.Context(), table.New(api, "test", table.Options{Clock: func() time.Time { return start }}), api
}
