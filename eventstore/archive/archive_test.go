package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/archive"
	"github.com/onefold/onefold/eventstore/eventstoretest"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

type world struct {
	*testing.T
	ctx      context.Context
	db       *enginetest.DB
	table    *table.Table
	store    *eventstore.Store
	other    *eventstore.Store // of a program without archive, keys and chain
	turns    int
	archive  *archive.Archive
	dir      string
	keyStore *shred.KeyStore
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), db: enginetest.New(t), dir: t.TempDir()}
	w.must(shred.Schema.Ensure(w.ctx, w.db, "onefold"))
	w.table = table.New(w.db, "onefold", table.Options{Clock: w.db.Now})
	var err error
	w.archive, err = archive.Open(w.dir)
	w.must(err)
	w.keyStore, err = shred.New(w.table, shred.Options{Masters: []shred.Master{{ID: "m", Key: bytes.Repeat([]byte("m"), 32)}},
		Personal: []shred.Personal{{Event: "Registered", Subject: "who", Fields: []string{"name"}}}})
	w.must(err)
	w.store = w.open(w.archive.Read)
	w.other, err = eventstore.New(w.table, eventstore.Options{TypeShards: 4})
	w.must(err)
	return w
}

func (w *world) open(a eventstore.Archived) *eventstore.Store {
	w.Helper()
	s, err := eventstore.New(w.table, eventstore.Options{Chain: true, Archive: a, Secrets: w.keyStore.Secrets()})
	w.must(err)
	return s
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func order(n int) eventstore.ID { return eventstore.ID{Type: "order", ID: fmt.Sprint(n)} }

func (w *world) append(id eventstore.ID, events ...eventstore.NewEvent) {
	w.Helper()
	store := w.store
	if w.turns++; w.turns%2 == 0 && !slices.ContainsFunc(events, func(e eventstore.NewEvent) bool { return e.Type == "Registered" }) {
		store = w.other
	}
	_, err := store.Append(w.ctx, id, eventstore.Any(), events)
	w.must(err)
}

// orders writes n orders with ten events each.
func (w *world) orders(n int) {
	for i := range n {
		for k := range 10 {
			w.append(order(i), eventstore.NewEvent{Type: "Noted", Payload: fmt.Appendf(nil, `{"n":%d}`, k)})
		}
	}
}

func (w *world) write(o archive.WriteOptions) archive.Progress {
	w.Helper()
	p, err := w.archive.Write(w.ctx, w.store, archive.OfTypes(w.ctx, w.store, "order"), o)
	w.must(err)
	return p
}

// told returns everything that a read yields as text, and its error.
func told(events iter.Seq2[eventstore.Event, error]) (string, error) {
	var b strings.Builder
	for e, err := range events {
		if err != nil {
			return b.String(), err
		}
		e.Schema = max(e.Schema, 1)
		text, err := json.Marshal(e)
		if err != nil {
			return b.String(), err
		}
		fmt.Fprintf(&b, "%s %q\n", text, e.Payload)
	}
	return b.String(), nil
}

func (w *world) told(id eventstore.ID, options ...eventstore.ReadOption) string {
	w.Helper()
	text, err := told(w.store.Read(w.ctx, id, options...))
	w.must(err)
	return text
}

var tally = eventstore.Fold[map[string]int]{Version: 1, Apply: func(m map[string]int, e eventstore.Event) (map[string]int, error) {
	next := map[string]int{e.EventType + string(e.Payload): int(e.Seq)}
	for k, n := range m {
		next[k] += n
	}
	return next, nil
}}

func (w *world) snapshot(id eventstore.ID) {
	w.Helper()
	at, err := eventstore.Load(w.ctx, w.store, id, tally)
	w.must(err)
	_, err = eventstore.SaveSnapshot(w.ctx, w.store, tally, at)
	w.must(err)
}

func (w *world) sound() {
	w.Helper()
	for f, err := range fsck.Check(w.ctx, w.store, fsck.Options{Folds: map[string]fsck.Replay{"order": fsck.ReplayOf(tally)}}) {
		w.Errorf("fsck: %+v, %v", f, err)
	}
}

// Events read from an archive are identical, byte for byte, to those that were written to it.
func TestRoundTrip(t *testing.T) {
	w := newWorld(t)
	for _, payload := range []string{
		``, `{}`, `null`, `"text"`, `{"a": 1,  "b":[1, 2]}`, "{\"a\":\n1}", `{"<b>":"&amp; </script>"}`, "{\"sep\":\"\u2028\u2029\"}", `{"big":12345678901234567890.10}`,
		"no json", "\x00\xff binary", `{"dup":1,"dup":2}`, `{"u":"\u00e4\/"}`, strings.Repeat("x", 300<<10), ` {"spaced":true} `,
	} {
		w.append(order(1), eventstore.NewEvent{Type: "Noted", Payload: []byte(payload), OccurredAt: time.Date(1969, 1, 2, 3, 4, 5, 678e6, time.UTC),
			Envelope: eventstore.Envelope{Actor: "a\"<>", Correlation: "c", Causation: "d", Tenant: "t", Metadata: map[string]string{"k": "ä\n"}}})
	}
	w.append(order(1), eventstore.NewEvent{Type: "A", Schema: 3}, eventstore.NewEvent{Type: "B"})
	w.append(order(2), eventstore.NewEvent{Type: "Registered", Payload: []byte(`{"who":"w","name":"Lovelace"}`)})
	if p := w.write(archive.WriteOptions{}); p.Events != 18 || p.Aggregates != 2 || p.Segments != 1 {
		t.Errorf("%+v", p)
	}
	if p := w.write(archive.WriteOptions{}); p.Events != 0 || p.Segments != 0 {
		t.Errorf("again: %+v", p)
	}
	w.orders(4)
	if p := w.write(archive.WriteOptions{Spans: 2, NoParquet: true}); p.Events != 40 || p.Segments != 2 {
		t.Errorf("more: %+v", p)
	}
	again, err := archive.Open(w.dir)
	w.must(err)
	for _, a := range []*archive.Archive{w.archive, again} {
		w.must(a.Verify(w.ctx))
		for n := range 4 {
			have, err := told(a.Read(w.ctx, order(n), 1, w.version(order(n))))
			if want := w.told(order(n), eventstore.AsStored()); err != nil || have != want {
				t.Errorf("order %d: %v\n%s\nwant\n%s", n, err, have, want)
			}
		}
		if have, err := told(a.Read(w.ctx, order(1), 16, 18)); err != nil || strings.Count(have, "\n") != 3 {
			t.Errorf("16 to 18: %s, %v", have, err)
		}
		if _, err := told(a.Read(w.ctx, order(1), 27, 28)); !errors.Is(err, eventstore.ErrTruncated) {
			t.Errorf("more than there is: %v", err)
		}
	}
	w.isZstdOf(18 + 40)
}

func (w *world) version(id eventstore.ID) int64 {
	h, err := w.store.Head(w.ctx, id)
	w.must(err)
	return h.Version
}

// isZstdOf checks with other readers that the files have the given number of lines and rows.
func (w *world) isZstdOf(lines int) {
	w.Helper()
	found := 0
	files, err := filepath.Glob(filepath.Join(w.dir, "*", "events.jsonl.zst"))
	w.must(err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		w.must(err)
		z, err := zstd.NewReader(bytes.NewReader(b))
		w.must(err)
		text, err := io.ReadAll(z)
		w.must(err)
		z.Close()
		found += bytes.Count(text, []byte("\n"))
		if bytes.Contains(text, []byte("Lovelace")) {
			w.Error("an archive has a name")
		}
	}
	if found != lines {
		w.Errorf("%d lines, want %d", found, lines)
	}
	files, err = filepath.Glob(filepath.Join(w.dir, "*", "events.parquet"))
	if err != nil || len(files) != 1 {
		w.Fatal(files, err)
	}
	type some struct {
		Type    string    `parquet:"aggregate_type"`
		Seq     int64     `parquet:"seq"`
		At      time.Time `parquet:"occurred_at,timestamp(millisecond)"`
		Payload []byte    `parquet:"payload"`
	}
	rows, err := parquet.ReadFile[some](files[0])
	if err != nil || len(rows) != 18 {
		w.Fatal(len(rows), err)
	}
	if r := rows[4]; r.Type != "order" || r.Seq != 5 || string(r.Payload) != `{"a": 1,  "b":[1, 2]}` || r.At.Year() != 1969 {
		w.Errorf("%+v", r)
	}
}

// Readers get the same events before and after a truncation, and the table passes the check.
func TestTruncate(t *testing.T) {
	w := newWorld(t)
	w.orders(2)
	w.snapshot(order(0))
	w.write(archive.WriteOptions{})
	want := w.told(order(0), eventstore.Verified())
	for _, keep := range []int64{3, 2, 3, 9, 10} {
		done, err := archive.Truncate(w.ctx, w.store, w.archive, tally, order(0), keep)
		if err != nil || done.FirstKept < keep {
			t.Fatalf("%+v, %v", done, err)
		}
		if have := w.told(order(0), eventstore.Verified()); have != want {
			t.Fatalf("kept from %d: %s, want %s", keep, have, want)
		}
		w.db.Advance(time.Hour)
		w.sound()
	}
	if _, err := told(w.open(nil).Read(w.ctx, order(0))); !errors.Is(err, eventstore.ErrTruncated) {
		t.Errorf("without the archive: %v", err)
	}
	if at, err := eventstore.Load(w.ctx, w.open(nil), order(0), tally); err != nil || at.Version != 10 || at.Read != 0 {
		t.Errorf("load: %+v, %v", at, err)
	}
	w.append(order(0), eventstore.NewEvent{Type: "Noted"})
	other := tally
	other.Version = 2
	if at, err := eventstore.Load(w.ctx, w.store, order(0), other); err != nil || at.Read != 11 {
		t.Errorf("load by another fold: %+v, %v", at, err)
	}
	w.write(archive.WriteOptions{})
	w.must(w.archive.Verify(w.ctx))
	w.sound()
}

// Events that cannot be restored are not deleted.
func TestTruncateErrors(t *testing.T) {
	snapshot, written := func(w *world) { w.snapshot(order(0)) }, func(w *world) { w.write(archive.WriteOptions{}) }
	for name, c := range map[string]struct {
		before []func(*world)
		keep   int64
		is     error
	}{
		"no snapshot":   {[]func(*world){written}, 5, archive.ErrNoSnapshot},
		"not archived":  {[]func(*world){snapshot}, 5, archive.ErrNotArchived},
		"all":           {[]func(*world){snapshot, written}, 11, eventstore.ErrInvalid},
		"none":          {[]func(*world){snapshot, written}, 1, eventstore.ErrInvalid},
		"negative":      {[]func(*world){snapshot, written}, -1, eventstore.ErrInvalid},
		"another store": {[]func(*world){snapshot, written, func(w *world) { w.Chdir(w.TempDir()); w.dir = "."; w.reopen() }}, 5, archive.ErrNotArchived},
		"old snapshot": {[]func(*world){snapshot, func(w *world) {
			for range 5 {
				w.append(order(0), eventstore.NewEvent{Type: "Noted"})
			}
		}, written}, 12, archive.ErrNoSnapshot},
		"another reducer": {[]func(*world){snapshot, written, func(w *world) {
			w.change(func(s *eventstore.Snapshot) { s.Reducer = 2 })
		}}, 5, archive.ErrNoSnapshot},
		"a wrong snapshot": {[]func(*world){snapshot, written, func(w *world) {
			w.change(func(s *eventstore.Snapshot) { s.State = []byte(`{"Noted":1}`) })
		}}, 5, archive.ErrWrongSnapshot},
		"no such stream": {[]func(*world){func(w *world) {
			w.must(eventstore.Heads.Delete(w.ctx, w.table, order(0)))
		}}, 5, table.ErrNotFound},
		"a damaged archive": {[]func(*world){snapshot, written, func(w *world) { w.damage("events.jsonl.zst", 40) }}, 5, archive.ErrDamaged},
		"a damaged table": {[]func(*world){snapshot, written, func(w *world) {
			eventstoretest.Remove(w, w.table, order(0), 3)
		}}, 5, eventstore.ErrHole},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.orders(1)
			for _, f := range c.before {
				f(w)
			}
			before := w.events(order(0))
			if _, err := archive.Truncate(w.ctx, w.store, w.archive, tally, order(0), c.keep); !errors.Is(err, c.is) {
				t.Errorf("%v, want %v", err, c.is)
			}
			if w.events(order(0)) != before {
				t.Error("events were deleted")
			}
		})
	}
}

