package blueprint_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/examples/orders"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

func schemas() []*table.Schema {
	return []*table.Schema{analytics.Schema, telemetry.Schema, eventstore.Schema, orders.Schema}
}

// design is made on an engine of its own, whose clock stands at the time of the examples.
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

// Every pattern is executed, finds something or writes, and takes what the rules of metering say of what it moved.
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

// metered is what a call takes, reckoned apart: by hand from the rules. Of patches and checks, whose items are not in the
// request, it is the least.
func metered(c *blueprint.Call) (read, write float64) {
	switch c.Operation {
	case "Query", "GetItem":
		blocks := max(1, (c.Bytes+4095)/4096)
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

// The same schema has the same bytes, however often and wherever a document is made.
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

// A pattern that finds none of the examples would be a document that says nothing: it is refused, with what to do.
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
	if _, err := blueprint.New(t.Context(), s, blueprint.Options{Store: db}); err == nil || !strings.Contains(err.Error(), "P1: it finds none of the example rows of test.parcel") {
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

// Rows stand as the table and its indexes hold them: one partition after the other, in the order of the sort keys.
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
