package warehouse_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/warehousetest"
)

var noon = time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)

// fixture is an in-memory warehouse with its own clock.
type fixture struct {
	*testing.T
	ctx    context.Context
	memory *warehousetest.Memory
	now    time.Time
}

func newFixture(t *testing.T) *fixture {
	return &fixture{T: t, ctx: t.Context(), memory: warehousetest.NewMemory(), now: noon}
}

func (h *fixture) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *fixture) open() *warehouse.Warehouse {
	h.Helper()
	w, err := warehouse.Open(h.ctx, h.memory, warehouse.Options{Clock: func() time.Time { return h.now }, Temp: h.TempDir()})
	h.must(err)
	return w
}

// file writes n events of a site, one per second from a time on.
func (h *fixture) file(w *warehouse.Warehouse, site string, from time.Time, n int) warehouse.File {
	h.Helper()
	var rows []warehouse.Row
	for i := range n {
		at := from.Add(time.Duration(i) * time.Second).UnixMilli()
		rows = append(rows, &warehouse.EventRow{Time: at, EventID: fmt.Sprintf("%013d%s", at, site), Kind: "pageview", Path: fmt.Sprint("/", i)})
	}
	f, ok, err := w.WriteFile(h.ctx, warehouse.PartitionOf(warehouse.Events, site, from.UnixMilli()), warehouse.Sorted(rows))
	h.must(err)
	if !ok || f.Rows != int64(n) {
		h.Fatalf("%+v", f)
	}
	return f
}

func (h *fixture) commit(w *warehouse.Warehouse, e *warehouse.Entry) {
	h.Helper()
	h.must(w.Commit(h.ctx, w.Version(), e))
}

// The log stays small, and everyone who opens it at any time gets the same state.
func TestLog(t *testing.T) {
	h := newFixture(t)
	w, late := h.open(), h.open()
	var last warehouse.File
	for i := range 400 {
		h.now = h.now.Add(20 * time.Minute)
		e := &warehouse.Entry{Why: "export", Positions: map[string]warehouse.Position{fmt.Sprint("s", i%3): {After: fmt.Sprint(i)}}}
		if i%40 == 0 {
			last = h.file(w, "a b/ü", h.now, 5)
			e.Add = []warehouse.File{last}
		}
		if i%120 == 81 {
			e.Add, e.Remove = nil, []string{last.Path}
		}
		h.commit(w, e)
		if i%150 == 0 {
			h.must(late.Refresh(h.ctx))
		}
		if opened := h.open(); opened.Version() != w.Version() || len(opened.Files()) != len(w.Files()) {
			t.Fatalf("at %d: version %d, %d files", i, opened.Version(), len(opened.Files()))
		}
	}
	h.must(late.Refresh(h.ctx))
	if a, b := fmt.Sprintf("%+v", late.Status()), fmt.Sprintf("%+v", w.Status()); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if !slices.Equal(late.Files(), w.Files()) || len(w.Files()) == 0 || w.Files()[0].Partition.Key != "a b/ü" {
		t.Errorf("%+v", w.Files())
	}
	names := slices.DeleteFunc(h.memory.Names(), func(n string) bool { return !strings.HasPrefix(n, "_log/") })
	if len(names) > 64+24*3+64+8 {
		t.Errorf("the log has %d objects", len(names))
	}
}

// If two writers commit, the second commit follows the first, unless they conflict.
func TestConflicts(t *testing.T) {
	h := newFixture(t)
	first := h.open()
	f := h.file(first, "s", noon, 3)
	h.commit(first, &warehouse.Entry{Why: "export", Add: []warehouse.File{f}})
	at := func(v string) map[string]warehouse.Position { return map[string]warehouse.Position{"s": {After: v}} }
	for i, c := range []struct {
		one, other warehouse.Entry
		fails      bool
	}{
		{warehouse.Entry{Positions: at("1")}, warehouse.Entry{Positions: at("1")}, true},
		{warehouse.Entry{Positions: at("1")}, warehouse.Entry{Why: "compact"}, false},
		{warehouse.Entry{Why: "compact"}, warehouse.Entry{Positions: at("2")}, false},
		{warehouse.Entry{Fence: true}, warehouse.Entry{Why: "compact"}, true},
		{warehouse.Entry{Repaired: true}, warehouse.Entry{Positions: at("2")}, true},
		{warehouse.Entry{Remove: []string{f.Path}}, warehouse.Entry{Remove: []string{f.Path}}, true},
	} {
		a, b := h.open(), h.open()
		h.commit(a, &c.one)
		if err := b.Commit(h.ctx, b.Version(), &c.other); errors.Is(err, warehouse.ErrConflict) != c.fails {
			t.Errorf("%d: %v", i, err)
		}
		if v := h.open().Version(); b.Version() != v {
			t.Errorf("%d: it has read %d of %d", i, b.Version(), v)
		}
	}
}

// A sweep deletes files that no commit names, and makes later commits with such files fail.
func TestSweep(t *testing.T) {
	h := newFixture(t)
	w, other := h.open(), h.open()
	h.commit(w, &warehouse.Entry{Why: "export", Add: []warehouse.File{h.file(w, "s", noon, 3)}})
	h.must(other.Refresh(h.ctx))
	base, orphan := other.Version(), h.file(other, "s", noon.Add(time.Hour), 3)
	if n, err := w.Sweep(h.ctx); n != 1 || err != nil {
		t.Errorf("swept %d: %v", n, err)
	}
	if err := other.Commit(h.ctx, base, &warehouse.Entry{Why: "export", Add: []warehouse.File{orphan}}); !errors.Is(err, warehouse.ErrConflict) {
		t.Errorf("a commit of what was swept: %v", err)
	}
	if n, err := w.Sweep(h.ctx); n != 0 || err != nil {
		t.Errorf("swept %d: %v", n, err)
	}
	for r, err := range h.open().Rows(h.ctx, w.Files()[0]) {
		h.must(err)
		if r.Key().At < noon.UnixMilli() {
			t.Error(r)
		}
	}
}

