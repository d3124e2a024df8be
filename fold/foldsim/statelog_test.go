package foldsim_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/table"
)

// In this scenario of orders, the totals of regions are kept in one state log per continent.

type RegionKey struct {
	Continent string `dynamodbav:"continent"`
	Region    string `dynamodbav:"region"`
}

type Regional struct {
	RegionKey
	Orders int `dynamodbav:"orders"`
	Amount int `dynamodbav:"amount"`
}

type RegionsKey struct {
	Continent string `dynamodbav:"continent"`
	Page      int    `dynamodbav:"page"`
}

// Regions is a page with the totals of a continent's regions. Amount is the sum over this page and
// all pages before it.
type Regions struct {
	RegionsKey
	fold.Page
	Amount int `dynamodbav:"amount"`
}

var (
	regionals = table.Define[Regional, RegionKey]("test.regional", table.Def[Regional]{PK: "CONTINENT#{continent}", SK: "REGION#{region}"})
	regions   = table.Define[Regions, RegionsKey]("test.regions", table.Def[Regions]{PK: "CONTINENT#{continent}", SK: "REGIONS#{page:07}"})

	regionalLog = fold.NewStateLog(regionals, regions, fold.LogDef[Regional, Regions]{
		Open: func(s *Regional, number int, last *Regions) Regions {
			p := Regions{RegionsKey: RegionsKey{s.Continent, number}}
			if last != nil {
				p.Amount = last.Amount
			}
			return p
		},
		Note: func(p *Regions, before, after *Regional) {
			if before != nil {
				p.Amount -= before.Amount
			}
			if after != nil {
				p.Amount += after.Amount
			}
		},
		Append: func(buf []byte, s *Regional) []byte { return fmt.Appendf(buf, "%d %d", s.Orders, s.Amount) },
		Read: func(b []byte, s *Regional) error {
			_, err := fmt.Sscanf(string(b), "%d %d", &s.Orders, &s.Amount)
			return err
		},
		StateBytes: 100,
	})
)

func foldRegionals() *fold.Fold {
	return fold.New("regionals", regionals, func(into, d *Regional) {
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.On(orders, func(c fold.Typed[Order], at func(RegionKey) *Regional) error {
		add := func(o *Order, sign int) {
			if o != nil {
				s := at(RegionKey{o.Region[:1], o.Region})
				s.Orders += sign
				s.Amount += sign * o.Amount
			}
		}
		add(c.Old, -1)
		add(c.New, 1)
		return nil
	})).With(fold.Logged(regionalLog), fold.Removable(func(r *Regional) bool { return r.Orders == 0 }), fold.CacheSize(2))
}

// foldLogged counts what the state log contains.
func foldLogged() *fold.Fold {
	return fold.New("logged", continents, func(into, d *Continent) {
		into.Regions += d.Regions
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.OnEach(regionalLog.Changes(), func(c *fold.Typed[Regional], at func(ContinentKey) *Continent) error {
		add := func(r *Regional, sign int) {
			if r != nil {
				s := at(ContinentKey{r.Continent})
				s.Regions += sign
				s.Orders += sign * r.Orders
				s.Amount += sign * r.Amount
			}
		}
		add(c.Old, -1)
		add(c.New, 1)
		return nil
	})).With(fold.Removable(func(c *Continent) bool { return c.Regions == 0 }))
}

// TestStateLog checks that the states in a log, and the items derived from their changes, are the
// fold of all changes, whatever goes wrong.
func TestStateLog(t *testing.T) {
	for name, folds := range map[string][]*fold.Fold{
		"at once": {foldRegionals(), foldLogged()},
		"held":    {foldRegionals().With(fold.Hold(150e6)), foldLogged()},
	} {
		t.Run(name, func(t *testing.T) {
			foldsim.Test(t, foldsim.Scenario{Folds: folds, Write: writeOrders, Check: func(w *foldsim.World) error { return checkLogged(w, folds[0]) }}, 250)
		})
	}
}

// checkLogged compares the states in the log with a recount of the orders. It also compares the sum
// of each page with the states in that page and the pages before it.
func checkLogged(w *foldsim.World, f *fold.Fold) error {
	want := make(map[string]Regional)
	for _, o := range countedOrders(w, func(Order) {}) {
		r := want[o.Region]
		r.RegionKey = RegionKey{o.Region[:1], o.Region}
		r.Orders++
		r.Amount += o.Amount
		want[o.Region] = r
	}
	got := make(map[string]Regional)
	states, err := w.States(f)
	for _, it := range states {
		r := must(regionals.Decode(it))
		got[r.Region] = r
	}
	if !maps.Equal(got, want) {
		err = errors.Join(err, fmt.Errorf("the log has %v, should have %v", got, want))
	}
	return errors.Join(err, checkPageSums(w, got))
}

func checkPageSums(w *foldsim.World, states map[string]Regional) error {
	sums, last := make(map[string]int), make(map[string]int)
	for _, r := range states {
		sums[r.Continent] += r.Amount
	}
	for _, it := range w.Derived(regions.Name()) {
		p := must(regions.Decode(it))
		last[p.Continent] = p.Amount
	}
	for continent, amount := range last {
		if sums[continent] != amount {
			return fmt.Errorf("the last page of %s says %d, its states %d", continent, amount, sums[continent])
		}
	}
	return nil
}
