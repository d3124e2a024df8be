package visits

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/onefold/onefold/internal/varint"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/internal/referral"
)

// drawPoints generates visits of one event each. Many are close together, some share a millisecond,
// and sometimes there are more session IDs or pages than there is room for.
func drawPoints(t *rapid.T) []Visit {
	minutes := rapid.SampledFrom([]int{2, 90, 700}).Draw(t, "minutes")
	owns := rapid.SampledFrom([]int{0, 1, 3, 120}).Draw(t, "owns")
	pages := rapid.SampledFrom([]int{1, 5, 400}).Draw(t, "pages")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	points := make([]Visit, rapid.IntRange(1, 150).Draw(t, "n"))
	for i := range points {
		at := 1_778_544_000_000 + int64(r.IntN(minutes*60))*1000
		id := fmt.Sprintf("%013d-%03d", at, i)
		v := Visit{Start: at, End: at, FirstID: id, Hours: []Hour{{Hour: at / 1000 / 3600 * 3600}}}
		v.Source = referral.Source{Name: fmt.Sprint("source-", r.IntN(3)), UTM: referral.UTM{Term: fmt.Sprint("term-", r.IntN(3))}}
		v.Country = []string{"", "DE", "FR"}[r.IntN(3)]
		if owns > 0 && r.IntN(2) == 0 {
			v.Own = fmt.Sprintf("own-%03d", r.IntN(owns))
		}
		if r.IntN(5) == 0 {
			v.UserID, v.UserAt = fmt.Sprint("user-", r.IntN(3)), id
		}
		if r.IntN(4) == 0 {
			v.Events, v.Revenue = 1, []string{"", "1.5", "-0.5", "0.000001"}[r.IntN(4)]
		} else {
			page := fmt.Sprintf("/%03d", r.IntN(pages))
			v.Hours[0].Views, v.Pages, v.Entry, v.Exit = 1, []string{page}, Landing{page, id}, Landing{page, id}
		}
		points[i] = v
	}
	return points
}

func encode(t interface{ Fatal(...any) }, vs List) []byte {
	return vs.Append(nil)
}

func add(points []Visit) (vs List) {
	for i := range points {
		vs.Add(&points[i])
	}
	return vs
}

// The same events give the same bytes, in whatever order and groups they come.
func TestVisitsAreAFunctionOfTheSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := drawPoints(t)
		want := encode(t, add(points))
		shuffled := rapid.Permutation(points).Draw(t, "order")
		if got := encode(t, add(shuffled)); !bytes.Equal(got, want) {
			t.Fatalf("one by one: got %x, want %x", got, want)
		}
		parts := make([]List, rapid.IntRange(1, 5).Draw(t, "parts"))
		for i := range shuffled {
			parts[i%len(parts)].Add(&shuffled[i])
		}
		var merged List
		for _, part := range parts {
			before := encode(t, part)
			merged = Union(merged, part)
			if !bytes.Equal(before, encode(t, part)) {
				t.Fatal("the union changed a part")
			}
		}
		if got := encode(t, merged); !bytes.Equal(got, want) {
			t.Fatalf("of %d parts: got %x, want %x", len(parts), got, want)
		}
	})
}

// Merging loses nothing except what the limits allow.
func TestVisitsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := drawPoints(t)
		var views, events int64
		for i := range points {
			views, events = views+points[i].Views(), events+points[i].Events
		}
		owns, pages := map[string]bool{}, map[string]bool{}
		for i, v := range add(points) {
			views, events = views-v.Views(), events-v.Events
			if v.Seconds() < 0 || v.StartHour() > v.Start/1000 {
				t.Fatalf("visit %d: %+v", i, v)
			}
			owns[v.Own] = true
			for _, p := range v.Pages {
				pages[p] = true
			}
		}
		if views != 0 || events != 0 || len(owns) > MaxOwn+2 || len(pages) > MaxPages {
			t.Fatalf("%d page views and %d events missing, %d session ids, %d pages", views, events, len(owns), len(pages))
		}
	})
}

func TestEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := add(drawPoints(t))
		stored := encode(t, want)
		var got List
		if err := got.Read(stored); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
		short := stored[:rapid.IntRange(0, len(stored)-1).Draw(t, "cut")]
		err := got.Read(short)
		if err == nil && len(got) >= len(want) || err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut to %d of %d bytes: %v", len(short), len(stored), err)
		}
	})
}

func TestConversions(t *testing.T) {
	a := Of([]Conversion{{Goal: "b", Count: 1, Revenue: "9.99"}, {Goal: "a", Once: true, Value: "2.5", Count: 1}})
	sum := a.Plus(a)
	if n, revenue := sum[0].Worth(); n != 1 || revenue != "2.5" {
		t.Errorf("once: %d, %s", n, revenue)
	}
	if n, revenue := sum[1].Worth(); n != 2 || revenue != "19.98" {
		t.Errorf("each time: %d, %s", n, revenue)
	}
	if left := sum.Minus(a).Minus(a); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	below := Conversions{}.Minus(a)
	if n, revenue := below[0].Worth(); n != 0 || revenue != "" {
		t.Errorf("taken off before it is added: %d, %s", n, revenue)
	}
}

func TestDepthEncoding(t *testing.T) {
	var want Depths
	for i := range 40 {
		want.Add(Depth{fmt.Sprint("/", i), int64(i)})
	}
	r := varint.NewReader(want.Append(nil))
	if got := ReadDepths(&r); !slices.Equal(got, want) || r.Failed() || r.More() {
		t.Errorf("%v became %v", want, got)
	}
}

func FuzzStoredDepths(f *testing.F) {
	f.Add([]byte{1, 1, '/', 40})
	f.Fuzz(func(_ *testing.T, b []byte) {
		r := varint.NewReader(b)
		ReadDepths(&r) // must not panic
	})
}

func FuzzStoredVisits(f *testing.F) {
	f.Add([]byte{2, 1, 1, 'a', 0, 0, 0})
	f.Add([]byte{2, 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		var v List
		_ = v.Read(b) // must not panic
	})
}
