package warehouse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/warehousetest"
)

// visits generates events of visitors within three days, in their own time zone. Some of them
// identify users.
func visits(random *rand.Rand, n int) (rows []*warehouse.EventRow) {
	for range n {
		at := noon.Add(-time.Duration(random.IntN(3*24*3600_000)) * time.Millisecond)
		id, err := ulid.New(ulid.Timestamp(at), randomBytes{random})
		if err != nil {
			panic(err)
		}
		visitor := random.IntN(12)
		e := analytics.Event{EventKey: analytics.EventKey{SiteID: "shop", EventID: id.String()}, ZoneMinutes: 330, VisitorShard: visitor % 3,
			VisitorID: fmt.Sprint("v", visitor), Path: "/"}
		if random.IntN(5) == 0 {
			e.UserID = fmt.Sprint("u", visitor/2)
		}
		row, err := warehouse.NewEventRow(&e, at.Add(time.Hour))
		if err != nil {
			panic(err)
		}
		rows = append(rows, row)
	}
	return rows
}

type randomBytes struct{ random *rand.Rand }

func (r randomBytes) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.random.Uint32())
	}
	return len(b), nil
}

func visitorOf(r *warehouse.EventRow) analytics.VisitorKey {
	e, err := r.Event("shop")
	if err != nil {
		panic(err)
	}
	k, err := e.Visitor()
	if err != nil {
		panic(err)
	}
	return k
}

// texts returns rows as sorted text.
func texts(rows []*warehouse.EventRow) (all []string) {
	for _, r := range rows {
		b, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		all = append(all, string(b))
	}
	slices.Sort(all)
	return all
}

// stored returns the rows of a site. It checks that each row is there once, and that the files
// match the log.
func (h *fixture) stored(w *warehouse.Warehouse, site string) (rows []*warehouse.EventRow) {
	h.Helper()
	for _, f := range w.Files(warehouse.Events) {
		if f.Partition.Key != site {
			continue
		}
		h.must(w.Verify(h.ctx, f))
		for r, err := range w.Rows(h.ctx, f) {
			h.must(err)
			rows = append(rows, r.(*warehouse.EventRow))
		}
	}
	return rows
}

// write writes rows as files, with a few rows per commit.
func (h *fixture) write(w *warehouse.Warehouse, site string, rows []*warehouse.EventRow, random *rand.Rand) {
	h.Helper()
	for len(rows) > 0 {
		part := slices.Clone(rows[:min(len(rows), 20+random.IntN(60))])
		slices.SortFunc(part, func(a, b *warehouse.EventRow) int { return a.Key().Compare(b.Key()) })
		rows = rows[len(part):]
		byPartition := map[warehouse.Partition][]warehouse.Row{}
		for _, r := range part {
			p := warehouse.PartitionOf(warehouse.Events, site, r.Time)
			byPartition[p] = append(byPartition[p], r)
		}
		e := &warehouse.Entry{Why: "export"}
		for p, of := range byPartition {
			f, _, err := w.WriteFile(h.ctx, p, warehouse.Sorted(of))
			h.must(err)
			e.Add = append(e.Add, f)
		}
		h.commit(w, e)
	}
}

