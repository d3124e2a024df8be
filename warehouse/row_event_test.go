package warehouse

import (
	"bytes"
	"reflect"
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

// A file from before a column was introduced can be read: the column is empty.
func TestRowsOfOldFiles(t *testing.T) {
	var b bytes.Buffer
	old := &eventKeys{Time: 7, EventID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
	if err := keyForms[Events].write(&b, Sorted([]Row{old})); err != nil {
		t.Fatal(err)
	}
	f, err := openParquet(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []Row
	for r, err := range forms[Events].read(f, firstTime, lastTime) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if want := (&EventRow{Time: old.Time, EventID: old.EventID}); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
