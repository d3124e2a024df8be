package table_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOneItem(t *testing.T) {
	ctx, tb, _ := open(t)
	n := note{noteKey: noteKey{"ann", 2, "1"}, Author: "bob", Status: "new", Count: 3, Text: "hello", Tags: []string{"a"}, Until: start.Add(time.Hour)}
	_, err := notes.Get(ctx, tb, n.noteKey)
	wantErr(t, "get", err, table.ErrNotFound)
	must(t, notes.Create(ctx, tb, &n))
	wantErr(t, "create again", notes.Create(ctx, tb, &n), table.ErrExists)
	got, err := getNote.Get(ctx, tb, n.noteKey)
	must(t, err)
	if !reflect.DeepEqual(got, n) {
		t.Errorf("got %+v, want %+v", got, n)
	}
	n.Text = "bye"
	must(t, notes.Put(ctx, tb, &n, noteText.Eq("hello")))
	wantErr(t, "put", notes.Put(ctx, tb, &n, noteText.Eq("hello")), table.ErrCondition)
	wantErr(t, "put", notes.Put(ctx, tb, &n, table.Absent()), table.ErrCondition)
	wantErr(t, "delete", notes.Delete(ctx, tb, n.noteKey, noteCount.Gt(3)), table.ErrCondition)
	must(t, notes.Delete(ctx, tb, n.noteKey, noteCount.Ge(3), table.Present()))
	_, err = notes.Get(ctx, tb, n.noteKey)
	wantErr(t, "get", err, table.ErrNotFound)
	wantErr(t, "create", notes.Create(ctx, tb, &note{noteKey: noteKey{"ann#x", 0, "1"}}), table.ErrKeyValue)
	wantErr(t, "create", notes.Create(ctx, tb, &note{noteKey: noteKey{"", 0, "1"}}), table.ErrKeyEmpty)
	_, err = facts.Decode(table.Item{"et": &types.AttributeValueMemberS{Value: "test.note"}})
	wantErr(t, "decode", err, table.ErrWrongEntity)
}

func TestExpiredAndRemoved(t *testing.T) {
	ctx, tb, api := open(t)
	old := note{noteKey: noteKey{"ann", 0, "1"}, Text: "old", Until: start}
	must(t, notes.Put(ctx, tb, &old))
	_, err := notes.Get(ctx, tb, old.noteKey)
	wantErr(t, "get of an expired item", err, table.ErrNotFound)
	_, err = notes.Patch(ctx, tb, old.noteKey, noteText.Set("x"))
	wantErr(t, "patch of an expired item", err, table.ErrNotFound)
	_, err = notes.Modify(ctx, tb, old.noteKey, func(*note) error { return nil })
	wantErr(t, "modify of an expired item", err, table.ErrNotFound)
	must(t, notes.Create(ctx, tb, &old))

	dead := fact{factKey{"1"}, start.Add(-time.Hour)}
	must(t, addFact.Run(ctx, tb, &dead))
	wantErr(t, "an expired fact is still that fact", addFact.Run(ctx, tb, &dead), table.ErrExists)
	wantErr(t, "put", facts.Put(ctx, tb, &dead), table.ErrImmutable)
	_, err = facts.Modify(ctx, tb, dead.factKey, func(*fact) error { return nil })
	wantErr(t, "modify", err, table.ErrImmutable)
	_, err = facts.Patch(ctx, tb, dead.factKey)
	wantErr(t, "patch", err, table.ErrImmutable)

	key, err := notes.Key(noteKey{"ann", 0, "2"})
	must(t, err)
	key["et"] = &types.AttributeValueMemberS{Value: table.Removed}
	_, err = api.PutItem(ctx, &dynamodb.PutItemInput{TableName: ptr("test"), Item: key})
	must(t, err)
	_, err = notes.Get(ctx, tb, noteKey{"ann", 0, "2"})
	wantErr(t, "get of a tombstone", err, table.ErrNotFound)
	for n, err := range notesUp.All(ctx, tb, notesIn{Owner: "ann", Shards: 1}) {
		t.Errorf("a query returned %v, %v", n, err)
	}
	many, err := notes.GetMany(ctx, tb, []noteKey{{"ann", 0, "1"}, {"ann", 0, "2"}})
	if len(many) > 0 || err != nil {
		t.Errorf("GetMany returned %v, %v", many, err)
	}
}