func (w *world) events(id eventstore.ID) int {
	w.Helper()
	n := 0
	h, err := eventstore.Heads.Get(w.ctx, w.table, id)
	if err == nil {
		n = count(h.Records)
	} else if !errors.Is(err, table.ErrNotFound) {
		w.Fatal(err)
	}
	for p, err := range eventstore.PagesFrom.All(w.ctx, w.table, eventstore.PagesIn{ID: id, From: 1, To: eventstore.EndOfStream}) {
		w.must(err)
		if p.First < h.First || h.Version == 0 {
			n += count(p.Records)
		}
	}
	return n
}

// count returns the number of events in records.
func count(records []eventstore.Record) (n int) {
	for _, r := range records {
		if info, err := r.Info(); err == nil {
			n += info.N
		}
	}
	return n
}

func (w *world) reopen() {
	w.Helper()
	var err error
	w.archive, err = archive.Open(w.dir)
	w.must(err)
	w.store = w.open(w.archive.Read)
}

func (w *world) change(change func(*eventstore.Snapshot)) {
	w.Helper()
	_, err := eventstore.Snapshots.Modify(w.ctx, w.table, eventstore.SnapshotKey{ID: order(0)}, func(s *eventstore.Snapshot) error {
		change(s)
		return nil
	})
	w.must(err)
}

