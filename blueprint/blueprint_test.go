package blueprint_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/examples/ledger"
	"github.com/onefold/onefold/examples/orders"
	"github.com/onefold/onefold/examples/social"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

func schemas() []*table.Schema {
	return []*table.Schema{analytics.Schema, telemetry.Schema, eventstore.Schema, ledger.Schema, orders.Schema, social.Schema}
}

// design makes a design with its own engine, whose clock stands at the time of the examples.
func design(t *testing.T, s *table.Schema) *blueprint.Design {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{Clock: func() time.Time { return blueprint.Epoch }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := blueprint.New(t.Context(), s, blueprint.Options{Store: db})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// promised lists the access patterns that each schema must answer: those for which the products
// were made.
var promised = map[string]string{
	"analytics":  "W1 W2 W3 W4 W5 W6 W7 W8 W9 W10 W11 W12",
	"telemetry":  "T1 T2 T3 T4 T5 T6 T7 T8",
	"eventstore": "E1 E2 E3 E4 E5 E6 E7",
}

// TestPromisedPatterns checks that every promised pattern is in the document, was executed while
// the document was made, and names its callers.
func TestPromisedPatterns(t *testing.T) {
	for _, s := range schemas() {
		d := design(t, s)
		for _, id := range strings.Fields(promised[s.Name()]) {
			i := slices.IndexFunc(d.Patterns, func(p blueprint.Pattern) bool { return p.ID == id })
			if i < 0 {
				t.Errorf("%s has no pattern %s", s.Name(), id)
			} else if p := &d.Patterns[i]; p.Execution == nil || len(p.Execution.Calls) == 0 || len(p.Callers) == 0 {
				t.Errorf("%s: pattern %s: executed %+v, callers %q", s.Name(), id, p.Execution, p.Callers)
			}
		}
	}
}

// TestDecisionLinks checks that the links of decisions lead to existing files.
func TestDecisionLinks(t *testing.T) {
	for _, s := range schemas() {
		for _, c := range s.Annotations().Decisions {
			if _, err := os.Stat(filepath.Join("../docs/design", c.Link)); err != nil {
				t.Errorf("%s: %q: %v", s.Name(), c.Title, err)
			}
		}
	}
}

// TestRelations checks that entities are related as people would draw them.
func TestRelations(t *testing.T) {
	want := map[string][]string{
		"analytics": {
			"analytics.site contains analytics.block by siteId", "analytics.owner refers analytics.site by ownerId", "analytics.import contains analytics.imported.month by siteId,importId",
		},
		"telemetry": {
			"telemetry.device contains telemetry.segment by deviceId", "telemetry.device extends telemetry.status by deviceId",
			"telemetry.fleet refers telemetry.device by fleetId", "telemetry.profile refers telemetry.device by profileId",
		},
		"eventstore": {
			"eventstore.head contains eventstore.page by type,id", "eventstore.head extends eventstore.snapshot by type,id", "eventstore.type contains eventstore.head by type",
		},
	}
	for _, s := range schemas() {
		var got []string
		for _, r := range design(t, s).Relations() {
			got = append(got, r.One+" "+r.Kind+" "+r.Many+" by "+strings.Join(r.By, ","))
		}
		for _, w := range want[s.Name()] {
			if !slices.Contains(got, w) {
				t.Errorf("%s: not %q among\n%s", s.Name(), w, strings.Join(got, "\n"))
			}
		}
	}
}

// TestPatternsAreExecuted checks that every pattern is executed, that it finds or writes something,
// and that it consumes the capacity that the metering rules require for the data that it moves.
func TestPatternsAreExecuted(t *testing.T) {
	for _, s := range schemas() {
		t.Run(s.Name(), func(t *testing.T) {
			for _, p := range design(t, s).Patterns {
				if p.Execution == nil || len(p.Execution.Calls) == 0 {
					t.Errorf("%s was not executed", p.ID)
					continue
				}
				for _, c := range p.Execution.Calls {
					if read, write := metered(&c); read != c.Read || write != c.Write && (len(c.Sizes) == c.Items || write > c.Write) {
						t.Errorf("%s: %s of %v bytes took %v read and %v write units, by the rules %v and %v", p.ID, c.Operation, c.Sizes, c.Read, c.Write, read, write)
					}
				}
			}
		})
	}
}

// metered computes the capacity that a call consumes from the metering rules, independently of the
// engine. For patches and checks, whose items are not in the request, it returns the minimum.
func metered(c *blueprint.Call) (read, write float64) {
	switch c.Operation {
	case "Query", "GetItem":
		blocks := max(1, (c.Bytes+4095)/4096)
		if c.Consistent {
			return float64(blocks), 0
		}
		return float64(blocks) / 2, 0
	}
	if c.Operation == "BatchGetItem" { // each key counts separately, whether or not its item exists
		blocks := bytes.Count(c.Request, []byte(`"pk"`)) - c.Items
		for _, size := range c.Sizes {
			blocks += (size + 4095) / 4096
		}
		if c.Consistent {
			return float64(blocks), 0
		}
		return float64(blocks) / 2, 0
	}
	once := 1
	if c.Operation == "TransactWriteItems" {
		once = 2
	}
	for i, size := range c.Sizes {
		write += float64(max(1, (size+1023)/1024) * (once + c.Indexed[i]))
	}
	return 0, write + float64((c.Items-len(c.Sizes))*once)
}

// TestDocumentsAreDeterministic checks that the same schema always produces the same bytes.
func TestDocumentsAreDeterministic(t *testing.T) {
	for _, s := range schemas() {
		var first, second bytes.Buffer
		for _, into := range []*bytes.Buffer{&first, &second} {
			if err := design(t, s).Markdown(into); err != nil {
				t.Fatal(err)
			}
		}
		if first.String() != second.String() {
			t.Errorf("%s: two documents differ: %s", s.Name(), firstDifference(first.String(), second.String()))
		}
	}
}

// TestMonthlyCost checks that the cost of a month is units × calls × price, and that no cost is
// given where no price is known.
func TestMonthlyCost(t *testing.T) {
	d, err := blueprint.New(t.Context(), analytics.Schema, blueprint.Options{Prices: &blueprint.Prices{Read: 0.125, Write: 0.625, Of: "a test"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Patterns {
		if p.ID == "W1" && fmt.Sprintf("%.2f", p.Monthly) != "19.71" { // 12 per second are 31.5 million units
			t.Errorf("ingest costs %v", p.Monthly)
		}
	}
	var b strings.Builder
	if err := d.Markdown(&b); err != nil || !strings.Contains(b.String(), "| $19.71 |") {
		t.Errorf("error %v; the document does not say what ingest costs", err)
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d: %q and %q", i+1, as[i], bs[i])
		}
	}
	return "one is longer"
}

type parcelKey struct {
	ID string `dynamodbav:"id"`
}

type parcel struct {
	parcelKey
	City string `dynamodbav:"city"`
}

type cityIn struct {
	City string `dynamodbav:"city"`
}

// TestPatternsThatFindNothing checks that a pattern that finds none of the examples is refused,
// with advice. Such a pattern would make a document without information.
func TestPatternsThatFindNothing(t *testing.T) {
	parcels := table.Define[parcel, parcelKey]("test.parcel", table.Def[parcel]{
		PK: "PARCEL#{id}", SK: "PARCEL",
		Indexes: []table.Index[parcel]{{Name: "gsi1", PK: "CITY#{city}", SK: "PARCEL#{id}", When: func(p *parcel) bool { return p.City == "Rome" }, WhenReads: []string{"city"}}},
	})
	byCity := table.NewQuery(parcels, table.QueryDef[cityIn]{ID: "P1", Question: "parcels of a city", Index: "gsi1"})
	s := table.MustSchema("parcels", parcels, byCity)
	db, err := engine.OpenMemory(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := blueprint.New(t.Context(), s, blueprint.Options{Store: db}); err == nil || !strings.Contains(err.Error(), "P1: it finds no example row of test.parcel") {
		t.Errorf("error %v", err)
	}
	for _, rows := range []int{-1, 6} {
		if _, err := blueprint.New(t.Context(), s, blueprint.Options{Rows: rows}); !errors.Is(err, blueprint.ErrOptions) {
			t.Errorf("%d rows: error %v", rows, err)
		}
	}
	d, err := blueprint.New(t.Context(), s, blueprint.Options{})
	if err != nil || d.Executed || d.Patterns[0].Execution != nil {
		t.Errorf("without a store: %+v, error %v", d, err)
	}
}

// TestPartitions checks that rows are shown as the table and its indexes hold them: one partition
// after another, in the order of the sort keys.
func TestPartitions(t *testing.T) {
	d := design(t, telemetry.Schema)
	for _, index := range append([]string{""}, d.Indexes...) {
		var keys []string
		for _, p := range d.Partitions(index) {
			keys = append(keys, p.Key)
			if len(p.Rows) == 0 {
				t.Errorf("%q: partition %q is empty", index, p.Key)
			}
		}
		if !slices.IsSorted(keys) || len(slices.Compact(keys)) != len(d.Partitions(index)) {
			t.Errorf("%q: partitions %q", index, keys)
		}
	}
}
