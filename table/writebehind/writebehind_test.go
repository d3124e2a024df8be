package writebehind_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/writebehind"
)

type factKey struct {
	Owner string `dynamodbav:"owner"`
	ID    string `dynamodbav:"id"`
}

type fact struct {
	factKey
	Text string `dynamodbav:"text"`
}

var (
	facts  = table.Define[fact, factKey]("test.fact", table.Def[fact]{PK: "OWNER#{owner}", SK: "FACT#{id}", Immutable: true})
	others = table.Define[fact, factKey]("test.other", table.Def[fact]{PK: "OTHER#{owner}", SK: "FACT#{id}"})
)

const kind = 'f'

// world is a queue and the expected result of what was given to it.
type world struct {
	*testing.T
	db  *enginetest.DB
	t   *table.Table
	r   *rand.Rand
	dir string
	o   spool.Options
	s   *spool.Spool
	q   *writebehind.Queue

	made    int
	there   map[factKey]string  // the text of the facts that were stored before anything waited
	order   map[string][]string // IDs of an owner's facts, in the order in which they were acknowledged
	text    map[factKey]string  // the text of those facts
	refused map[string]bool     // IDs of items that the table never accepts, added when they are acknowledged
	aside   map[string]bool     // bodies that the sink returned
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	db := enginetest.New(t)
	must(t, table.MustSchema("test", facts, others).Ensure(t.Context(), db, "facts"))
	var api dynamo.API = db
	if r.IntN(2) == 0 {
		api = struct{ dynamo.API }{db} // an API that can only send many concurrent requests
	}
	w := &world{
		T: t, db: db, t: table.New(api, "facts", table.Options{Clock: db.Now}), r: r, dir: t.TempDir(), o: spool.Options{MaxBytes: 30_000 + r.Int64N(3_000_000)},
		there: map[factKey]string{}, order: map[string][]string{}, text: map[factKey]string{}, refused: map[string]bool{}, aside: map[string]bool{},
	}
	w.open()
	t.Cleanup(func() { must(t, w.s.Close()) })
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) open() {
	w.Helper()
	s, err := spool.Open(w.dir, w.o)
	must(w.T, err)
	w.s = s
	w.q = &writebehind.Queue{Spool: s, Kind: kind, Owner: table.AttrPK, Table: w.t, Create: facts.CreateItems}
}

// restart stops the process, sometimes abruptly, and starts it again.
func (w *world) restart() {
	w.Helper()
	if w.r.IntN(2) == 0 {
		to := w.TempDir()
		must(w.T, os.CopyFS(to, os.DirFS(w.dir)))
		w.dir = to
	}
	must(w.T, w.s.Close())
	w.open()
}

// fact makes a new fact, or an earlier fact with another text.
func (w *world) fact() fact {
	w.made++
	f := fact{factKey{fmt.Sprint(w.r.IntN(6)), fmt.Sprintf("%05d", w.made)}, fmt.Sprint(w.made)}
	if ids := w.order[f.Owner]; len(ids) > 0 && w.r.IntN(5) == 0 {
		f.ID = ids[w.r.IntN(len(ids))]
	}
	return f
}

// store stores a fact before anything waits.
func (w *world) store() {
	w.Helper()
	f := w.fact()
	if _, known := w.text[f.factKey]; known || w.q.Waiting() {
		return
	}
	must(w.T, facts.Create(w.Context(), w.t, &f))
	w.there[f.factKey] = f.Text
	if w.r.IntN(2) == 0 {
		w.keep([]fact{f}, nil) // the answer was lost
	}
}

// keep gives facts to the queue, together with items that the table never accepts.
func (w *world) keep(some []fact, never []table.Item) {
	w.Helper()
	told := 0
	err := w.q.Keep(w.Context(), len(some), func(i int) (table.Item, error) { return facts.Encode(&some[i]) }, func(i int) { told++ })
	if err == nil && len(never) > 0 {
		if err := w.q.Add(w.Context(), never); err == nil {
			for _, it := range never {
				w.refused[it[table.AttrSK].(*types.AttributeValueMemberS).Value] = true
			}
		}
	}
	if f, ok := dynamo.GaveUp(err); err != nil && (!ok || f.Kind != dynamo.Unreachable || f.After <= 0 || !errors.Is(err, spool.ErrFull) || told > 0) {
		w.Fatalf("what does not fit: %v, of which %d are told to be kept", err, told)
	}
	if err != nil {
		return
	}
	if told != len(some) {
		w.Fatalf("%d of %d are told to be kept", told, len(some))
	}
	for _, f := range some {
		if _, known := w.text[f.factKey]; known {
			continue
		}
		if text, stored := w.there[f.factKey]; stored {
			w.text[f.factKey] = text
			continue
		}
		w.text[f.factKey] = f.Text
		w.order[f.Owner] = append(w.order[f.Owner], f.ID)
	}
}