// damage changes a byte of a file, or truncates the file there if the place is negative.
func (w *world) damage(name string, at int) {
	w.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "*", name))
	if err != nil || len(files) == 0 {
		w.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	w.must(err)
	if at < 0 {
		b = b[:len(b)+at]
	} else {
		b[at%len(b)] ^= 0x20
	}
	w.must(os.WriteFile(files[0], b, 0o600))
}

func TestTruncateWithoutArchive(t *testing.T) {
	w := newWorld(t)
	w.orders(1)
	w.snapshot(order(0))
	done, err := archive.Truncate(w.ctx, w.store, nil, tally, order(0), 8)
	if err != nil || done.Deleted != 7 {
		t.Fatalf("%+v, %v", done, err)
	}
	w.db.Advance(time.Hour)
	w.sound()
	if _, err := told(w.store.Read(w.ctx, order(0))); !errors.Is(err, eventstore.ErrTruncated) {
		t.Error(err)
	}
	w.append(order(1), eventstore.NewEvent{Type: "Registered", Payload: []byte(`{"who":"w","name":"Ada"}`)}, eventstore.NewEvent{Type: "Noted"})
	w.snapshot(order(1))
	if _, err := archive.Truncate(w.ctx, w.store, nil, tally, order(1), 2); !errors.Is(err, archive.ErrPersonal) {
		t.Error(err)
	}
}

