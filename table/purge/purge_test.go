package purge_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/purge"
)

type pageKey struct {
	Owner string `dynamodbav:"owner"`
	ID    string `dynamodbav:"id"`
}

type page struct {
	pageKey
	Until time.Time `dynamodbav:"until,omitempty"`
	Text  string    `dynamodbav:"text"`
}

var pages = table.Define[page, pageKey]("test.page", table.Def[page]{
	PK: "OWNER#{owner}", SK: "{id}", Expires: func(p *page) time.Time { return p.Until }, ExpiresReads: []string{"until"},
})

// world is a table and its expected contents.
type world struct {
	*testing.T
	db   *enginetest.DB
	t    *table.Table
	r    *rand.Rand
	have map[pageKey]bool
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	db := enginetest.New(t)
	must(t, table.MustSchema("test", pages).Ensure(t.Context(), db, "pages"))
	return &world{T: t, db: db, t: table.New(db, "pages", table.Options{Clock: db.Now}), r: rand.New(rand.NewPCG(seed, 0)), have: map[pageKey]bool{}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) put(owner, id string) {
	w.Helper()
	p := page{pageKey: pageKey{owner, id}, Text: strings.Repeat("x", w.r.IntN(300))}
	if w.r.IntN(3) == 0 {
		p.Until = w.db.Now().Add(-time.Hour) // has expired but is still stored
	}
	must(w.T, pages.Put(w.Context(), w.t, &p))
	w.have[p.pageKey] = true
}

// stored returns the keys of all stored items, expired or not.
func (w *world) stored() map[pageKey]bool {
	w.Helper()
	found := map[pageKey]bool{}
	in := &dynamodb.ScanInput{TableName: new(w.t.Name())}
	for {
		out, err := w.db.DB.Scan(w.Context(), in)
		must(w.T, err)
		for _, it := range out.Items {
			p, err := pages.Decode(it)
			must(w.T, err)
			found[p.pageKey] = true
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return found
		}
	}
}

// forget removes the keys in a range from the expected contents.
func (w *world) forget(r purge.Range) {
	maps.DeleteFunc(w.have, func(k pageKey, _ bool) bool {
		return "OWNER#"+k.Owner == r.Partition && strings.HasPrefix(k.ID, r.Prefix) && k.ID != r.Keep
	})
}

// TestRanges checks that a purge deletes the items in the ranges and nothing else, however often
// faults interrupt it, and whatever folds write in the meantime.
func TestRanges(t *testing.T) {
	for range 12 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			owners, kinds := []string{"a", "b", "ab", "c"}, []string{"METADATA", "EVENT", "JOB"}
			for range w.r.IntN(1500) {
				w.put(owners[w.r.IntN(len(owners))], fmt.Sprintf("%s-%04d", kinds[w.r.IntN(3)], w.r.IntN(900)))
			}
			w.put("a", "METADATA")
			self, err := pages.Key(pageKey{"a", "METADATA"})
			must(t, err)
			ranges := []purge.Range{purge.RestOfPartition(self), {Partition: "OWNER#b", Prefix: "JOB-"}, {Partition: "OWNER#nobody"}}
			before := len(w.have)
			written, late := 0, w.r.IntN(4)
			drain := func(context.Context) error {
				if late--; late >= 0 {
					written++
					w.put("a", fmt.Sprintf("LATE-%d", written))
				}
				return nil
			}
			deleted, failures := int64(0), 0
			w.db.Inject(enginetest.Fault{Effect: enginetest.Throttle, Op: "DeleteItem", Nth: 1 + w.r.IntN(600)},
				enginetest.Fault{Effect: enginetest.LoseAnswer, Op: "DeleteItem", Nth: 1 + w.r.IntN(600)},
				enginetest.Fault{Effect: enginetest.Fail, Op: "Query", Nth: 1 + w.r.IntN(4)})
			for {
				n, err := purge.Ranges(t.Context(), w.t, drain, ranges...)
				if deleted += n; err == nil {
					break
				}
				if failures++; failures > w.db.Hits() || errors.Is(err, purge.ErrWritten) {
					t.Fatal(err)
				}
			}
			for _, r := range ranges {
				w.forget(r)
			}
			if found := w.stored(); !maps.Equal(found, w.have) {
				t.Errorf("%d items are there, want %d: %v", len(found), len(w.have), slices.Collect(maps.Keys(found)))
			}
			if gone := int64(before + written - len(w.have)); deleted > gone || failures == 0 && deleted != gone {
				t.Errorf("%d deletions are told, of %d items", deleted, gone)
			}
		})
	}
}

// TestRangesGiveUp checks that a purge does not wait forever for a range that is written again and
// again, and that it does not ignore a failing fold.
func TestRangesGiveUp(t *testing.T) {
	w := newWorld(t, 1)
	all := purge.Range{Partition: "OWNER#a"}
	rounds := 0
	n, err := purge.Ranges(t.Context(), w.t, func(context.Context) error {
		rounds++
		w.put("a", fmt.Sprint(rounds))
		return nil
	}, all)
	if !errors.Is(err, purge.ErrWritten) || int(n) != rounds || len(w.stored()) != 0 {
		t.Errorf("after %d rounds %d are deleted: %v", rounds, n, err)
	}
	w.put("a", "1")
	broken := errors.New("broken")
	if n, err := purge.Ranges(t.Context(), w.t, func(context.Context) error { return broken }, all); !errors.Is(err, broken) || n != 0 || len(w.stored()) != 1 {
		t.Errorf("%d are deleted before what was written is folded: %v", n, err)
	}
	if n, err := purge.Ranges(t.Context(), w.t, func(context.Context) error { return nil }, purge.RestOfPartition(table.Item{})); err == nil || n != 0 {
		t.Errorf("beside no item: %d, %v", n, err)
	}
	if got := purge.RestOfPartition(table.Item{table.AttrPK: &types.AttributeValueMemberS{Value: "p"}, table.AttrSK: &types.AttributeValueMemberS{Value: "s"}}); got != (purge.Range{Partition: "p", Keep: "s"}) {
		t.Errorf("beside an item: %+v", got)
	}
}
