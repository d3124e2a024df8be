package fold_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// TestPromises runs testdata/promises: what the package promises, as examples. Each file has its own
// table. Orders count in the total of their region, and totals in the total of the world. Crates
// hold parcels, which have names; a parcel that is sent again, in whichever crate, counts once.
//
//	put                          orders, a line each: ID REGION AMOUNT
//	delete                       IDs of orders, a line each
//	crate ID                     stores a crate of parcels, a line each: NAME REGION
//	fold [crash=total|world|count|window|checkpoint]
//	                             a worker folds everything. With crash it fails at the first write of
//	                             that kind, and what it has in memory is lost
//	restart                      ends the worker: the next one starts from what is stored
//	dead                         facts that a fold refused. Orders of no amount are refused
//	show                         totals, world and counts
func TestPromises(t *testing.T) {
	datadriven.Walk(t, "testdata/promises", func(t *testing.T, path string) {
		p := newPromises(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "put":
				return p.put(t, d)
			case "delete":
				return p.delete(t, d)
			case "crate":
				return p.crate(t, d)
			case "fold":
				return p.fold(t, d)
			case "restart":
				p.worker = nil
				return ""
			case "dead":
				return p.dead(t)
			case "show":
				return p.show(t)
			}
			d.Fatalf(t, "there is no command %q", d.Cmd)
			return ""
		})
	})
}

type crateKey struct {
	ID string `dynamodbav:"id"`
}

type crate struct {
	crateKey
	Parcels []parcel `dynamodbav:"parcels"`
}

type parcel struct {
	Name   string `dynamodbav:"name"`
	Region string `dynamodbav:"region"`
}

type crateWindowKey struct {
	Span string `dynamodbav:"span"`
	Part string `dynamodbav:"part"`
}

type crateWindow struct {
	crateWindowKey
	fold.Window
}

type parcelCount struct {
	totalKey
	Parcels int `dynamodbav:"parcels"`
}

var (
	crates       = table.Define[crate, crateKey]("test.crate", table.Def[crate]{PK: "CRATES", SK: "CRATE#{id}", Immutable: true})
	crateWindows = table.Define[crateWindow, crateWindowKey]("test.window", table.Def[crateWindow]{PK: "CRATES", SK: fold.WindowSK})
	parcelCounts = table.Define[parcelCount, totalKey]("test.count", table.Def[parcelCount]{PK: "REGION#{region}", SK: "PARCELS"})
)

var parcels = fold.Once(fold.Each(crates, 100, func(c fold.Typed[crate]) (iter.Seq2[int, parcel], error) {
	return func(yield func(int, parcel) bool) {
		for i, p := range c.New.Parcels {
			if !yield(i, p) {
				return
			}
		}
	}, nil
}), crateWindows, time.Hour, func(p *parcel) (fold.FactID, bool) {
	h := fnv.New128a()
	h.Write([]byte(p.Name)) //nolint:errcheck // a hash never fails
	return fold.FactID{ID: [16]byte(h.Sum(nil))}, true
}, func(_ *parcel, span, part string) crateWindow {
	return crateWindow{crateWindowKey: crateWindowKey{span, part}}
})

func parcelsFold() *fold.Fold {
	return fold.New("parcels", parcelCounts, func(into, d *parcelCount) { into.Parcels += d.Parcels },
		fold.OnEach(parcels, func(p *parcel, at func(totalKey) *parcelCount) error {
			at(totalKey{p.Region}).Parcels++
			return nil
		}))
}

var errNoAmount = errors.New("an order of no amount")

// strictTotalsFold is totalsFold, but refuses orders of no amount.
func strictTotalsFold() *fold.Fold {
	return fold.New("totals", totals, func(into, d *total) {
		into.Orders += d.Orders
		into.Amount += d.Amount
	}, fold.On(orders, func(c fold.Typed[order], at func(totalKey) *total) error {
		for sign, o := range map[int]*order{-1: c.Old, 1: c.New} {
			if o == nil {
				continue
			}
			if o.Amount == 0 {
				return errNoAmount
			}
			t := at(totalKey{o.Region})
			t.Orders += sign
			t.Amount += sign * o.Amount
		}
		return nil
	})).With(fold.Removable(func(t *total) bool { return t.Orders == 0 }))
}