// TestForget removes a person while processes die and fail anywhere, and others join files and
// export. In the end, nothing is left of the visitors' days on which the person was identified, and
// all other events are there once.
func TestForget(t *testing.T) {
	for _, seed := range []uint64{1, 2, rand.Uint64()} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			h := newFixture(t)
			all, other, late := visits(random, 250), visits(random, 40), visits(random, 40)
			for _, r := range late { // these belong to nobody who is erased
				r.UserID, r.VisitorID = "", "late"
			}
			h.write(h.open(), "shop", all, random)
			h.write(h.open(), "blog", other, random)
			named := visitorOf(all[0])
			gone := map[analytics.VisitorKey]bool{named: true}
			for _, r := range all {
				if r.UserID == "u1" {
					gone[visitorOf(r)] = true
				}
			}
			person := warehouse.Person{UserID: "u1", Visitors: []analytics.VisitorKey{named}}
			left, deaths := 0, 0
			faulty := &warehousetest.Faulty{Objects: h.memory, Decide: func(string, string) warehousetest.Fault {
				if left--; left < 0 {
					return []warehousetest.Fault{warehousetest.Before, warehousetest.After}[random.IntN(2)]
				}
				return warehousetest.None
			}}
			for n := 1; ; n++ {
				left = 3 + n*15
				w, err := warehouse.Open(h.ctx, faulty, warehouse.Options{Clock: func() time.Time { return h.now }, Temp: t.TempDir()})
				if err == nil {
					_, err = w.ErasePerson(h.ctx, "shop", person)
				}
				if err == nil {
					break
				}
				if !errors.Is(err, warehousetest.ErrFault) {
					t.Fatal(err)
				}
				deaths++
				switch random.IntN(4) {
				case 0:
					_, err := h.open().Compact(h.ctx, warehouse.Compaction{Target: 20_000, AtOnce: 3})
					h.must(err)
				case 1:
					if len(late) > 0 {
						h.write(h.open(), "shop", late[:10], random)
						all, late = append(all, late[:10]...), late[10:]
					}
				}
			}
			w := h.open()
			want := slices.DeleteFunc(slices.Clone(all), func(r *warehouse.EventRow) bool { return gone[visitorOf(r)] })
			if got := h.stored(w, "shop"); !slices.Equal(texts(got), texts(want)) {
				t.Errorf("%d rows are left, want %d of %d", len(got), len(want), len(all))
			}
			if got := h.stored(w, "blog"); !slices.Equal(texts(got), texts(other)) {
				t.Error("another site's rows changed")
			}
			if len(want) == len(all) || deaths < 3 {
				t.Errorf("%d rows were to go, it died %d times: the test shows nothing", len(all)-len(want), deaths)
			}
			if n, err := w.ErasePerson(h.ctx, "shop", person); n != 0 || err != nil {
				t.Errorf("again: %d rows, %v", n, err)
			}
			_, err := w.Sweep(h.ctx)
			h.must(err)
			inLog := map[string]bool{}
			for _, f := range w.Files() {
				inLog[f.Path] = true
			}
			for _, name := range h.memory.Names() {
				if name[0] != '_' && !inLog[name] {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

// TestForgetAgainstOthers lets others commit between the reading and the commit, so that the commit
// conflicts.
func TestForgetAgainstOthers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 12))
	h := newFixture(t)
	all := visits(random, 150)
	h.write(h.open(), "shop", all, random)
	meddled := 0
	faulty := &warehousetest.Faulty{Objects: h.memory, Decide: func(do, _ string) warehousetest.Fault {
		if do == "put if absent" && meddled < 5 { // the commit is about to be written
			meddled++
			_, err := h.open().Compact(h.ctx, warehouse.Compaction{Target: 20_000 << meddled, AtOnce: 8})
			h.must(err)
		}
		return warehousetest.None
	}}
	w, err := warehouse.Open(h.ctx, faulty, warehouse.Options{Clock: func() time.Time { return h.now }, Temp: t.TempDir()})
	h.must(err)
	_, err = w.ErasePerson(h.ctx, "shop", warehouse.Person{UserID: "u2"})
	h.must(err)
	gone := map[analytics.VisitorKey]bool{}
	for _, r := range all {
		if r.UserID == "u2" {
			gone[visitorOf(r)] = true
		}
	}
	want := slices.DeleteFunc(slices.Clone(all), func(r *warehouse.EventRow) bool { return gone[visitorOf(r)] })
	if got := h.stored(h.open(), "shop"); !slices.Equal(texts(got), texts(want)) || meddled == 0 {
		t.Errorf("%d rows are left, want %d of %d; %d times others committed", len(got), len(want), len(all), meddled)
	}
}