// Forgetting also applies to what was archived before.
func TestErasedPersonInArchive(t *testing.T) {
	w := newWorld(t)
	w.append(order(0), eventstore.NewEvent{Type: "Registered", Payload: []byte(`{"who":"w","name":"Lovelace"}`)}, eventstore.NewEvent{Type: "Noted"})
	w.snapshot(order(0))
	w.write(archive.WriteOptions{})
	_, err := archive.Truncate(w.ctx, w.store, w.archive, tally, order(0), 2)
	w.must(err)
	if strings.Contains(w.told(order(0)), "$sealed") || !strings.Contains(w.told(order(0), eventstore.AsStored()), "$sealed") {
		t.Error(w.told(order(0)))
	}
	before, err := eventstore.Load(w.ctx, w.store, order(0), tally)
	if err != nil || before.State[`Registered{"name":"Lovelace","who":"w"}`] != 1 {
		t.Errorf("%+v, %v", before, err)
	}
	_, err = w.keyStore.Erase(w.ctx, "w")
	w.must(err)
	after, err := eventstore.Load(w.ctx, w.store, order(0), tally)
	if err != nil || after.Read != 2 || after.State[`Registered{"name":"[forgotten]","who":"w"}`] != 1 {
		t.Errorf("%+v, %v", after, err)
	}
}

// Wherever a truncation stops, reads return the same, and the next truncation continues.
func TestTruncateStopsAnywhere(t *testing.T) {
	for _, effect := range []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer} {
		for nth := 1; ; nth++ {
			w := newWorld(t)
			for range 7 {
				w.append(order(0), slices.Repeat([]eventstore.NewEvent{{Type: "Noted", Payload: []byte(`{}`)}}, 10)...)
			}
			w.snapshot(order(0))
			w.write(archive.WriteOptions{NoParquet: true})
			want := w.told(order(0))
			w.db.Inject(enginetest.Fault{Effect: effect, Nth: nth})
			_, err := archive.Truncate(w.ctx, w.store, w.archive, tally, order(0), 66)
			hits := w.db.Hits()
			w.db.Heal()
			for again := range 2 {
				if have := w.told(order(0), eventstore.Verified()); have != want {
					t.Fatalf("effect %v, request %d, round %d: %s", effect, nth, again, have)
				}
				if err != nil {
					_, err = archive.Truncate(w.ctx, w.store, w.archive, tally, order(0), 66)
					w.must(err)
				}
			}
			if n := w.events(order(0)); n != 5 {
				t.Fatalf("effect %v, request %d: %d events are left", effect, nth, n)
			}
			w.db.Advance(time.Hour)
			w.sound()
			if hits == 0 {
				break
			}
		}
	}
}

