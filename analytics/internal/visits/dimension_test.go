package visits

import (
	"reflect"
	"testing"

	"github.com/onefold/onefold/analytics/internal/dimension"
)

// A visit has each dimension of which it has one value, and its encoding keeps them.
func TestDimensionsAreEncoded(t *testing.T) {
	v := Visit{Hours: []Hour{{Hour: 3600}}}
	n := 0
	for _, d := range dimension.All {
		if dimension.OfVisit(d.Name) {
			n++
		}
	}
	if n != len(Dimensions) {
		t.Errorf("%d dimensions, %d declared", len(Dimensions), n)
	}
	for _, d := range Dimensions {
		*d.Of(&v) = string(d.Name)
	}
	var got List
	if err := got.Read(List{v}.Append(nil)); err != nil || !reflect.DeepEqual(got, List{v}) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, List{v})
	}
}

// A dimension that is added changes the bytes only of visits with a value of it.
func TestLaterDimension(t *testing.T) {
	before := texts
	defer func() { texts = before }()
	without := List{{FirstID: "a", Hours: []Hour{{Hour: 3600}}}}
	old := without.Append(nil)
	other := map[*Visit]*string{} // the texts of the later dimension
	texts = append(before[:len(before):len(before)], func(v *Visit) *string {
		if other[v] == nil {
			other[v] = new(string)
		}
		return other[v]
	})
	if string(without.Append(nil)) != string(old) {
		t.Error("visits without a value have other bytes")
	}
	with := List{without[0], without[0]}
	*texts[len(before)](&with[1]) = "value"
	var got List
	if err := got.Read(with.Append(nil)); err != nil || len(got) != 2 || *texts[len(before)](&got[1]) != "value" || *texts[len(before)](&got[0]) != "" {
		t.Errorf("read %+v, %v", got, err)
	}
	if err := got.Read(old); err != nil || !reflect.DeepEqual(got, without) {
		t.Errorf("read %+v, %v", got, err)
	}
	written := with.Append(nil)
	texts = before
	if err := got.Read(written); err == nil {
		t.Error("a program that does not know the dimension reads its visits")
	}
}
