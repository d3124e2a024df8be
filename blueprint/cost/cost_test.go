package cost_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/cost"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

type noteKey struct {
	ID string `dynamodbav:"id"`
}

type note struct {
	noteKey
	City string `dynamodbav:"city"`
}

// notes returns a schema whose facts have items of the given size on the given number of indexes,
// and are read at the given rate.
func notes(g table.Growth, reads table.Load) *table.Schema {
	d := table.Def[note]{PK: "NOTE#{id}", SK: "NOTE", Immutable: true, Growth: g}
	if g.Indexes > 0 {
		d.Indexes = []table.Index[note]{{Name: "gsi1", PK: "CITY#{city}", SK: "NOTE#{id}"}}
	}
	e := table.Define[note, noteKey]("notes.note", d)
	write := table.NewCreate(e, table.CreateDef{ID: "N1", Question: "write a note", Load: table.Load{PerSecond: 10, Items: 1, ItemBytes: g.Bytes}})
	read := table.NewGet[noteKey](e, table.GetDef{ID: "N2", Question: "a note", Load: reads})
	return table.MustSchema("notes", e, write, read)
}

// TestBillsAgreeWithTheGuide checks the three workloads of docs/guides/cost.md against their
// calculation by hand there.
func TestBillsAgreeWithTheGuide(t *testing.T) {
	for _, c := range []struct {
		name                 string
		schema               *table.Schema
		perDay               float64
		region               string
		months               int
		write, read, stored  float64
		writes, reads, total float64 // dollars
		scaled, full         float64 // dollars
	}{{
		name: "a million page views, a write each", schema: notes(table.Growth{Writes: 1, Items: 1, Bytes: 350, Keep: 30 * 24 * time.Hour}, table.Load{}),
		perDay: 1e6, region: "us-east-1", months: 12,
		write: 30_416_667, stored: 12.573, writes: 19.01, reads: 0, total: 19.01 + 3.14 + 2.51 + 8.41, full: 1.26, // 12.573 GB at 0.25 and at 0.2; 42,048,000 GetRecords
		scaled: 730 * (17*0.00065 + 1*0.00013), // 11.574/s of 70 %
	}, {
		name: "long readings on an index, and people who read", schema: notes(table.Growth{Writes: 1, Items: 1, Bytes: 1500, Indexes: 1}, table.Load{PerSecond: 5, Items: 1, ItemBytes: 6000}),
		perDay: 1e5, region: "eu-central-1", months: 1,
		write: 12_166_667, read: 26_280_000, stored: 9.065, writes: 9.28, reads: 4.01, total: 9.28 + 4.01 + 2.77 + 2.22 + 10.30, full: 1.11,
		scaled: 730 * (7*0.000793 + 15*0.0001586),
	}, {
		name: "events appended in transactions", schema: notes(table.Growth{Writes: 2, Items: 1, Bytes: 600, Indexes: 1, Transact: true}, table.Load{}),
		perDay: 1e4, region: "ap-southeast-2", months: 12,
		write: 1_825_000, stored: 4.759, writes: 1.30, reads: 0, total: 1.30 + 1.36 + 1.09 + 9.59, full: 0.54,
		scaled: 730 * (1*0.00074 + 1*0.000148),
	}} {
		t.Run(c.name, func(t *testing.T) {
			b := bill(t, c.schema, c.perDay, c.region, c.months)
			for name, is := range map[string][2]float64{
				"write units": {b.WriteUnits, c.write}, "read units": {b.ReadUnits, c.read}, "GB": {b.StoredGB, c.stored},
				"writes": {b.OnDemand.Writes, c.writes}, "reads": {b.OnDemand.Reads, c.reads}, "total": {b.Total, c.total}, "auto scaling": {b.Scaled.Cost, c.scaled}, "a backup on demand": {b.Full, c.full},
			} {
				if tolerance := 0.0201; math.Abs(is[0]-is[1]) > tolerance { // the sums are of amounts that were rounded to the cent
					t.Errorf("%s: %v, by hand %v", name, is[0], is[1])
				}
			}
		})
	}
}

