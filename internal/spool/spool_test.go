package spool

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// disk creates files that fail on request, and knows what would survive a power loss.
type disk struct {
	mu     sync.Mutex
	synced map[string]int64
	fail   func(op string) error
}

type diskFile struct {
	*os.File
	d       *disk
	written int64
}

func (d *disk) create(name string) (file, error) {
	if err := d.fails("create"); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	return &diskFile{File: f, d: d}, err
}

func (d *disk) fails(op string) error {
	if d.fail == nil {
		return nil
	}
	return d.fail(op)
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.d.fails("write"); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], off) // a full disk writes a part
		return n, err
	}
	n, err := f.File.WriteAt(p, off)
	f.written = off + int64(n)
	return n, err
}

func (f *diskFile) Sync() error {
	if err := f.d.fails("sync"); err != nil {
		return err
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.synced[f.Name()] = f.written
	return nil
}

// lost copies a directory as a power loss may leave it: of the data that was not synced, some
// exists and some does not.
func (d *disk) lost(t *testing.T, r *rand.Rand, dir string) string {
	t.Helper()
	to := t.TempDir()
	names, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range names {
		from := filepath.Join(dir, e.Name())
		b, err := os.ReadFile(from)
		must(t, err)
		if synced, ours := d.synced[from]; ours && int64(len(b)) > synced {
			b = b[:synced+r.Int64N(int64(len(b))-synced+1)]
			if r.IntN(2) == 0 {
				b = append(b, make([]byte, r.IntN(40))...)
			}
		}
		if e.Name() == "POSITION" && r.IntN(3) == 0 {
			continue
		}
		must(t, os.WriteFile(filepath.Join(to, e.Name()), b, 0o600))
	}
	return to
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func bodyOf(n int) []byte {
	return []byte(fmt.Sprintf("%06d%s", n, strings.Repeat("x", n*7919%300)))
}

// model is the expected content of a spool: numbers of records, in order.
type model struct {
	*testing.T
	s        *Spool
	d        *disk
	o        Options
	dir      string
	r        *rand.Rand
	sent     int
	waiting  []int        // acknowledged and not done
	doubtful map[int]bool // not acknowledged, or done before a crash: they may be returned
}

// TestModel runs random operations on a spool, with failing disks and power losses, and compares it
// with a list.
func TestModel(t *testing.T) {
	for range 8 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := &disk{synced: map[string]int64{}}
			m := &model{T: t, d: d, o: Options{MaxBytes: 60_000, SegmentBytes: 4000, create: d.create}, dir: t.TempDir(), r: rand.New(rand.NewPCG(seed, 0)), doubtful: map[int]bool{}}
			m.open()
			for range 300 {
				switch n := m.r.IntN(20); {
				case n < 10:
					m.append()
				case n < 17:
					m.drain(1 + m.r.IntN(40))
				case n < 18:
					must(t, m.s.Close())
					m.open()
				default:
					m.crash()
				}
			}
			m.drain(1 << 20)
			if m.s.Waiting() || len(m.waiting) > 0 {
				t.Errorf("%d are left, the spool holds %+v", len(m.waiting), m.s.Stats())
			}
			must(t, m.s.Close())
		})
	}
}

func (m *model) open() {
	m.Helper()
	s, err := Open(m.dir, m.o)
	must(m.T, err)
	m.s = s
}

// crash simulates a power loss: records done since the position was last stored may be returned
// again.
func (m *model) crash() {
	dir := m.d.lost(m.T, m.r, m.dir)
	must(m.T, m.s.Close())
	for n := range m.sent {
		if !slices.Contains(m.waiting, n) {
			m.doubtful[n] = true
		}
	}
	m.dir = dir
	m.open()
}

func (m *model) append() {
	m.Helper()
	if m.r.IntN(5) == 0 {
		op, err := []string{"create", "write", "sync"}[m.r.IntN(3)], syscall.ENOSPC
		m.d.fail = func(o string) error {
			if o == op {
				return err
			}
			return nil
		}
		defer func() { m.d.fail = nil }()
	}
	var records []Record
	var numbers []int
	for range 1 + m.r.IntN(5) {
		records, numbers = append(records, Record{Kind: 'k', At: time.UnixMilli(int64(m.sent)), Body: bodyOf(m.sent)}), append(numbers, m.sent)
		m.sent++
	}
	switch err := m.s.Append(m.Context(), records); {
	case err == nil:
		m.waiting = append(m.waiting, numbers...)
	case errors.Is(err, ErrFull), errors.Is(err, syscall.ENOSPC):
		for _, n := range numbers {
			m.doubtful[n] = true
		}
	default:
		m.Fatal(err)
	}
	if st := m.s.Stats(); st.Bytes > m.o.MaxBytes {
		m.Fatalf("%d bytes of %d", st.Bytes, m.o.MaxBytes)
	}
}