// A segment exists completely or not at all, and a writer that continues after a crash writes what
// is missing.
func TestWriteStopsAnywhere(t *testing.T) {
	w := newWorld(t)
	w.orders(5)
	failed := 0
	for nth := 1; ; nth++ {
		w.dir = t.TempDir()
		w.reopen()
		w.db.Inject(enginetest.Fault{Effect: enginetest.Fail, Nth: nth})
		_, err := w.archive.Write(w.ctx, w.store, archive.OfTypes(w.ctx, w.store, "order"), archive.WriteOptions{Spans: 2, NoParquet: true})
		w.db.Heal()
		if err == nil {
			break
		}
		failed++
		w.reopen()
		w.must(w.archive.Verify(w.ctx))
		w.write(archive.WriteOptions{Spans: 2, NoParquet: true})
		for n := range 5 {
			if have := w.archive.Has(order(n), 1); have != 10 {
				t.Fatalf("request %d: order %d is there to %d", nth, n, have)
			}
		}
		w.must(w.archive.Verify(w.ctx))
	}
	if failed < 5 {
		t.Errorf("only %d requests failed", failed)
	}
}

// Temporary files left by a crashed process are removed after a day, and those of a running one are
// not.
func TestSweep(t *testing.T) {
	w := newWorld(t)
	w.orders(1)
	old, young := ".partial-01ARZ3NDEKTSV4RRFFQ69G5FAV", ".partial-7ZZZZZZZZZ0000000000000000"
	for _, name := range []string{old, young, "something else"} {
		w.must(os.MkdirAll(filepath.Join(w.dir, name), 0o700))
		w.must(os.WriteFile(filepath.Join(w.dir, name, "manifest.json"), []byte("{"), 0o600))
	}
	w.reopen()
	w.write(archive.WriteOptions{})
	for name, gone := range map[string]bool{old: true, young: false, "something else": false} {
		if _, err := os.Stat(filepath.Join(w.dir, name)); errors.Is(err, os.ErrNotExist) != gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Damage is always reported.
func TestDamage(t *testing.T) { seeds.Run(t, 1, damage) }

func damage(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.orders(3)
	for range 40 {
		w.dir = t.TempDir()
		w.reopen()
		w.write(archive.WriteOptions{})
		want := w.told(order(1), eventstore.AsStored())
		name := []string{"events.jsonl.zst", "events.jsonl.zst", "events.parquet", "manifest.json"}[r.IntN(4)]
		at := r.IntN(1 << 20)
		if r.IntN(4) == 0 {
			at = -1 - r.IntN(20)
		}
		w.damage(name, at)
		a, err := archive.Open(w.dir)
		if err == nil {
			err = a.Verify(w.ctx)
			have, readErr := told(a.Read(w.ctx, order(1), 1, 10))
			if readErr == nil && have != want && name == "events.jsonl.zst" {
				t.Errorf("%s at %d: read %s", name, at, have)
			}
		}
		if err == nil && name != "manifest.json" || err != nil && !errors.Is(err, archive.ErrDamaged) && !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s at %d: %v", name, at, err)
		}
	}
}

// Repeated writing and truncating during appends loses nothing.
func TestUnderLoad(t *testing.T) {
	w := newWorld(t)
	w.orders(1)
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 150 && err == nil; i++ {
			_, err = w.store.Append(w.ctx, order(0), eventstore.Any(), []eventstore.NewEvent{{Type: "Noted", Payload: fmt.Appendf(nil, `{"n":%d}`, i%7)}})
		}
		done <- err
	}()
	for running := true; running; {
		select {
		case err := <-done:
			w.must(err)
			running = false
		default:
		}
		w.write(archive.WriteOptions{NoParquet: true})
		w.snapshot(order(0))
		has := w.archive.Has(order(0), 1)
		if _, err := archive.Truncate(w.ctx, w.store, w.archive, tally, order(0), has); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(w.told(order(0), eventstore.Verified()), "\n"); int64(n) < has {
			t.Fatalf("%d events are read, %d are archived", n, has)
		}
	}
	if n := strings.Count(w.told(order(0), eventstore.Verified()), "\n"); n != 160 {
		t.Errorf("%d events", n)
	}
	w.db.Advance(time.Hour)
	w.sound()
}