// impossible returns items that the table never accepts: an item of another entity, and an item
// that is too large.
func (w *world) impossible() (never []table.Item) {
	w.Helper()
	w.made++
	f := fact{factKey{fmt.Sprint(w.r.IntN(6)), fmt.Sprintf("never%05d", w.made)}, "x"}
	encode := facts.Encode
	if w.r.IntN(2) == 0 {
		encode = others.Encode
	}
	it, err := encode(&f)
	must(w.T, err)
	if text(it, table.AttrEntity) == "test.fact" {
		it["text"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", 410<<10)}
	}
	return []table.Item{it}
}

func text(it table.Item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// drain gives the waiting bodies to the sink the given number of times, as spool.Drain does. With
// mayEnd, the process may end in the middle.
func (w *world) drain(times int, mayEnd bool) {
	w.Helper()
	for range times {
		records, pos, err := w.s.Peek(1 + w.r.IntN(100))
		must(w.T, err)
		if len(records) == 0 {
			return
		}
		var bodies [][]byte
		for _, r := range records {
			if r.Kind == kind {
				bodies = append(bodies, r.Body)
			}
		}
		refused, err := w.q.Sink(w.Context(), bodies)
		if err != nil {
			if len(refused) > 0 {
				w.Fatalf("%d are put aside, and it fails: %v", len(refused), err)
			}
			if !mayEnd {
				w.Fatalf("the store is well: %v", err)
			}
			continue
		}
		if mayEnd && w.r.IntN(4) == 0 { // the item was stored, but nobody recorded it
			w.restart()
			return
		}
		for _, body := range refused {
			w.aside[string(body)] = true
		}
		must(w.T, w.s.Done(pos))
	}
}

// trouble makes the store fail before or after it carries out a request.
func (w *world) trouble() {
	w.db.Heal()
	effect := []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Throttle}[w.r.IntN(3)]
	if w.r.IntN(3) == 0 {
		w.db.Inject(enginetest.Fault{Effect: effect, Writes: true}) // the store is unreachable
		return
	}
	every := 2 + w.r.IntN(20)
	w.db.Inject(enginetest.Fault{Effect: effect, Writes: true, Every: every, When: func(a enginetest.Access) bool { return a.Item != nil }})
}

// created returns the IDs of each owner in the order in which the table created the items, as its
// stream shows.
func (w *world) created() (order map[string][]string, found map[factKey]string) {
	w.Helper()
	order, found = map[string][]string{}, map[factKey]string{}
	d, err := w.db.DescribeTable(w.Context(), &dynamodb.DescribeTableInput{TableName: new(w.t.Name())})
	must(w.T, err)
	arn := d.Table.LatestStreamArn
	s, err := w.db.DescribeStream(w.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	must(w.T, err)
	for _, shard := range s.StreamDescription.Shards {
		at, err := w.db.GetShardIterator(w.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
		must(w.T, err)
		for next := at.ShardIterator; next != nil; {
			page, err := w.db.ReadRecords(w.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next}, table.AttrEntity, func(string) bool { return true })
			must(w.T, err)
			for _, r := range page.Records {
				f, err := facts.Decode(r.New)
				must(w.T, err)
				if r.Event != streamtypes.OperationTypeInsert {
					w.Errorf("%s is written again: %s", f.ID, r.Event)
				}
				if _, before := w.there[f.factKey]; !before {
					order[f.Owner] = append(order[f.Owner], f.ID)
				}
				found[f.factKey] = f.Text
			}
			if next = page.Next; page.Read == 0 {
				break
			}
		}
	}
	return order, found
}

// TestModel checks that whatever happens to the store, the disk and the process, every acknowledged
// fact is stored once in the end, with its first text, and in its owner's order. Items that the
// table never accepts are put aside and block nothing.
func TestModel(t *testing.T) {
	for range 8 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 5 {
				w.store()
			}
			for range 150 {
				switch n := w.r.IntN(20); {
				case n < 9:
					some := make([]fact, 1+w.r.IntN(30))
					for i := range some {
						some[i] = w.fact()
					}
					w.keep(some, nil)
				case n < 10:
					w.keep(nil, w.impossible())
				case n < 15:
					w.drain(1+w.r.IntN(5), true)
				case n < 17:
					w.trouble()
				case n < 19:
					w.db.Heal()
				default:
					w.restart()
				}
			}
			w.db.Heal()
			w.drain(1<<20, false)
			order, found := w.created()
			for owner, ids := range w.order {
				if !slices.Equal(order[owner], ids) {
					t.Errorf("owner %s: created in the order %v, want %v", owner, order[owner], ids)
				}
			}
			want := maps.Clone(w.there)
			maps.Copy(want, w.text)
			if !maps.Equal(found, want) || w.q.Waiting() {
				t.Errorf("%d facts are there, want %d; %+v", len(found), len(want), w.s.Stats())
			}
			w.checkAside()
		})
	}
}

