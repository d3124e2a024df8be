package foldsim_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/table"
)

// In this scenario the orders of customers are placed, changed, moved and withdrawn. The folds
// derive a total per region; from the changes of the totals, the number of regions with orders per
// continent; and the largest order per day, spread over partials.

type OrderKey struct {
	ID string `dynamodbav:"id"`
}

type Order struct {
	OrderKey
	Region string `dynamodbav:"region"`
	Amount int    `dynamodbav:"amount"`
	Day    string `dynamodbav:"day"`
	Until  int64  `dynamodbav:"until,omitempty"` // expiry time; 0 means never
}

type TotalKey struct {
	Region string `dynamodbav:"region"`
}

type Total struct {
	TotalKey
	Orders int `dynamodbav:"orders"`
	Amount int `dynamodbav:"amount"`
}

type ContinentKey struct {
	Continent string `dynamodbav:"continent"`
}

type Continent struct {
	ContinentKey
	Regions int `dynamodbav:"regions"`
	Orders  int `dynamodbav:"orders"`
	Amount  int `dynamodbav:"amount"`
}

type LargestKey struct {
	Day  string `dynamodbav:"day"`
	Part int    `dynamodbav:"part"`
}

type Largest struct {
	LargestKey
	Seen   int `dynamodbav:"seen"`
	Amount int `dynamodbav:"amount"`
}

type MixKey struct {
	Day string `dynamodbav:"day"`
}

// Mix counts the order changes of one day by region. All regions except Europe count as others.
type Mix struct {
	MixKey
	Regions map[string]int `dynamodbav:"regions"`
	Others  int            `dynamodbav:"others"`
}

// Noise is an entity that no fold reads.
type Noise struct {
	OrderKey
	Value int `dynamodbav:"value"`
}

var (
	orders = table.Define[Order, OrderKey]("test.order", table.Def[Order]{
		PK: "ORDER#{id}", SK: "ORDER",
		Expires: func(o *Order) time.Time {
			if o.Until == 0 {
				return time.Time{}
			}
			return time.Unix(o.Until, 0)
		},
	})
	noises     = table.Define[Noise, OrderKey]("test.noise", table.Def[Noise]{PK: "NOISE#{id}", SK: "NOISE"})
	totals     = table.Define[Total, TotalKey]("test.total", table.Def[Total]{PK: "REGION#{region}", SK: "TOTAL"})
	continents = table.Define[Continent, ContinentKey]("test.continent", table.Def[Continent]{PK: "CONTINENT#{continent}", SK: "TOTAL"})
	mixes      = table.Define[Mix, MixKey]("test.mix", table.Def[Mix]{PK: "DAY#{day}", SK: "MIX"})
	largest    = table.Define[Largest, LargestKey]("test.largest", table.Def[Largest]{PK: "DAY#{day}", SK: "LARGEST#{part:02}"})
)

const unlucky = 13 // an amount that the folds cannot apply

var errUnlucky = errors.New("unlucky amount")