func ptr[T any](v T) *T { return &v }

func TestBatchesFinish(t *testing.T) {
	ctx, tb, api := open(t)
	table.SetSleep(tb, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
	api.trouble = 0.5
	var want []note
	var keys []noteKey
	for i := range 230 {
		n := note{noteKey: noteKey{"ann", i % 3, fmt.Sprintf("%03d", i)}, Count: i}
		want = append(want, n)
		keys = append(keys, n.noteKey)
	}
	must(t, notes.PutMany(ctx, tb, append(slices.Clone(want), want[7])))
	got, err := notes.GetMany(ctx, tb, append(keys, keys[0], noteKey{"ann", 0, "missing"}))
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d items are not the %d that were put", len(got), len(want))
	}
	must(t, notes.DeleteMany(ctx, tb, keys[:200]))
	if got, err = notes.GetMany(ctx, tb, keys); err != nil || len(got) != 30 {
		t.Errorf("%d items are left, want 30; %v", len(got), err)
	}
	api.trouble = 1
	_, err = notes.GetMany(ctx, tb, keys[:1])
	wantErr(t, "a batch that never makes progress", err, table.ErrThrottled)
	wantErr(t, "a batch that never makes progress", notes.PutMany(ctx, tb, want[:1]), table.ErrThrottled)
}

// TestQueriesAgainstModel checks that every query, whatever its page size, returns what a filter
// and a sort of all items give.
func TestQueriesAgainstModel(t *testing.T) {
	ctx, tb, api := open(t)
	api.pages = 7
	rng := api.rng
	var all []note
	for i := range 300 {
		n := note{noteKey: noteKey{Owner: []string{"ann", "bob"}[rng.IntN(2)], ID: fmt.Sprintf("%04d", rng.IntN(200))},
			Author: fmt.Sprint(rng.IntN(3)), Status: []string{"", "new", "done"}[rng.IntN(3)], Count: i}
		n.Shard = rng.IntN(4)
		if rng.IntN(4) == 0 {
			n.Until = start.Add(time.Duration(rng.IntN(3)-1) * time.Hour)
		}
		all = slices.DeleteFunc(all, func(o note) bool { return o.noteKey == n.noteKey })
		all = append(all, n)
		must(t, notes.Put(ctx, tb, &n))
	}
	all = slices.DeleteFunc(all, func(n note) bool { return !n.Until.IsZero() && !n.Until.After(start) })
	bound := func() string {
		if rng.IntN(4) == 0 {
			return ""
		}
		return fmt.Sprintf("%04d", rng.IntN(220))
	}
	for range 60 {
		in := notesIn{Owner: []string{"ann", "bob", "cid"}[rng.IntN(3)], From: bound(), To: bound(), Shards: 1 + rng.IntN(4)}
		var want []note
		for _, n := range all {
			if n.Owner == in.Owner && n.ID >= in.From && (in.To == "" || n.ID < in.To) && n.Shard < in.Shards {
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b note) int { return strings.Compare(a.ID, b.ID)*10 + a.Shard - b.Shard })
		q := notesUp
		if rng.IntN(2) == 0 {
			q = notesDown
			slices.Reverse(want)
		}
		got, err := q.Collect(ctx, tb, in)
		sameKeys(t, fmt.Sprintf("%+v", in), got, want, err)
		got, err = pages(ctx, tb, q, in, 1+rng.IntN(20))
		sameKeys(t, fmt.Sprintf("pages of %+v", in), got, want, err)
		first, err := q.First(ctx, tb, in)
		switch {
		case len(want) == 0:
			wantErr(t, "first", err, table.ErrNotFound)
		case err != nil || first.noteKey != want[0].noteKey:
			t.Errorf("first of %+v is %v, %v; want %v", in, first.noteKey, err, want[0].noteKey)
		}
	}
	for range 20 {
		in := authorIn{fmt.Sprint(rng.IntN(3)), []string{"new", "done"}[rng.IntN(2)]}
		var want []note
		for _, n := range all {
			if n.Author == in.Author && n.Status == in.Status {
				want = append(want, n)
			}
		}
		got, err := pages(ctx, tb, byAuthor, in, 1+rng.IntN(5))
		byKey := func(a, b note) int { return strings.Compare(fmt.Sprint(a.noteKey), fmt.Sprint(b.noteKey)) }
		slices.SortFunc(got, byKey)
		slices.SortFunc(want, byKey)
		sameKeys(t, fmt.Sprintf("%+v", in), got, want, err)
	}
	for _, status := range []string{"new", "done"} {
		testKind(t, ctx, tb, status, all, 1+rng.IntN(9))
	}
	odd, err := pages(ctx, tb, oddNotes, noteKeyOfShard{"ann", 1}, 1)
	for _, n := range odd {
		if n.Count != 1 && n.Count != 3 && n.Count != 5 {
			t.Errorf("the filter let %v through", n)
		}
	}
	must(t, err)
}

