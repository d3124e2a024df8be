package warehouse

import (
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
)

// Each dimension that is a trait is a column, and a row keeps it.
func TestTraitsAreColumns(t *testing.T) {
	e := analytics.Event{EventKey: analytics.EventKey{EventID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}}
	for _, d := range analytics.TraitDefs {
		*d.Of(&e.Traits) = string(d.Name)
		if !slices.ContainsFunc(Events.Columns(), func(c Column) bool { return c.Name == string(d.Name) }) {
			t.Errorf("no column %s", d.Name)
		}
	}
	row, err := NewEventRow(&e, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := row.Event(""); err != nil || got.Traits != e.Traits {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got.Traits, e.Traits)
	}
}