func (m *model) drain(most int) {
	m.Helper()
	for most > 0 {
		records, pos, err := m.s.Peek(min(most, 16))
		must(m.T, err)
		if len(records) == 0 {
			return
		}
		most -= len(records)
		for _, r := range records {
			var n int
			fmt.Sscanf(string(r.Body), "%06d", &n)
			switch {
			case r.Kind != 'k' || string(r.Body) != string(bodyOf(n)) || r.At.UnixMilli() != int64(n):
				m.Fatalf("record %d is not what was kept", n)
			case len(m.waiting) > 0 && m.waiting[0] == n:
				m.waiting = m.waiting[1:]
			case slices.Contains(m.waiting, n):
				m.Fatalf("record %d comes before %d", n, m.waiting[0])
			case !m.doubtful[n]:
				m.Fatalf("record %d was done", n)
			}
		}
		must(m.T, m.s.Done(pos))
	}
}

// A damaged record loses only itself, wherever the damage is.
func TestDamage(t *testing.T) {
	const records = 50
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	must(t, err)
	for n := range records {
		must(t, s.Append(t.Context(), []Record{{Kind: 'k', Body: bodyOf(n)}}))
	}
	must(t, s.Close())
	names, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	must(t, err)
	whole, err := os.ReadFile(names[0])
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := slices.Clone(whole)
		b[int(headBytes)+r.IntN(len(b)-int(headBytes))] ^= byte(1 + r.IntN(255))
		must(t, os.WriteFile(names[0], b, 0o600))
		s, err := Open(dir, Options{})
		must(t, err)
		out, pos, err := s.Peek(1000)
		must(t, err)
		for more := out; len(more) > 0; {
			must(t, s.Done(pos))
			more, pos, err = s.Peek(1000)
			must(t, err)
			out = append(out, more...)
		}
		st := s.Stats()
		if len(out) != records-1 || st.Damaged+st.Torn == 0 || s.Waiting() {
			t.Fatalf("%d records came out, %+v", len(out), st)
		}
		must(t, s.Close())
		must(t, os.RemoveAll(filepath.Join(dir, "POSITION")))
	}
	must(t, os.WriteFile(filepath.Join(dir, "0000000000000001.seg"), []byte("something else"), 0o600))
	if s, err = Open(dir, Options{}); err != nil || s.Waiting() {
		t.Fatal(err)
	}
	must(t, s.Close())
}