// Joining keeps every row, in order, and readers continue in the joined files.
func TestCompact(t *testing.T) {
	h := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	w := h.open()
	rows := int64(0)
	for i := range 70 {
		n := 1 + random.IntN(30)
		f := h.file(w, "s", noon.Add(time.Duration(i)*30*time.Second), n)
		h.commit(w, &warehouse.Entry{Why: "export", Add: []warehouse.File{f}})
		rows += f.Rows
	}
	// Events in different files at the same second are the same facts here, so each run has only
	// those of the first 30 seconds.
	reader := h.open()
	read := func(stop int, then func()) (keys []warehouse.Key) {
		for e, err := range reader.Events(h.ctx, "s", noon, noon.Add(time.Hour)) {
			h.must(err)
			if keys = append(keys, e.Key()); len(keys) == stop {
				then()
			}
		}
		return keys
	}
	before := read(0, nil)
	if int64(len(before)) != rows || !slices.IsSortedFunc(before, warehouse.Key.Compare) {
		t.Fatalf("%d of %d rows", len(before), rows)
	}
	h.now = noon.Add(48 * time.Hour)
	between := read(200, func() {
		done, err := w.Compact(h.ctx, warehouse.Compaction{AtOnce: 10})
		h.must(err)
		if done.Joined < 70 || len(w.Files()) != 1 {
			t.Errorf("%+v, %d files", done, len(w.Files()))
		}
	})
	if !slices.Equal(between, before) {
		t.Errorf("%d rows while they were joined, of %d", len(between), len(before))
	}
	if done, err := w.Compact(h.ctx, warehouse.Compaction{}); err != nil || done.Joined > 0 {
		t.Errorf("again: %+v, %v", done, err)
	}
	h.must(w.Verify(h.ctx, w.Files()[0]))
}

// Damaged objects, and those of a later program, are reported, and nothing panics.
func TestDamaged(t *testing.T) {
	h := newFixture(t)
	w := h.open()
	f := h.file(w, "s", noon, 2000)
	h.commit(w, &warehouse.Entry{Why: "export", Add: []warehouse.File{f}})
	random := rand.New(rand.NewPCG(seeds.One(t), 0))
	good := content(h, f.Path)
	for range 150 {
		bad := slices.Clone(good)
		for range 1 + random.IntN(4) {
			bad[random.IntN(len(bad))] ^= byte(1 + random.IntN(255))
		}
		h.must(h.memory.Put(h.ctx, f.Path, strings.NewReader(string(bad))))
		if err := w.Verify(h.ctx, f); !errors.Is(err, warehouse.ErrDamaged) {
			t.Fatalf("verify: %v", err)
		}
		for _, rows := range []iter.Seq2[warehouse.Row, error]{w.Rows(h.ctx, f), w.Keys(h.ctx, f, random.Int64(), math.MaxInt64)} {
			for _, err := range rows {
				if err != nil {
					break
				}
			}
		}
	}
	for text, want := range map[string]error{
		"": warehouse.ErrDamaged, "{}": warehouse.ErrDamaged, `{"format":9,"version":2}`: warehouse.ErrFormat,
		`{"format":1,"version":2,"remove":["x"]}`:             warehouse.ErrDamaged,
		`{"format":1,"version":2,"add":[{"path":"../../x"}]}`: warehouse.ErrDamaged,
		`{"format":1,"version":7}`:                            warehouse.ErrDamaged,
	} {
		h.must(h.memory.Put(h.ctx, "_log/00000000000000000002.json", strings.NewReader(text)))
		if _, err := warehouse.Open(h.ctx, h.memory, warehouse.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func content(h *fixture, name string) []byte {
	o, err := h.memory.Open(h.ctx, name)
	h.must(err)
	b := make([]byte, o.Size())
	_, err = o.ReadAt(b, 0)
	h.must(err)
	return b
}

// Files that a commit removes are deleted, even if the deletion fails at first, and even if the
// response to the commit is lost.
func TestRemovedFilesGo(t *testing.T) {
	h := newFixture(t)
	var fails int
	faulty := &warehousetest.Faulty{Objects: h.memory, Decide: func(do, _ string) warehousetest.Fault {
		if do == "delete" && fails > 0 {
			fails--
			return warehousetest.Before
		}
		return warehousetest.None
	}}
	w, err := warehouse.Open(h.ctx, unheard{faulty}, warehouse.Options{Clock: func() time.Time { return h.now }, Temp: h.TempDir()})
	h.must(err)
	f, g := h.file(w, "s", noon, 10), h.file(w, "s", noon, 20)
	commit := func(e *warehouse.Entry) {
		e.Why = "export"
		h.must(w.Commit(h.ctx, w.Version(), e))
	}
	commit(&warehouse.Entry{Add: []warehouse.File{f, g}})
	fails = 1
	commit(&warehouse.Entry{Remove: []string{f.Path}})
	if !slices.Contains(h.memory.Names(), f.Path) {
		t.Fatal("nothing failed")
	}
	commit(&warehouse.Entry{Remove: []string{g.Path}})
	for _, name := range h.memory.Names() {
		if !strings.HasPrefix(name, "_log/") {
			t.Errorf("%s is still there", name)
		}
	}
}

// unheard does what PutIfAbsent does, but reports that another writer was first, as if the response
// to a first attempt was lost.
type unheard struct{ warehouse.Objects }

func (u unheard) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if err := u.Objects.PutIfAbsent(ctx, name, body); err != nil {
		return err
	}
	return warehouse.ErrExists
}