// testKind reads an index page by page, over its shards, where many items have the same sort key.
func testKind(t *testing.T, ctx context.Context, tb *table.Table, status string, all []note, limit int) {
	got, err := pages(ctx, tb, byKind, kindIn{status}, limit)
	if !slices.IsSortedFunc(got, func(a, b note) int { return strings.Compare(b.Author, a.Author) }) {
		t.Errorf("kind %s is not in order", status)
	}
	want := slices.DeleteFunc(slices.Clone(all), func(n note) bool { return n.Status != status || n.Author == "" })
	byKey := func(a, b note) int { return strings.Compare(fmt.Sprint(a.noteKey), fmt.Sprint(b.noteKey)) }
	slices.SortFunc(got, byKey)
	slices.SortFunc(want, byKey)
	sameKeys(t, "kind "+status, got, want, err)
}

func pages[In any](ctx context.Context, tb *table.Table, q *table.Query[In, note, noteKey], in In, limit int) ([]note, error) {
	var got []note
	for cursor := ""; ; {
		page, err := q.Page(ctx, tb, in, cursor, limit)
		if err != nil {
			return nil, err
		}
		if page.Next != "" && len(page.Items) != limit || cursor != "" && len(page.Items) == 0 {
			return nil, fmt.Errorf("a page of %d has %d items", limit, len(page.Items))
		}
		got = append(got, page.Items...)
		if cursor = page.Next; cursor == "" {
			return got, nil
		}
	}
}

func sameKeys(t *testing.T, what string, got, want []note, err error) {
	t.Helper()
	keys := func(ns []note) (ks []noteKey) {
		for _, n := range ns {
			ks = append(ks, n.noteKey)
		}
		return ks
	}
	if err != nil || !slices.Equal(keys(got), keys(want)) {
		t.Fatalf("%s: error %v, got\n%v, want\n%v", what, err, keys(got), keys(want))
	}
}

func TestCursorsAreSigned(t *testing.T) {
	ctx, tb, _ := open(t)
	for i := range 10 {
		for _, owner := range []string{"ann", "bob"} {
			must(t, notes.Put(ctx, tb, &note{noteKey: noteKey{Owner: owner, ID: fmt.Sprint(i)}}))
		}
	}
	ann := notesIn{Owner: "ann", Shards: 1}
	page, err := notesUp.Page(ctx, tb, ann, "", 3)
	must(t, err)
	check := func(what, cursor string, q *table.Query[notesIn, note, noteKey], in notesIn) {
		t.Helper()
		_, err := q.Page(ctx, tb, in, cursor, 3)
		wantErr(t, what, err, table.ErrCursor)
	}
	altered := []byte(page.Next)
	altered[len(altered)-3] ^= 1
	check("altered", string(altered), notesUp, ann)
	check("cut", page.Next[:8], notesUp, ann)
	check("made up", "hello", notesUp, ann)
	check("of another pattern", page.Next, notesDown, ann)
	check("of another owner", page.Next, notesUp, notesIn{Owner: "bob", Shards: 1})
	check("of other shards", page.Next, notesUp, notesIn{Owner: "ann", Shards: 2})
	check("outside of the range", page.Next, notesUp, notesIn{Owner: "ann", From: "5", Shards: 1})
	if _, err := notesUp.Page(ctx, tb, notesIn{Owner: "ann", To: "9", Shards: 1}, page.Next, 3); err != nil {
		t.Errorf("the end of the range moved: %v", err)
	}
}