// Many append concurrently while another drains: all records come out once, in the order of each
// writer.
func TestConcurrentUse(t *testing.T) {
	s, err := Open(t.TempDir(), Options{SegmentBytes: 20_000})
	must(t, err)
	if _, err := Open(s.dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process: %v", err)
	}
	const writers, each = 8, 200
	next, total := [writers]int{}, atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	d := Drain{Spool: s, Rate: 1e9, Batch: 32, Sinks: map[byte]Sink{'k': func(_ context.Context, bodies [][]byte) ([][]byte, error) {
		if rand.IntN(10) == 0 {
			return nil, errors.New("not now")
		}
		for _, b := range bodies {
			var w, n int
			if _, err := fmt.Sscanf(string(b), "%d %d", &w, &n); err != nil || next[w] != n {
				t.Errorf("%q when %d is next: %v", b, next[w], err)
			}
			next[w]++
			total.Add(1)
		}
		if total.Load() == writers*each {
			cancel()
		}
		return nil, nil
	}}, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for n := range each {
				if err := s.Append(t.Context(), []Record{{Kind: 'k', Body: fmt.Appendf(nil, "%d %d", w, n)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	err = d.Run(ctx)
	wait.Wait()
	if !errors.Is(err, context.Canceled) || total.Load() != writers*each || s.Waiting() {
		t.Errorf("%v, %d drained, %+v", err, total.Load(), s.Stats())
	}
	must(t, s.Close())
	if err := s.Append(t.Context(), []Record{{}}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A drain keeps its rate, catches up with faster arrivals, and puts aside what no sink accepts.
func TestDrainRate(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(dir, Options{})
		must(t, err)
		add := func(n int) {
			records := make([]Record, n)
			for i := range records {
				records[i] = Record{Kind: 'k', At: time.Now(), Body: []byte(`{"n":1}`)}
			}
			must(t, s.Append(t.Context(), records))
		}
		add(10_000)
		done := 0
		d := &Drain{Spool: s, Rate: 1000, Sinks: map[byte]Sink{'k': func(_ context.Context, bodies [][]byte) ([][]byte, error) {
			if done += len(bodies); done == len(bodies) {
				return bodies[:1], nil
			}
			return nil, nil
		}}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Run(ctx) }()
		began := time.Now()
		for s.Waiting() {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("10,000 records took %s", took)
		}
		add(10_000)
		for range 100 { // 3,000 per second arrive while they wait
			time.Sleep(100 * time.Millisecond)
			add(300)
		}
		if n := s.Stats().Records; n > 1000 {
			t.Errorf("%d wait after ten seconds", n)
		}
		cancel()
		<-ended
		if aside, err := os.ReadFile(s.refusedFile()); err != nil || string(aside) != "{\"n\":1}\n" || d.Refused() != 1 {
			t.Errorf("put aside: %q, %v", aside, err)
		}
		must(t, s.Close())
	})
}

// A disk that cannot be read for a while delays a drain, and does not end it.
func TestDrainOutlivesTheDisk(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	must(t, err)
	must(t, s.Append(t.Context(), []Record{{Kind: 'k', Body: []byte("a")}}))
	name, away := s.path(s.segments[0].number), filepath.Join(t.TempDir(), "away")
	must(t, os.Rename(name, away))
	ctx, cancel := context.WithCancel(t.Context())
	done, slept := 0, 0
	d := &Drain{Spool: s, Sinks: map[byte]Sink{'k': func(_ context.Context, bodies [][]byte) ([][]byte, error) {
		done += len(bodies)
		cancel()
		return nil, nil
	}}, Sleep: func(ctx context.Context, _ time.Duration) error {
		if slept++; slept == 3 {
			must(t, os.Rename(away, name))
		}
		return ctx.Err()
	}}
	if err := d.Run(ctx); !errors.Is(err, context.Canceled) || done != 1 || d.Failures() != 3 || s.Waiting() {
		t.Errorf("%v, %d drained after %d failures", err, done, d.Failures())
	}
	must(t, s.Close())
}

// Records for one store are not given to another, nor ignored by a process that does not use them.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{For: "a"})
	must(t, err)
	must(t, s.Close())
	s, err = Open(dir, Options{For: "b"}) // nothing waited
	must(t, err)
	must(t, s.Append(t.Context(), []Record{{Kind: 'k', Body: []byte("x")}}))
	if n, _, err := Left(dir); n != 0 || err != nil {
		t.Errorf("while it is in use: %d, %v", n, err)
	}
	must(t, s.Close())
	if _, err := Open(dir, Options{For: "a"}); !errors.Is(err, ErrOther) {
		t.Errorf("another's: %v", err)
	}
	if n, what, err := Left(dir); n != 1 || what != "b" || err != nil {
		t.Errorf("%d records for %q, %v", n, what, err)
	}
	if n, _, err := Left(filepath.Join(dir, "none")); n != 0 || err != nil {
		t.Errorf("no directory: %d, %v", n, err)
	}
	s, err = Open(dir, Options{For: "b"})
	must(t, err)
	must(t, s.Close())
}

// Records put aside do not fill the disk.
func TestPutAsideIsBounded(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	must(t, err)
	for range 40 {
		must(t, s.moveToRejected([][]byte{make([]byte, 1<<20)}))
	}
	total := int64(0)
	names, err := filepath.Glob(filepath.Join(s.dir, "refused*"))
	must(t, err)
	for _, name := range names {
		info, err := os.Stat(name)
		must(t, err)
		total += info.Size()
	}
	if total > 2*refusedBytes || total < refusedBytes {
		t.Errorf("%d bytes in %v", total, names)
	}
	must(t, s.Close())
}

// The bytes are those of docs/format/spool.md, where they were made by hand. They must be readable
// as long as such spools may exist.
func TestFormat(t *testing.T) {
	const (
		head     = "316673706f6f6c31" + "0102030405060708"
		first    = "00000019" + "65" + "0000019e1c7cc7fa" + "4a3d5f55" + "b6f2f299" + "7b224974656d223a7b22706b223a7b2253223a2261227d7d7d"
		second   = "00000002" + "72" + "0000019e1c7cc7fb" + "8f570fe6" + "75e0c42e" + "7b7d"
		position = "0000000000000001" + "000000000000003e" + "ec5ecc30" // after the first record
	)
	records := []Record{{'e', time.UnixMilli(1778594400250), []byte(`{"Item":{"pk":{"S":"a"}}}`)}, {'r', time.UnixMilli(1778594400251), []byte(`{}`)}}
	salt := [saltBytes]byte{1, 2, 3, 4, 5, 6, 7, 8}
	b := segmentHead(&salt)
	for i := range records {
		b = appendRecord(b, &salt, &records[i])
	}
	if got := hex.EncodeToString(b); got != head+first+second {
		t.Errorf("a segment is %s", got)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "0000000000000001.seg"), b, 0o600))
	s, err := Open(dir, Options{})
	must(t, err)
	out, _, err := s.Peek(10)
	must(t, err)
	if !reflect.DeepEqual(out, records) {
		t.Errorf("read: %+v", out)
	}
	_, pos, err := s.Peek(1)
	must(t, err)
	must(t, s.Done(pos))
	must(t, s.Close())
	if b, err := os.ReadFile(filepath.Join(dir, "POSITION")); err != nil || hex.EncodeToString(b) != position {
		t.Errorf("position: %x, %v", b, err)
	}
	s, err = Open(dir, Options{})
	must(t, err)
	if out, _, err := s.Peek(10); err != nil || !reflect.DeepEqual(out, records[1:]) {
		t.Errorf("read on: %+v, %v", out, err)
	}
	must(t, s.Close())
}

// What a newer version wrote is left alone.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "0000000000000007.seg")
	must(t, os.WriteFile(name, []byte("1fspool2 and what nobody knows yet"), 0o600))
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), name) {
		t.Errorf("open: %v", err)
	}
	if _, _, err := Left(dir); !errors.Is(err, ErrVersion) {
		t.Errorf("left: %v", err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}