func foldTotals() *fold.Fold {
	return fold.New("totals", totals, func(into, d *Total) {
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.On(orders, addOrder)).With(fold.Removable(func(t *Total) bool { return t.Orders == 0 }), fold.CacheSize(3))
}

func addOrder(c fold.Typed[Order], at func(TotalKey) *Total) error {
	if c.Old != nil {
		t := at(TotalKey{c.Old.Region})
		t.Orders--
		t.Amount -= c.Old.Amount
	}
	if c.New != nil {
		t := at(TotalKey{c.New.Region})
		t.Orders++
		t.Amount += c.New.Amount
	}
	return nil
}

func foldContinents() *fold.Fold {
	return fold.New("continents", continents, func(into, d *Continent) {
		into.Regions += d.Regions
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.On(totals, func(c fold.Typed[Total], at func(ContinentKey) *Continent) error {
		add := func(t *Total, sign int) {
			if t != nil {
				s := at(ContinentKey{t.Region[:1]})
				s.Regions += sign
				s.Orders += sign * t.Orders
				s.Amount += sign * t.Amount
			}
		}
		add(c.Old, -1)
		add(c.New, 1)
		if c.Old != nil && c.New != nil && c.NewVersion != c.OldVersion+1 {
			return fmt.Errorf("version %d after %d", c.NewVersion, c.OldVersion)
		}
		return nil
	})).With(fold.Removable(func(c *Continent) bool { return c.Regions == 0 }))
}

func foldLargest() *fold.Fold {
	return fold.New("largest", largest, func(into, d *Largest) {
		into.Seen += d.Seen
		into.Amount = max(into.Amount, d.Amount)
	}, fold.On(orders, func(c fold.Typed[Order], at func(LargestKey) *Largest) error {
		if c.New == nil {
			return nil
		}
		l := at(LargestKey{Day: c.New.Day})
		l.Seen++
		l.Amount = max(l.Amount, c.New.Amount)
		switch c.New.Amount {
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

// foldMixes has a merge that keeps references to parts of the delta, and a Finish that changes
// them.
func foldMixes() *fold.Fold {
	return fold.New("mixes", mixes, func(into, d *Mix) {
		into.Others += d.Others
		if into.Regions == nil {
			into.Regions = d.Regions
			return
		}
		for region, n := range d.Regions {
			into.Regions[region] += n
		}
	}, fold.On(orders, func(c fold.Typed[Order], at func(MixKey) *Mix) error {
		if c.New == nil {
			return nil
		}
		m := at(MixKey{c.New.Day})
		if m.Regions == nil {
			m.Regions = make(map[string]int)
		}
		m.Regions[c.New.Region]++
		return nil
	})).With(fold.CacheSize(-1), fold.Finish(func(m *Mix) {
		for region, n := range m.Regions {
			if region[:1] != "e" {
				m.Others += n
				delete(m.Regions, region)
			}
		}
	}))
}

func writeOrders(w *foldsim.World) {
	r := w.Rand
	if r.IntN(8) == 0 {
		w.Put(must(noises.Encode(&Noise{OrderKey: OrderKey{fmt.Sprint("n", r.IntN(5))}, Value: r.Int()})))
		return
	}
	id := OrderKey{fmt.Sprintf("o%02d", r.IntN(12))}
	if r.IntN(5) == 0 {
		w.Delete(must(orders.Key(id)))
		return
	}
	var until int64
	if r.IntN(5) == 0 {
		until = w.Now().Unix() + r.Int64N(400_000)
	}
	w.Put(must(orders.Encode(&Order{
		OrderKey: id, Until: until, Region: []string{"eu-1", "eu-2", "us-1", "as-1"}[r.IntN(4)],
		Amount: r.IntN(40), Day: []string{"mon", "tue"}[r.IntN(2)],
	})))
}

// countedOrders returns the orders that the totals count: live orders, and expired orders, because
// expiry is not a withdrawal. It calls each for every change.
func countedOrders(w *foldsim.World, each func(Order)) []Order {
	live := make(map[string]Order)
	var counted []Order
	for _, h := range w.History() {
		id := must(orders.Key(OrderKey{"x"}))["sk"].(*types.AttributeValueMemberS).Value
		if h.Key["sk"].(*types.AttributeValueMemberS).Value != id {
			continue
		}
		pk := h.Key["pk"].(*types.AttributeValueMemberS).Value
		if h.Item == nil {
			if h.Expired {
				counted = append(counted, live[pk])
			}
			delete(live, pk)
			continue
		}
		o := must(orders.Decode(h.Item))
		if live[pk] == o {
			continue
		}
		live[pk] = o
		each(o)
	}
	return slices.AppendSeq(counted, maps.Values(live))
}

// checkOrders recomputes by hand what the folds derive.
func checkOrders(w *foldsim.World) error {
	wantTotals, wantContinents := make(map[string]Total), make(map[string]Continent)
	wantLargest := make(map[string]Largest)
	counted := countedOrders(w, func(o Order) {
		if o.Amount < unlucky || o.Amount > unlucky+2 {
			l := wantLargest[o.Day]
			l.LargestKey = LargestKey{Day: o.Day}
			l.Seen++
			l.Amount = max(l.Amount, o.Amount)
			wantLargest[o.Day] = l
		}
	})
	for _, o := range counted {
		t := wantTotals[o.Region]
		t.TotalKey = TotalKey{o.Region}
		t.Orders++
		t.Amount += o.Amount
		wantTotals[o.Region] = t
	}
	for _, t := range wantTotals {
		c := wantContinents[t.Region[:1]]
		c.ContinentKey = ContinentKey{t.Region[:1]}
		c.Regions++
		c.Orders += t.Orders
		c.Amount += t.Amount
		wantContinents[c.Continent] = c
	}
	return errors.Join(
		same(w, totals, wantTotals, func(t Total) string { return t.Region }),
		same(w, continents, wantContinents, func(c Continent) string { return c.Continent }),
		same(w, largest, wantLargest, func(l Largest) string { return l.Day }),
	)
}

func same[S, K comparable](w *foldsim.World, e *table.Entity[S, K], want map[string]S, key func(S) string) error {
	got := make(map[string]S)
	for _, it := range w.Derived(e.Name()) {
		s := must(e.Decode(it))
		got[key(s)] = s
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("%s: is %v, should be %v", e.Name(), got, want)
	}
	return nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
