package segments

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

var noon = time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)

func newTable(t *testing.T) *table.Table {
	t.Helper()
	tbl := foldtest.NewWorld(t, foldtest.Setup{Schema: table.MustSchema("test", analytics.Schema, Schema), At: noon}).Table
	if _, err := analytics.CreateSite(t.Context(), tbl, analytics.NewSite{ID: "site"}); err != nil {
		t.Fatal(err)
	}
	return tbl
}

func segment(name string, filters ...string) Segment {
	return Segment{Key: Key{SiteID: "site"}, Name: name, Filters: filters}
}

const german = "country:is:DE|AT"

// A repeated call changes nothing and returns the first segment; another definition of the name is
// refused.
func TestCreateIsIdempotent(t *testing.T) {
	tbl := newTable(t)
	first, created, err := Create(t.Context(), tbl, segment("Paying Customers", german))
	if err != nil || !created || first.SegmentID != "paying-customers" || !first.Created.Equal(noon) {
		t.Fatalf("%+v, %v, %v", first, created, err)
	}
	again, created, err := Create(t.Context(), tbl, segment("Paying Customers", german))
	if err != nil || created || !reflect.DeepEqual(again, first) {
		t.Errorf("%+v, %v, %v", again, created, err)
	}
	if _, _, err := Create(t.Context(), tbl, segment("paying customers", "country:is:FR")); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	if _, _, err := Create(t.Context(), tbl, Segment{Key: Key{SiteID: "elsewhere"}, Name: "x", Filters: []string{german}}); !errors.Is(err, table.ErrNotFound) {
		t.Error(err)
	}
}

