package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
)

// TestFaults injects one disk fault, at a random call, while several goroutines write. Each write
// must be acknowledged, or refused because the disk is full. Otherwise the database has failed: it
// reports that once, and fails every further call with the same error. Nothing may hang, and no
// acknowledged write may be lost. If a bit is written wrong, the database must report it.
// ONEFOLD_FAULT_SEEDS sets the number of seeds to try, and ONEFOLD_FAULT_SEED selects one seed.
func TestFaults(t *testing.T) {
	first, seeds := uint64(time.Now().UnixNano()), 150
	if testing.Short() {
		seeds = 20
	}
	if s := os.Getenv("ONEFOLD_FAULT_SEEDS"); s != "" {
		seeds = must[int](t)(strconv.Atoi(s))
	}
	if s := os.Getenv("ONEFOLD_FAULT_SEED"); s != "" {
		first, seeds = must[uint64](t)(strconv.ParseUint(s, 10, 64)), 1
	}
	met := map[enginetest.DiskFault]int{}
	for seed := first; seed < first+uint64(seeds) && !t.Failed(); seed++ {
		r := newFaultRun(t, seed)
		within(t, r, func() { r.run(t) })
		if hit, _ := r.fs.Hit(); hit {
			met[r.fs.Fault()]++
		}
	}
	t.Logf("%d seeds, faults met: %v", seeds, met)
	if seeds >= 150 && len(met) < int(enginetest.DiskFaults) {
		t.Errorf("some faults were never met: %v", met)
	}
}

// hangs is the time after which a run of some milliseconds counts as hanging.
const hangs = 5 * time.Minute

// within runs do. If do does not return, it fails the test and prints the stacks of all goroutines.
func within(t *testing.T, r *faultRun, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(hangs):
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s: it hangs\n%s", r, stacks[:runtime.Stack(stacks, true)])
	}
}

// faultRun is one run of the test: one database on one failing disk.
type faultRun struct {
	crashRun
	seed    uint64
	rng     *rand.Rand
	mem     *vfs.MemFS
	fs      *enginetest.Disk
	fatal   atomic.Int64 // number of OnFatal calls
	refused atomic.Int64 // number of writes refused because the disk is full
}

func newFaultRun(t *testing.T, seed uint64) *faultRun {
	mem := vfs.NewCrashableMem()
	r := &faultRun{seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), mem: mem, fs: enginetest.NewDisk(mem)}
	db := must[*engine.DB](t)(engine.Open("data", r.options(r.fs)))
	must[*dynamodb.CreateTableOutput](t)(db.CreateTable(context.Background(), tableInput("crash")))
	r.db = db
	return r
}

func (r *faultRun) String() string {
	_, file := r.fs.Hit()
	return "ONEFOLD_FAULT_SEED=" + strconv.FormatUint(r.seed, 10) + " " + r.fs.Fault().String() + " " + file
}

func (r *faultRun) options(fs vfs.FS) engine.Options {
	return engine.Options{FS: fs, StreamShards: 2, RollEvery: 50, MemTableBytes: 16 << 10, CacheBytes: 1 << 20, TTLInterval: -1, Logger: slog.New(slog.DiscardHandler),
		OnFatal: func(error) { r.fatal.Add(1) }}
}

// run writes while the disk fails, and then checks the contents.
func (r *faultRun) run(t *testing.T) {
	r.fs.Break(enginetest.DiskFault(r.rng.IntN(int(enginetest.DiskFaults))), 1+r.rng.IntN(400))
	if opening := r.rng.IntN(4) == 0; opening && r.fs.Fault() != enginetest.Stalled { // Open waits as long as the disk does
		r.reopen(t)
	}
	if r.db != nil {
		r.writeAll(t)
		r.end(t)
	}
	clone := r.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.rng.IntN(2) * r.rng.IntN(101), RNG: r.rng})
	var acked [crashWriters]int64
	for w := range acked {
		acked[w] = r.acked[w].Load()
	}
	var log bytes.Buffer
	o := r.options(clone)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	flipped := r.fs.Fault() == enginetest.Flipped
	db, err := engine.Open("data", o)
	if err != nil {
		if !flipped || !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%s: open what is left: %v", r, err)
		}
		return
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Errorf("%s: close: %v", r, err)
		}
		if t.Failed() {
			t.Log(r)
		}
	}()
	if flipped && said(t, db, &log) {
		return
	}
	checkCrash(t, db, &r.crashRun, acked)
}