// promises is a table with a worker.
type promises struct {
	b      *bench
	api    *refusing
	tab    *table.Table
	worker *fold.Worker // nil: the next fold starts one
	writes int64        // of the worker, when it was last asked
}

func newPromises(t *testing.T) *promises {
	b := openEngine(t, engine.Options{})
	api := &refusing{API: b.db}
	return &promises{b: b, api: api, tab: table.New(api, "table", table.Options{})}
}

func (p *promises) put(t *testing.T, d *datadriven.TestData) string {
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		amount, err := strconv.Atoi(f[2])
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		put(t, p.tab, order{orderKey{f[0]}, f[1], amount})
	}
	return ""
}

func (p *promises) delete(t *testing.T, d *datadriven.TestData) string {
	for line := range strings.Lines(d.Input) {
		if err := orders.Delete(t.Context(), p.tab, orderKey{strings.TrimSpace(line)}); err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	return ""
}

func (p *promises) crate(t *testing.T, d *datadriven.TestData) string {
	c := crate{crateKey: crateKey{d.CmdArgs[0].Key}}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		c.Parcels = append(c.Parcels, parcel{f[0], f[1]})
	}
	if err := crates.Create(t.Context(), p.tab, &c); err != nil {
		d.Fatalf(t, "%v", err)
	}
	return ""
}

// fold prints how many items the worker wrote, without its own.
func (p *promises) fold(t *testing.T, d *datadriven.TestData) string {
	if p.worker == nil {
		p.worker = newWorker(t, p.tab, streamsource.New(p.b.db, p.b.arn), fold.Options{Sleep: skip}, strictTotalsFold(), worldFold(), parcelsFold())
		p.writes = 0
	}
	kinds := map[string]string{"checkpoint": "fold.checkpoint", "": ""}
	for _, kind := range []string{"total", "world", "count", "window"} {
		kinds[kind] = "test." + kind
	}
	var crash string
	d.MaybeScanArgs(t, "crash", &crash)
	refused, known := kinds[crash]
	if !known {
		d.Fatalf(t, "there is no kind %q", crash)
	}
	p.api.set(refused)
	defer p.api.set("")
	err := p.worker.Drain(t.Context())
	if crash != "" {
		if p.worker = nil; err == nil {
			d.Fatalf(t, "nothing of kind %s was written", crash)
		}
		return "crashed\n"
	}
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	writes := p.worker.Status().Writes
	defer func() { p.writes = writes }()
	return fmt.Sprintf("items written: %d\n", writes-p.writes)
}

// skip is a sleep without waiting.
func skip(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func (p *promises) dead(t *testing.T) string {
	var out strings.Builder
	for _, name := range []string{"totals", "world", "parcels"} {
		for _, l := range deadLetters(t, p.tab, name) {
			fmt.Fprintf(&out, "%s: %s: %s\n", l.Fold, l.ItemPK, l.Reason)
		}
	}
	return out.String()
}

func (p *promises) show(t *testing.T) string {
	var out strings.Builder
	for _, region := range []string{"east", "north", "south", "west"} {
		if s, err := totals.Get(t.Context(), p.tab, totalKey{region}); err == nil {
			fmt.Fprintf(&out, "%s: %d orders of %d\n", region, s.Orders, s.Amount)
		}
	}
	if w, err := worlds.Get(t.Context(), p.tab, worldKey{"all"}); err == nil {
		fmt.Fprintf(&out, "world: %d regions with %d\n", w.Regions, w.Amount)
	}
	for _, region := range []string{"east", "north", "south", "west"} {
		if c, err := parcelCounts.Get(t.Context(), p.tab, totalKey{region}); err == nil {
			fmt.Fprintf(&out, "%s: %d parcels\n", region, c.Parcels)
		}
	}
	return out.String()
}