// Of many calls at once with the same name, one creates the segment and all return it.
func TestCreateAtOnce(t *testing.T) {
	tbl := newTable(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	created, ids := 0, map[string]bool{}
	for range 8 {
		wg.Go(func() {
			s, is, err := Create(t.Context(), tbl, segment("Same", german))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if ids[s.SegmentID] = true; is {
				created++
			}
		})
	}
	wg.Wait()
	if all, err := List(t.Context(), tbl, "site"); created != 1 || len(ids) != 1 || err != nil || len(all) != 1 {
		t.Errorf("%d created, IDs %v, %v, %v", created, ids, all, err)
	}
}

func TestInvalidSegments(t *testing.T) {
	tbl := newTable(t)
	long := strings.Repeat("x", 512)
	for what, s := range map[string]Segment{
		"no name": segment("", german), "spaces": segment(" a", german), "two lines": segment("a\nb", german), "a bar": segment("a|b", german),
		"long name": segment(strings.Repeat("ä", MaxName+1), german), "not UTF-8": segment("a\xff", german),
		"no filters": segment("a"), "many filters": segment("a", slices.Repeat([]string{german}, MaxFilters+1)...),
		"bad filter": segment("a", "country"), "unknown dimension": segment("a", "colour:is:red"), "nested": segment("a", "segment:is:b"),
		"large":            segment("a", "page:is:"+strings.Join(slices.Repeat([]string{long}, 40), "|")),
		"long description": {Key: Key{SiteID: "site"}, Name: "a", Filters: []string{german}, Description: strings.Repeat("x", MaxDescription+1)},
	} {
		if _, _, err := Create(t.Context(), tbl, s); !errors.Is(err, ErrSegment) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range MaxSegments {
		if _, _, err := Create(t.Context(), tbl, segment(fmt.Sprint(i), german)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Create(t.Context(), tbl, segment("one more", german)); !errors.Is(err, ErrSegment) {
		t.Error(err)
	}
	if _, created, err := Create(t.Context(), tbl, segment("7", german)); err != nil || created {
		t.Errorf("repeated when full: %v, %v", created, err)
	}
}

// Random calls agree with a list of segments, in which names and IDs find exactly one.
func TestAgainstAList(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	tbl := newTable(t)
	names := []string{"a", "A", "b", "a b", "a-b", "ä", "ö", "a-2", "segment"}
	filters := []string{german, "country:is:FR", `page:is:/a\|b`}
	known := map[string]Segment{} // by ID
	finds := func(name, except string) bool {
		for id, s := range known {
			if id != except && (strings.EqualFold(s.Name, name) || id == strings.ToLower(name)) {
				return true
			}
		}
		return false
	}
	for range 200 {
		name, text := names[random.IntN(len(names))], filters[random.IntN(len(filters))]
		var ids []string
		for id := range known {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		switch n := random.IntN(4); {
		case n < 2 || len(ids) == 0:
			s, created, err := Create(t.Context(), tbl, segment(name, text))
			if taken := finds(name, ""); taken == created || errors.Is(err, ErrTaken) != (taken && err != nil) {
				t.Fatalf("create %q: %+v, %v, %v", name, s, created, err)
			}
			if created {
				known[s.SegmentID] = s
			}
		case n == 2:
			id := ids[random.IntN(len(ids))]
			_, after, err := Update(t.Context(), tbl, Key{"site", id}, func(s *Segment) error { s.Name, s.Filters = name, []string{text}; return nil })
			if taken := finds(name, id); taken != errors.Is(err, ErrTaken) || !taken && err != nil {
				t.Fatalf("rename %s to %q: %v", id, name, err)
			}
			if err == nil {
				known[id] = after
			}
		default:
			id := ids[random.IntN(len(ids))]
			if _, err := Delete(t.Context(), tbl, Key{"site", id}); err != nil {
				t.Fatal(err)
			}
			delete(known, id)
		}
	}
	all, err := List(t.Context(), tbl, "site")
	if err != nil || len(all) != len(known) {
		t.Fatalf("%v, %v, want %v", all, err, known)
	}
	for _, s := range all {
		if !reflect.DeepEqual(s, known[s.SegmentID]) {
			t.Errorf("%+v, want %+v", s, known[s.SegmentID])
		}
		for _, name := range []string{s.SegmentID, s.Name, strings.ToUpper(s.Name)} {
			if got, err := Find(t.Context(), tbl, "site", name); err != nil || got.SegmentID != s.SegmentID {
				t.Errorf("%q finds %+v, %v; want %s", name, got, err, s.SegmentID)
			}
		}
	}
}

func TestUpdateAndDelete(t *testing.T) {
	tbl := newTable(t)
	s, _, err := Create(t.Context(), tbl, segment("A", german))
	if err != nil {
		t.Fatal(err)
	}
	before, after, err := Update(t.Context(), tbl, s.Key, func(s *Segment) error { s.Name, s.SegmentID = "B", "c"; return nil })
	if err != nil || before.Name != "A" || after.Name != "B" || after.SegmentID != "a" {
		t.Errorf("%+v, %+v, %v", before, after, err)
	}
	if _, _, err := Update(t.Context(), tbl, s.Key, func(s *Segment) error { s.Filters = nil; return nil }); !errors.Is(err, ErrSegment) {
		t.Error(err)
	}
	if _, _, err := Update(t.Context(), tbl, Key{"site", "x"}, func(*Segment) error { return nil }); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	for _, want := range []error{nil, ErrUnknown} {
		if _, err := Delete(t.Context(), tbl, s.Key); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestExpand(t *testing.T) {
	tbl := newTable(t)
	if _, _, err := Create(t.Context(), tbl, segment("German", german, "device:is:mobile")); err != nil {
		t.Fatal(err)
	}
	filters, err := explore.ParseFilters([]string{"page:is:/", "segment:is_not:GERMAN"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Expand(t.Context(), tbl, "site", filters)
	if err != nil || len(got) != 2 || len(got[1].Any) != 1 || len(got[1].Any[0]) != 2 || got[1].Any[0][0].String() != german || filters[1].Any != nil {
		t.Errorf("%+v, %v", got, err)
	}
	filters[1].Values = []string{"nobody"}
	if _, err := Expand(t.Context(), tbl, "site", filters); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}