// said reports whether a database shows, in the log or in a check, that something was not stored as
// it was written.
func said(t *testing.T, db *engine.DB, log *bytes.Buffer) bool {
	t.Helper()
	findings := must[engine.CheckSummary](t)(db.Check(context.Background(), func(engine.Finding) {})).Findings
	return findings > 0 || strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR")
}

// reopen closes the database and opens it again on a disk that may fail meanwhile. r.db is nil if
// it does not open.
func (r *faultRun) reopen(t *testing.T) {
	err := r.db.Close()
	if err != nil && !r.expected(err) {
		t.Errorf("%s: close: %v", r, err)
	}
	r.fatal.Store(0)
	if r.db, err = engine.Open("data", r.options(r.fs)); err == nil {
		return
	}
	r.db = nil
	if errno := syscall.Errno(0); !r.expected(err) && !errors.As(err, &errno) {
		t.Errorf("%s: open: %v", r, err)
	}
}

// expected reports whether an error is a consequence of the injected fault.
func (r *faultRun) expected(err error) bool {
	return errors.Is(err, engine.ErrFatal) || dynamo.IsFull(err) || errors.Is(err, syscall.ENOSPC) ||
		r.fs.Fault() == enginetest.Unread && (errors.Is(err, syscall.EIO) || errors.Is(err, engine.ErrCorrupt)) || // of a log that is read when the database is closed
		r.fs.Fault() == enginetest.Flipped && errors.Is(err, engine.ErrCorrupt)
}

// writesEach is the number of writes of each writer.
const writesEach = 40

// writeAll runs all writers until they are done or the database has failed.
func (r *faultRun) writeAll(t *testing.T) {
	done := make(chan struct{})
	for w := range crashWriters {
		r.wg.Go(func() { r.writeEach(t, w) })
	}
	go func() { r.wg.Wait(); close(done) }()
	if f := r.fs.Fault(); f == enginetest.Full || f == enginetest.Flipped {
		r.lookUntil(done)
		return
	}
	select {
	case <-done:
		return
	case <-r.fs.Waiting():
	}
	for range 100 { // each step checks for a write that does not return
		engine.LookAtDisk(r.db)
	}
	if r.fatal.Load() != 1 {
		t.Errorf("%s: a write has stalled, and it was said %d times", r, r.fatal.Load())
	}
	r.fs.Release()
	<-done
}

// lookUntil runs the disk watch until the writers are done. A writer that waits for space in memory
// is not refused any more.
func (r *faultRun) lookUntil(done <-chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			engine.LookAtDisk(r.db)
		}
	}
}

// writeEach writes until it is done. It repeats a write that was refused because the disk is full.
// The disk has space again after a while.
func (r *faultRun) writeEach(t *testing.T, w int) {
	for n := int64(1); n <= writesEach; {
		r.sent[w].Store(n)
		err := r.write(w, n)
		switch {
		case err == nil:
			r.acked[w].Store(n)
			n++
		case errors.Is(err, engine.ErrFatal):
			return
		case dynamo.IsFull(err):
			if r.refused.Add(1) > 100 {
				r.fs.Heal()
			}
		case errors.Is(err, engine.ErrCorrupt) && r.fs.Fault() == enginetest.Flipped: // the error will not go away
			return
		case r.expected(err): // the failed request was a read
		default:
			t.Errorf("%s: write: %v", r, err)
			return
		}
	}
}

// end closes the database. A failed database must return its error in every answer, and must have
// reported it once.
func (r *faultRun) end(t *testing.T) {
	died := r.fatal.Load()
	_, getErr := r.db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: ptr("crash"), Key: item{"pk": str("w0"), "sk": str("COUNTER")}})
	if said := r.fatal.Load(); said > 1 || died == 1 && !errors.Is(getErr, engine.ErrFatal) {
		t.Errorf("%s: said %d times, and a read is answered: %v", r, said, getErr)
	}
	if r.rng.IntN(2) == 0 {
		r.fs.Heal() // otherwise the database is closed while the disk is full
	}
	err := r.db.Close()
	if err != nil && !r.expected(err) {
		t.Errorf("%s: close: %v", r, err)
	}
	if r.fatal.Load() > 0 && !errors.Is(err, engine.ErrFatal) {
		t.Errorf("%s: it was at its end, and closed: %v", r, err)
	}
}