// TestDerivedFollows checks that after any patch and any modify the derived attributes in the store
// are those that a put of the same item would derive.
func TestDerivedFollows(t *testing.T) {
	ctx, tb, api := open(t)
	rng, k := api.rng, noteKey{"ann", 0, "1"}
	must(t, notes.Put(ctx, tb, &note{noteKey: k, Text: "x"}))
	words := []string{"", "a", "b"}
	for range 200 {
		word, until := words[rng.IntN(3)], start.Add(time.Hour*time.Duration(1+rng.IntN(5)))
		var n note
		var err error
		switch rng.IntN(5) {
		case 0:
			n, err = notes.Patch(ctx, tb, k, noteAuthor.Set(word), noteStatus.Set(words[rng.IntN(3)]))
		case 1:
			n, err = notes.Patch(ctx, tb, k, noteOpen.Set(rng.IntN(2) == 0), table.Add(noteCount, 1))
		case 2:
			n, err = notes.Patch(ctx, tb, k, noteUntil.Set(until), table.Append(noteTags, word+"t"))
		case 3:
			n, err = notes.Patch(ctx, tb, k, noteUntil.Remove(), noteText.Set(word))
		case 4:
			n, err = notes.Modify(ctx, tb, k, func(n *note) error {
				n.Author, n.Open, n.Until, n.Count = word, !n.Open, until, n.Count+1
				return nil
			})
		}
		must(t, err)
		want, err := notes.Encode(&n)
		must(t, err)
		key, err := notes.Key(k)
		must(t, err)
		out, err := api.GetItem(ctx, &dynamodb.GetItemInput{TableName: ptr("test"), Key: key})
		must(t, err)
		if !reflect.DeepEqual(out.Item, want) {
			t.Fatalf("stored\n%v, want\n%v", out.Item, want)
		}
	}
}

