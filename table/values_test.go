package table_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/table"
)

// plain hides the methods that an API offers in addition to DynamoDB's.
type plain struct{ dynamo.API }

// TestValuesAsItems checks that query patterns return the same with maps and without. It covers
// expired and removed items, ends of ranges, items that cannot be decoded, and a caller that writes
// while it reads.
func TestValuesAsItems(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	db := enginetest.New(t)
	if err := schema.Ensure(ctx, db, "notes"); err != nil {
		t.Fatal(err)
	}
	if _, ok := any(db).(dynamo.ValuesReader); !ok {
		t.Fatal("the engine does not offer values")
	}
	o := table.Options{Clock: db.Now}
	with, without := table.New(db, "notes", o), table.New(plain{db}, "notes", o)
	for i := range 90 {
		n := &note{noteKey: noteKey{"o", r.IntN(2), fmt.Sprintf("%03d", i)}, Author: fmt.Sprint("a", r.IntN(3)), Status: fmt.Sprint("s", r.IntN(2)), Open: r.IntN(2) == 0,
			Count: r.IntN(9) - 4, Text: strings.Repeat("x", r.IntN(30_000)), Tags: strings.Fields(strings.Repeat("t ", r.IntN(3)))}
		if r.IntN(4) == 0 {
			n.Until = db.Now().Add(time.Duration(r.IntN(7)-3) * time.Hour)
		}
		if err := notes.Put(ctx, with, n); err != nil {
			t.Fatal(err)
		}
		if r.IntN(9) == 0 {
			spoil(t, db, n, types.AttributeValueMemberS{Value: table.Removed})
		}
	}
	same := func(what string, ask func(*table.Table) (string, error)) {
		t.Helper()
		have, err := ask(with)
		want, wantErr := ask(without)
		if have != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: %s, %v; want %s, %v", what, have, err, want, wantErr)
		}
	}
	random := func() {
		for range 20 {
			in := notesIn{Owner: "o", From: fmt.Sprintf("%03d", r.IntN(100)), To: fmt.Sprintf("%03d", r.IntN(100)), Shards: 1 + r.IntN(2)}
			if r.IntN(3) == 0 {
				in.From, in.To = "", ""
			}
			same(fmt.Sprint("up ", in), func(tb *table.Table) (string, error) { return told(ctx, notesUp, tb, in) })
			same(fmt.Sprint("down ", in), func(tb *table.Table) (string, error) { return told(ctx, notesDown, tb, in) })
			author := authorIn{fmt.Sprint("a", r.IntN(3)), fmt.Sprint("s", r.IntN(2))}
			same(fmt.Sprint(author), func(tb *table.Table) (string, error) { return told(ctx, byAuthor, tb, author) })
			odd := noteKeyOfShard{"o", r.IntN(2)}
			same(fmt.Sprint("odd ", odd), func(tb *table.Table) (string, error) { return told(ctx, oddNotes, tb, odd) })
		}
	}
	random()
	db.Inject(enginetest.Fault{Effect: enginetest.LoseAnswer, Op: "Query", Nth: 1})
	if have, err := told(ctx, notesUp, with, notesIn{Owner: "o", Shards: 1}); have != "" || err == nil {
		t.Errorf("a lost page: %s, %v", have, err)
	}
	db.Heal()
	wrong := &note{noteKey: noteKey{"o", 0, "0505"}, Author: "a1", Status: "s1"}
	if err := notes.Put(ctx, with, wrong); err != nil {
		t.Fatal(err)
	}
	for _, et := range []string{"test.other", "test.note"} { // the second has a count that is not a number
		spoil(t, db, wrong, types.AttributeValueMemberS{Value: et})
		random()
	}
	for n := range byAuthor.All(ctx, with, authorIn{"a0", "s0"}) {
		if err := notes.Delete(ctx, with, n.noteKey); err != nil {
			t.Errorf("delete while reading: %v", err)
		}
	}
	if _, err := byAuthor.First(ctx, with, authorIn{"a0", "s0"}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("all were deleted: %v", err)
	}
}

// told returns the results of a query pattern as text, up to the first error.
func told[In any](ctx context.Context, q *table.Query[In, note, noteKey], tb *table.Table, in In) (string, error) {
	var b strings.Builder
	for n, err := range q.All(ctx, tb, in) {
		if err != nil {
			return b.String(), err
		}
		n.Text = fmt.Sprint(len(n.Text))
		fmt.Fprintf(&b, "%+v;", n)
	}
	return b.String(), nil
}

// spoil writes a note with a fault: with another entity, or with text as its count.
func spoil(t *testing.T, db dynamo.API, n *note, et types.AttributeValueMemberS) {
	t.Helper()
	it, err := notes.Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	it["et"], it["count"] = &et, &types.AttributeValueMemberS{Value: "many"}
	name := "notes"
	if _, err := db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
		t.Fatal(err)
	}
}
