package foldsim_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/table"
)

// In this scenario sales come in crates, several sales to one item. A sale can be taken back, a
// crate can be emptied, and crates expire. The folds derive a total per region over all sales that
// were not taken back, and the largest sale of each day over all sales that ever came.

type CrateKey struct {
	ID string `dynamodbav:"id"`
}

type Sale struct {
	Region string `dynamodbav:"region"`
	Amount int    `dynamodbav:"amount"`
	Day    string `dynamodbav:"day"`
	Back   bool   `dynamodbav:"back,omitempty"` // the sale was taken back
}

type Crate struct {
	CrateKey
	Sales []Sale `dynamodbav:"sales"`
	Until int64  `dynamodbav:"until"`
}

// damaged is the number of sales in a crate that marks the crate as unreadable.
const damaged = 7

// SaleChange is one sale that was added or removed.
type SaleChange struct {
	Sale
	Sign int
}

var (
	crates = table.Define[Crate, CrateKey]("test.crate", table.Def[Crate]{
		PK: "CRATE#{id}", SK: "CRATE", Expires: func(c *Crate) time.Time { return time.Unix(c.Until, 0) },
	})
	sales = fold.Each(crates, 100, func(c fold.Typed[Crate]) (iter.Seq2[int, SaleChange], error) {
		var before, after []Sale
		if c.Old != nil {
			before = c.Old.Sales
		}
		if c.New != nil {
			after = c.New.Sales
		}
		if len(before) == damaged || len(after) == damaged {
			return nil, errors.New("damaged")
		}
		return func(yield func(int, SaleChange) bool) {
			for i := range max(len(before), len(after)) {
				was, is := i < len(before) && !before[i].Back, i < len(after) && !after[i].Back
				if was && !is && !yield(i, SaleChange{before[i], -1}) || is && !was && !yield(i, SaleChange{after[i], 1}) {
					return
				}
			}
		}, nil
	})
)

func foldSales() *fold.Fold {
	return fold.New("sales", totals, func(into, d *Total) {
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.OnEach(sales, func(s *SaleChange, at func(TotalKey) *Total) error {
		t := at(TotalKey{s.Region})
		t.Orders += s.Sign
		t.Amount += s.Sign * s.Amount
		return nil
	})).With(fold.Removable(func(t *Total) bool { return t.Orders == 0 }), fold.CacheSize(3))
}

func foldLargestSale() *fold.Fold {
	return fold.New("largest", largest, func(into, d *Largest) {
		into.Seen += d.Seen
		into.Amount = max(into.Amount, d.Amount)
	}, fold.OnEach(sales, func(s *SaleChange, at func(LargestKey) *Largest) error {
		if s.Sign < 0 {
			return nil
		}
		l := at(LargestKey{Day: s.Day})
		l.Seen++
		l.Amount = max(l.Amount, s.Amount)
		switch s.Amount {
		case unlucky:
			return errUnlucky
		case unlucky + 1:
			panic(errUnlucky)
		case unlucky + 2:
			at(LargestKey{Day: "not#a#day"})
		}
		return nil
	}))
}

func isUnlucky(amount int) bool { return amount >= unlucky && amount <= unlucky+2 }

func writeCrates(w *foldsim.World) {
	r := w.Rand
	key := CrateKey{fmt.Sprintf("c%d", len(w.History()))}
	if before := w.History(); len(before) > 0 && r.IntN(4) == 0 { // change a crate that exists
		it := w.Get(before[r.IntN(len(before))].Key)
		if it == nil {
			return
		}
		c := must(crates.Decode(it))
		if n := len(c.Sales); n == 0 || n == damaged || r.IntN(6) == 0 {
			w.Delete(must(crates.Key(c.CrateKey)))
			return
		}
		c.Sales[r.IntN(len(c.Sales))].Back = true
		w.Put(must(crates.Encode(&c)))
		return
	}
	c := Crate{CrateKey: key, Until: w.Now().Unix() + r.Int64N(400_000)}
	n := r.IntN(damaged)
	if r.IntN(30) == 0 {
		n = damaged
	}
	for range n {
		c.Sales = append(c.Sales, Sale{Region: []string{"eu-1", "eu-2", "us-1", "as-1"}[r.IntN(4)], Amount: r.IntN(40), Day: []string{"mon", "tue"}[r.IntN(2)]})
	}
	w.Put(must(crates.Encode(&c)))
}

// checkSales recomputes by hand what the folds derive. A sale that cannot be applied loses only
// itself. A crate that cannot be read loses only that crate.
func checkSales(w *foldsim.World) error {
	live := make(map[string][]Sale)
	var expired []Sale
	wantTotals, wantLargest := make(map[string]Total), make(map[string]Largest)
	for _, h := range w.History() {
		pk := h.Key["pk"].(*types.AttributeValueMemberS).Value
		if h.Item == nil {
			if h.Expired {
				expired = append(expired, live[pk]...)
			}
			delete(live, pk)
			continue
		}
		c := must(crates.Decode(h.Item))
		if len(c.Sales) == damaged {
			continue
		}
		if _, changed := live[pk]; !changed {
			for _, s := range c.Sales {
				if l := wantLargest[s.Day]; !isUnlucky(s.Amount) {
					wantLargest[s.Day] = Largest{LargestKey{Day: s.Day}, l.Seen + 1, max(l.Amount, s.Amount)}
				}
			}
		}
		live[pk] = c.Sales
	}
	for _, sales := range slices.AppendSeq([][]Sale{expired}, maps.Values(live)) {
		for _, s := range sales {
			if t := wantTotals[s.Region]; !s.Back {
				wantTotals[s.Region] = Total{TotalKey{s.Region}, t.Orders + 1, t.Amount + s.Amount}
			}
		}
	}
	return errors.Join(
		same(w, totals, wantTotals, func(t Total) string { return t.Region }),
		same(w, largest, wantLargest, func(l Largest) string { return l.Day }),
	)
}

// TestFactsOfOneItem folds many facts per item. Some facts cannot be applied, and some items cannot
// be read at all.
func TestFactsOfOneItem(t *testing.T) {
	t.Parallel()
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldSales(), foldContinents(), foldLargestSale()},
		Write: writeCrates,
		Check: checkSales,
	}, 1000)
}

// TestHeldFacts is the same test with items that wait for several flushes, so that facts of one
// item are written at different times.
func TestHeldFacts(t *testing.T) {
	t.Parallel()
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldSales().With(fold.Hold(300 * time.Millisecond)), foldContinents(), foldLargestSale().With(fold.Hold(20 * time.Millisecond))},
		Write: writeCrates,
		Check: checkSales,
	}, 1000)
}