func TestPatchRefuses(t *testing.T) {
	ctx, tb, _ := open(t)
	n := note{noteKey: noteKey{"ann", 0, "1"}, Author: "bob", Status: "new", Count: 1}
	must(t, notes.Put(ctx, tb, &n))
	_, err := notes.Patch(ctx, tb, n.noteKey, noteStatus.Set("done"))
	wantErr(t, "the index needs the author too", err, table.ErrUnknownValue)
	if err == nil || !strings.Contains(err.Error(), "index gsi1 is also derived from author") {
		t.Errorf("the error does not say what is needed: %v", err)
	}
	_, err = notes.Patch(ctx, tb, n.noteKey, noteText.Set("x"), table.If[note](noteCount.Eq(2)))
	wantErr(t, "condition", err, table.ErrCondition)
	_, err = notes.Patch(ctx, tb, noteKey{"ann", 0, "2"}, noteText.Set("x"))
	wantErr(t, "no item", err, table.ErrNotFound)
	inKey := table.FieldOf(notes, func(n *note) *string { return &n.Owner })
	for what, changes := range map[string][]table.Change[note]{
		"nothing": nil, "twice": {noteText.Set("a"), noteText.Set("b")}, "key": {inKey.Set("x")},
	} {
		if _, err := notes.Patch(ctx, tb, n.noteKey, changes...); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	boom := errors.New("boom")
	_, err = notes.Modify(ctx, tb, n.noteKey, func(n *note) error { n.Count = 99; return boom })
	wantErr(t, "modify", err, boom)
	if _, err = notes.Modify(ctx, tb, n.noteKey, func(n *note) error { n.ID = "7"; return nil }); err == nil {
		t.Error("a modify changed the key")
	}
	got, err := notes.Get(ctx, tb, n.noteKey)
	if err != nil || !reflect.DeepEqual(got, n) {
		t.Errorf("the item became %+v, %v", got, err)
	}
}

func TestModifyLosesNoUpdate(t *testing.T) {
	ctx, tb, _ := open(t)
	table.SetSleep(tb, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
	k := noteKey{"ann", 0, "1"}
	must(t, notes.Put(ctx, tb, &note{noteKey: k}))
	const writers, each = 4, 25
	var wg sync.WaitGroup
	lost := make([]int, writers)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				var err error
				if i%5 == 0 {
					_, err = notes.Patch(ctx, tb, k, table.Add(noteCount, 1))
				} else {
					_, err = notes.Modify(ctx, tb, k, func(n *note) error { n.Count++; return nil })
				}
				if errors.Is(err, table.ErrConflict) {
					lost[w]++
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := writers * each
	for _, n := range lost {
		want -= n
	}
	got, err := notes.Get(ctx, tb, k)
	if err != nil || got.Count != want {
		t.Errorf("count is %d, %v; want %d", got.Count, err, want)
	}
}

func TestTransactions(t *testing.T) {
	ctx, tb, api := open(t)
	table.SetSleep(tb, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
	a, b := note{noteKey: noteKey{"ann", 0, "a"}, Count: 5}, note{noteKey: noteKey{"ann", 0, "b"}}
	must(t, notes.Put(ctx, tb, &a))
	must(t, notes.Put(ctx, tb, &b))
	transfer := func(token string, amount int, id string) error {
		tx := table.NewTx(tb, token)
		notes.TxPatch(tx, a.noteKey, table.Add(noteCount, -amount), table.If[note](noteCount.Ge(amount)))
		notes.TxPatch(tx, b.noteKey, table.Add(noteCount, amount))
		facts.TxCreate(tx, &fact{factKey: factKey{id}})
		return tx.Commit(ctx)
	}
	must(t, transfer("token-1", 3, "t1"))
	tb = table.New(api, "test", table.Options{Clock: func() time.Time { return start.Add(time.Minute) }})
	table.SetSleep(tb, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
	must(t, transfer("token-1", 3, "t1"))
	blame := func(err error, index int, op string, want error) {
		t.Helper()
		var tx *table.TxError
		if !errors.As(err, &tx) || tx.Index != index || tx.Op != op || !errors.Is(err, want) {
			t.Errorf("error %v does not blame operation %d (%s) with %v", err, index, op, want)
		}
	}
	blame(transfer("token-2", 1, "t1"), 2, "create test.fact", table.ErrExists)
	blame(transfer("token-3", 3, "t3"), 0, "patch test.note", table.ErrCondition)

	api.cancel = []string{"TransactionConflict", "None", "None"}
	must(t, transfer("token-4", 1, "t4"))
	api.cancel = []string{"TransactionConflict", "None", "ConditionalCheckFailed"}
	blame(transfer("token-5", 1, "t5"), 2, "create test.fact", table.ErrExists)

	tx := table.NewTx(tb, "")
	notes.TxDelete(tx, b.noteKey)
	notes.TxCheck(tx, a.noteKey, noteCount.Eq(9))
	blame(tx.Commit(ctx), 1, "check test.note", table.ErrCondition)
	tx = table.NewTx(tb, "")
	notes.TxPut(tx, &note{noteKey: noteKey{"ann", 0, "c"}})
	notes.TxPatch(tx, noteKey{"ann", 0, "none"}, noteText.Set("x"))
	blame(tx.Commit(ctx), 1, "patch test.note", table.ErrNotFound)
	tx = table.NewTx(tb, "")
	notes.TxPut(tx, &a)
	notes.TxDelete(tx, a.noteKey)
	if err := tx.Commit(ctx); err == nil || !strings.Contains(err.Error(), "are on the same item") {
		t.Errorf("two operations on one item: %v", err)
	}
	got, err := notes.GetMany(ctx, tb, []noteKey{a.noteKey, b.noteKey})
	if err != nil || len(got) != 2 || got[0].Count != 1 || got[1].Count != 4 {
		t.Errorf("after the transfers: %v, %v", got, err)
	}
}

func TestEnsure(t *testing.T) {
	ctx, _, api := open(t)
	must(t, schema.Ensure(ctx, api, "test"))
	ttl, err := api.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: ptr("test")})
	if err != nil || ttl.TimeToLiveDescription.TimeToLiveStatus != types.TimeToLiveStatusEnabled {
		t.Errorf("TTL is %+v, %v", ttl, err)
	}
	other := schema.CreateTableInput("other")
	other.KeySchema[1].AttributeName = ptr("range")
	other.AttributeDefinitions[1].AttributeName = ptr("range")
	other.GlobalSecondaryIndexes = other.GlobalSecondaryIndexes[:1]
	other.AttributeDefinitions = other.AttributeDefinitions[:4]
	other.StreamSpecification = nil
	_, err = api.CreateTable(ctx, other)
	must(t, err)
	err = schema.Ensure(ctx, api, "other")
	for _, want := range []string{"its key is (pk, range), not (pk, sk)", "no index gsi2", "no change stream"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