// checkAside compares the bodies that were put aside with the expected ones.
func (w *world) checkAside() {
	w.Helper()
	ids := map[string]bool{}
	for body := range w.aside {
		var of struct {
			Item map[string]map[string]string
		}
		must(w.T, json.Unmarshal([]byte(body), &of))
		ids[of.Item[table.AttrSK]["S"]] = true
	}
	if !maps.Equal(ids, w.refused) {
		w.Errorf("put aside: %v, want %v", slices.Sorted(maps.Keys(ids)), slices.Sorted(maps.Keys(w.refused)))
	}
}

// TestFull checks that a call that would overfill the spool is refused as a whole, with the advice
// to try again later. Facts that are stored already must not be lost because of it.
func TestFull(t *testing.T) {
	w := newWorld(t, 1)
	must(t, w.s.Close())
	w.dir, w.o.MaxBytes = filepath.Join(t.TempDir(), "small"), 20_000
	w.open()
	full := false
	for n := 0; !full; n++ {
		f := fact{factKey{"a", fmt.Sprintf("%05d", n)}, strings.Repeat("x", 500)}
		it, err := facts.Encode(&f)
		must(t, err)
		err = w.q.Add(t.Context(), []table.Item{it})
		if full = err != nil; !full {
			w.text[f.factKey] = f.Text
			continue
		}
		if failure, ok := dynamo.GaveUp(err); !ok || failure.Kind != dynamo.Unreachable || failure.After < time.Second || !errors.Is(err, spool.ErrFull) {
			t.Errorf("full: %v", err)
		}
	}
	if n := w.s.Stats(); n.Refused != 1 || n.Bytes > n.MaxBytes || len(w.text) < 20 {
		t.Errorf("%d were kept: %+v", len(w.text), n)
	}
	w.drain(1<<20, false)
	if _, found := w.created(); !maps.Equal(found, w.text) {
		t.Errorf("%d are there of %d", len(found), len(w.text))
	}
	f := fact{factKey{"a", "again"}, "x"}
	w.keep([]fact{f}, nil) // there is space again
	if !w.q.Waiting() {
		t.Error("nothing waits")
	}
}

// TestKeep checks that an item that cannot be encoded is reported, and that nothing else of the
// same call is kept. Items that need no keeping are left out.
func TestKeep(t *testing.T) {
	w := newWorld(t, 1)
	bad := errors.New("bad")
	item := func(i int) (table.Item, error) {
		switch i {
		case 1:
			return nil, nil
		case 3:
			return nil, bad
		}
		return facts.Encode(&fact{factKey{"a", fmt.Sprint(i)}, "x"})
	}
	var kept []int
	note := func(i int) { kept = append(kept, i) }
	if err := w.q.Keep(t.Context(), 4, item, note); !errors.Is(err, bad) || kept != nil || w.q.Waiting() {
		t.Errorf("%v: %v are kept", err, kept)
	}
	if err := w.q.Keep(t.Context(), 3, item, note); err != nil || !slices.Equal(kept, []int{0, 2}) || w.s.Stats().Records != 2 {
		t.Errorf("%v: %v are kept", err, kept)
	}
	if err := w.q.Keep(t.Context(), 0, item, note); err != nil || w.s.Stats().Records != 2 {
		t.Errorf("nothing: %v", err)
	}
	must(t, w.s.Close())
	if err := w.q.Keep(t.Context(), 1, item, note); !dynamo.IsUnavailable(err) || len(kept) != 2 {
		t.Errorf("without a spool: %v", err)
	}
}

// TestGarbage checks that bodies that no version ever wrote are put aside, and that the rest
// continues.
func TestGarbage(t *testing.T) {
	w := newWorld(t, 1)
	good, err := facts.Encode(&fact{factKey{"a", "1"}, "x"})
	must(t, err)
	must(t, w.q.Add(t.Context(), []table.Item{good}))
	records, _, err := w.s.Peek(1)
	must(t, err)
	garbage := [][]byte{nil, []byte("{"), []byte("null"), []byte("{}"), []byte(`{"Item":{}}`), []byte(`{"Item":{"pk":{"S":"x"}}}`), []byte(`{"Item":{"pk":{"Q":"x"}}}`), []byte(`{"Item":[1]}`), {0xff, 0}}
	refused, err := w.q.Sink(t.Context(), slices.Insert(slices.Clone(garbage), 4, records[0].Body))
	if err != nil || len(refused) != len(garbage) {
		t.Errorf("%d of %d are put aside: %q, %v", len(refused), len(garbage), refused, err)
	}
	if _, found := w.created(); len(found) != 1 {
		t.Errorf("%d are there", len(found))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if refused, err := w.q.Sink(ctx, [][]byte{records[0].Body}); len(refused) > 0 && err == nil {
		t.Errorf("ended: %q, %v", refused, err)
	}
}