func bill(t *testing.T, s *table.Schema, perDay float64, region string, months int) cost.Bill {
	t.Helper()
	d, err := blueprint.New(t.Context(), s, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := cost.Declared(d, perDay, cost.Options{Months: months})
	if err != nil {
		t.Fatal(err)
	}
	book, err := cost.PriceBook()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := book.Region(region)
	if err != nil {
		t.Fatal(err)
	}
	return cost.Of(w, region, prices, 4)
}

// TestEventsOfTheEventStoreTakeTwentyUnits checks the bill for events of the event store. It includes
// what workers derive from an append when appends are so rare that nothing is written together.
func TestEventsOfTheEventStoreTakeTwentyUnits(t *testing.T) {
	const appends = 240 // per day
	none, some := bill(t, eventstore.Schema, 0, "us-east-1", 1), bill(t, eventstore.Schema, appends, "us-east-1", 1)
	const (
		appended = 6 + 2 // units: the head with a page that is half full, and the entry of the feed
		others   = 0.3   // a hundredth of a page, and a tenth of an aggregate in a list
		indexed  = 1     // the entry in the index by type
		derived  = 2 + 2 // the feed and its head
		counted  = 1     // the aggregate's type
		rules    = 1     // appends are so rare that each finds that the rules of the table must be read again
		marked   = 2.8   // checkpoints
	)
	got, want := (some.WriteUnits-none.WriteUnits)/(appends*730/24.0), appended+others+indexed+derived+counted+rules+marked
	if math.Abs(got/want-1) > 0.01 {
		t.Errorf("an append takes %.3f write units, want %.3f", got, want)
	}
}

// TestSchemasWithoutGrowth checks that a schema that does not say what grows is scaled by its
// busiest writing pattern.
func TestSchemasWithoutGrowth(t *testing.T) {
	s := notes(table.Growth{Bytes: 350}, table.Load{PerSecond: 5, Items: 1, ItemBytes: 350})
	once, twice := bill(t, s, 864_000, "us-east-1", 1), bill(t, s, 2*864_000, "us-east-1", 1)
	if once.WriteUnits != 26_280_000 || once.ReadUnits != 13_140_000 || twice.WriteUnits != 2*once.WriteUnits || twice.ReadUnits != 2*once.ReadUnits {
		t.Errorf("%+v, of twice as many events %+v", once, twice)
	}
}

// TestBreakEven checks that provisioned capacity costs as much as on-demand requests when its use
// is at the break-even.
func TestBreakEven(t *testing.T) {
	book, err := cost.PriceBook()
	if err != nil {
		t.Fatal(err)
	}
	for _, region := range book.Names() {
		p, err := book.Region(region)
		if err != nil {
			t.Fatal(err)
		}
		const units = 1e12 // so many that one more capacity unit does not matter
		w := &cost.Workload{Lines: []cost.Line{{WriteUnits: units, Writes: units}}}
		b := cost.Of(w, region, p, 1)
		if use := b.OnDemand.Writes * b.BreakEven; math.Abs(use/b.Peak.Cost-1) > 0.01 {
			t.Errorf("%s: on demand %v, at a use of %v provisioned %v", region, b.OnDemand.Writes, b.BreakEven, b.Peak.Cost)
		}
		for name, v := range map[string]float64{
			"reads to writes": p.ReadMillion / p.WriteMillion * 5, "capacity": p.ReadCapacityHour / p.WriteCapacityHour * 5,
			"continuous backup to storage": p.ContinuousBackupMonth / p.StorageMonth / 0.8, "backup to storage": p.BackupMonth / p.StorageMonth / 0.4,
			"streams to storage": p.StreamReads100k / p.StorageMonth / 0.08,
		} { // the proportions are the same everywhere, so a typing error would show
			if v < 0.95 || v > 1.05 {
				t.Errorf("%s: %s is %v times what it is elsewhere", region, name, v)
			}
		}
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	d, err := blueprint.New(t.Context(), eventstore.Schema, blueprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		perDay float64
		months int
	}{{-1, 1}, {math.NaN(), 1}, {math.Inf(1), 1}, {1e12, 1}, {1, 0}, {1, 1201}} {
		if _, err := cost.Declared(d, c.perDay, cost.Options{Months: c.months}); !errors.Is(err, cost.ErrOptions) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
	book, err := cost.PriceBook()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.Region("mars-north-1"); !errors.Is(err, cost.ErrRegion) {
		t.Errorf("error %v", err)
	}
}
