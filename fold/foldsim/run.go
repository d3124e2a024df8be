package foldsim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

const group = "sim"

// A Scenario describes a simulation.
type Scenario struct {
	Folds []*fold.Fold
	// Write makes one random change to source items, using World.Rand, Put and Delete.
	Write func(*World)
	// Check, if set, verifies the derived items against the writes. This is in addition to the
	// comparison with a quiet run, which is always made.
	Check func(*World) error
	// Consume, if set, runs instead of a fold.Worker, to show that the simulation detects a faulty
	// one.
	Consume func(ctx context.Context, t *table.Table, src fold.Source) error
	// Known limits the fact IDs that a worker keeps, see fold.Options. By default it keeps only
	// those of a flush.
	Known int
	// Spoil, if set, modifies the items that are put, to show that the simulation detects it.
	Spoil func(table.Item)
	// Watch, if set, gives all workers leases and equal clocks, compares the lags they report with
	// the truth after every step, and collects counts.
	Watch *Watched
}

// Test runs a scenario with the seeds 1 to n, or a twentieth of them with -short. ONEFOLD_SIM_SEEDS
// replaces n. ONEFOLD_SIM_FIRST sets the first seed, so that a long run can be divided.
// ONEFOLD_SIM_SEED runs a single seed.
func Test(t testing.TB, s Scenario, n int) {
	t.Helper()
	first := uint64(1)
	if testing.Short() {
		n = (n + 19) / 20
	}
	if v, err := strconv.ParseUint(os.Getenv("ONEFOLD_SIM_FIRST"), 10, 64); err == nil {
		first = v
	}
	if v, err := strconv.ParseUint(os.Getenv("ONEFOLD_SIM_SEED"), 10, 64); err == nil {
		first, n = v, 1
	} else if v, err := strconv.Atoi(os.Getenv("ONEFOLD_SIM_SEEDS")); err == nil {
		n = v
	}
	for i := range uint64(n) {
		if err := Run(s, first+i); err != nil {
			t.Fatalf("seed %d: %v\nreplay: ONEFOLD_SIM_SEED=%d go test -run '^%s$'", first+i, err, first+i, t.Name())
		}
	}
}

// Run runs a scenario once. The error lists the differences between the derived items and the fold
// of all changes.
func Run(s Scenario, seed uint64) error {
	sim := &simulation{Scenario: s, World: newWorld(rand.New(rand.NewPCG(seed, 0x6f6e65666f6c64)))}
	sim.known, sim.spoil = s.Known, s.Spoil
	sim.disturb()
	if err := errors.Join(sim.settle(), sim.broken); err != nil {
		return err
	}
	want, err := s.quiet(sim.history)
	if err != nil {
		return fmt.Errorf("quiet run: %w", err)
	}
	got, err := sim.derived(s.Folds)
	if err != nil {
		return err
	}
	if err := differences(got, want); err != nil {
		return err
	}
	if s.Check != nil {
		return s.Check(sim.World)
	}
	return nil
}

// quiet returns the items that one undisturbed worker derives from the same writes.
func (s Scenario) quiet(history []Write) (map[string]string, error) {
	w := newWorld(rand.New(rand.NewPCG(1, 1)))
	for _, h := range history {
		w.commit(h.Key, h.Item, h.Expired)
	}
	var err error
	p := w.spawn("quiet", func(p *process) error {
		worker, err := newWorker(p, s.Folds, fold.Options{})
		if err != nil {
			return err
		}
		return worker.Drain(p.ctx)
	})
	for p.step() {
	}
	if err = p.err; err != nil {
		return nil, err
	}
	return w.derived(s.Folds)
}

func newWorker(p *process, folds []*fold.Fold, o fold.Options) (*fold.Worker, error) {
	o.Group, o.Owner, o.Readers, o.Writers = group, p.name, 1, 1
	o.Known = max(p.world.known, 1)
	o.Sleep, o.Random = p.sleep, p.world.Rand.Float64
	o.Logger = slog.New(slog.DiscardHandler)
	t := table.New(&client{p: p}, "sim", table.Options{Clock: p.now, CursorKey: []byte("sim")})
	return fold.NewWorker(t, source{p}, folds, o)
}

// simulation is one run.
type simulation struct {
	Scenario
	*World
	processes []*process
	spawned   int
	quieting  bool
	broken    error // the first broken promise
}

// disturb runs random workers, writes and faults for a while.
func (s *simulation) disturb() {
	r := s.Rand
	s.faults = true
	calm := r.IntN(4) == 0 // fewer crashes, so that batches grow
	workers := 1 + r.IntN(3)
	steps := 150 + r.IntN(450)
	if s.Watch != nil { // leaves time to read all shards once
		steps *= 3 // the first ones go by before all shards have been read
	}
	for range steps {
		for len(s.processes) < workers {
			s.processes = append(s.processes, s.start())
		}
		switch n := r.IntN(100); {
		case n < 12:
			for range 1 + r.IntN(6) {
				s.Write(s.World)
			}
		case n < 14:
			s.roll()
		case n < 15:
			s.trim()
		case n < 17:
			s.skipTime()
		case n < 19 && (!calm || n == 17) && (s.Watch == nil || r.IntN(8) == 0):
			s.crash(r.IntN(len(s.processes)))
		case n < 20:
			s.storm = r.IntN(3) == 0
		case n < 22:
			s.processes[r.IntN(len(s.processes))].asleep = r.IntN(120)
		default:
			s.stepOne()
		}
		if s.Watch != nil {
			s.now = s.now.Add(time.Duration(r.IntN(100)) * time.Millisecond) // so that leases expire
			s.look()
		}
	}
}

// skipTime advances the clock: a little, past leases, past the maximum age of a batch, or past the
// life of tombstones. The last only when all changes are durably counted, because streams do not
// keep changes that long.
func (s *simulation) skipTime() {
	n := s.Rand.IntN(6)
	if n > 3 && !s.counted(s.Folds) {
		n = 3
	}
	s.now = s.now.Add([]time.Duration{
		100 * time.Millisecond, time.Second, time.Minute, 2 * time.Hour, 50 * time.Hour, 50 * time.Hour,
	}[n])
	s.expire()
}

func (s *simulation) crash(i int) {
	s.processes[i].crash()
	s.processes = slices.Delete(s.processes, i, i+1)
}

// stepOne lets one process take a step.
func (s *simulation) stepOne() {
	i := s.Rand.IntN(len(s.processes))
	p := s.processes[i]
	if p.asleep > 0 && !s.quieting {
		p.asleep--
		return
	}
	if !p.step() {
		s.processes = slices.Delete(s.processes, i, i+1)
	}
}

const settleSteps = 200000

// settle ends the faults, lets every process finish, including zombies, and drains the stream.
func (s *simulation) settle() error {
	s.faults, s.storm, s.quieting = false, false, true
	last := s.spawnWorker(fold.Options{})
	s.processes = append(s.processes, last)
	for range settleSteps {
		if len(s.processes) == 0 {
			break
		}
		s.stepOne()
	}
	if len(s.processes) > 0 {
		return fmt.Errorf("%s did not come to an end", s.processes[0].name)
	}
	final := s.spawnWorker(fold.Options{})
	for range settleSteps {
		if !final.step() {
			return errors.Join(last.err, final.err)
		}
	}
	return errors.New("the last drain did not come to an end")
}

// start starts a process of a random kind.
func (s *simulation) start() *process {
	r := s.Rand
	o := fold.Options{
		FlushChanges: 1 + r.IntN(30), FlushBytes: 64 << r.IntN(10), PageSize: 1 + r.IntN(10), Retries: 2 + r.IntN(4),
		FlushAge: time.Duration(1+r.IntN(100)) * time.Millisecond, Refresh: time.Duration(1+r.IntN(300)) * time.Millisecond,
		Leases: r.IntN(3) > 0, LeaseFor: time.Duration(10+r.IntN(2000)) * time.Millisecond, LeaseFree: r.IntN(3) == 0,
	}
	switch {
	case s.Watch != nil:
		o.Leases = true
		if r.IntN(2) == 0 {
			return s.spawnRun(o)
		}
		return s.spawnWorker(o)
	case s.Consume != nil:
		return s.spawnWorker(o)
	case r.IntN(4) == 0:
		return s.spawnRun(o)
	case r.IntN(5) == 0:
		return s.spawnHandle(o)
	}
	return s.spawnWorker(o)
}

func (s *simulation) name() string {
	s.spawned++
	return fmt.Sprintf("worker-%d", s.spawned)
}

// spawnWorker starts a process that drains repeatedly until the faults end.
func (s *simulation) spawnWorker(o fold.Options) *process {
	skew := s.skew(4 * time.Second) // small enough for barriers: see fold.Barrier
	return s.spawn(s.name(), func(p *process) error {
		p.skew = skew
		if s.Consume != nil {
			t := table.New(&client{p: p}, "sim", table.Options{Clock: s.Now, CursorKey: []byte("sim")})
			return s.Consume(p.ctx, t, source{p})
		}
		worker, err := newWorker(p, s.Folds, o)
		if err != nil {
			return err
		}
		p.worker = worker
		for {
			quieting := s.quieting
			if err := s.fenced(p, worker); err != nil && quieting || quieting {
				return err
			}
			if err := p.giveWay(); err != nil {
				return err
			}
		}
	})
}

// fenced drains, and checks that everything in the stream before is durable afterwards, no matter
// which worker folded it.
func (s *simulation) fenced(p *process, worker *fold.Worker) error {
	before := s.tips(s.Folds)
	if err := worker.Drain(p.ctx); err != nil {
		return err
	}
	for sh, tip := range before {
		if c := s.checkpoint(sh); !c.Done && tip.Compare(fold.Sequence(c.Position)) > 0 && s.broken == nil {
			s.broken = fmt.Errorf("%s passed a fence at %s of %s, whose checkpoint is at %q", p.name, tip, sh.id, c.Position)
		}
	}
	return nil
}

// skew returns a random clock error, often zero.
func (s *simulation) skew(most time.Duration) time.Duration {
	if s.Rand.IntN(2) == 0 || s.Watch != nil {
		return 0
	}
	return time.Duration(s.Rand.Int64N(int64(2*most))) - most
}

// spawnRun starts a process that runs until it is stopped at a random time, and then writes changes
// on hold or leaves them to others.
func (s *simulation) spawnRun(o fold.Options) *process {
	steps := s.Rand.IntN(200)
	skew := s.skew(2 * time.Hour)
	shift := s.Rand.IntN(2) == 0
	return s.spawn(s.name(), func(p *process) error {
		p.skew = skew
		ctx, cancel := context.WithCancel(p.ctx)
		defer cancel()
		stop := func(ctx context.Context, d time.Duration) error {
			if steps--; steps < 0 || s.quieting {
				cancel()
			}
			return p.sleep(ctx, d)
		}
		t := table.New(&client{p: p}, "sim", table.Options{Clock: p.now, CursorKey: []byte("sim")})
		o.Group, o.Owner, o.Readers, o.Writers, o.Sleep, o.Random = group, p.name, 1, 1, stop, s.Rand.Float64
		o.Known = max(s.Known, 1)
		o.Logger = slog.New(slog.DiscardHandler)
		worker, err := fold.NewWorker(t, source{p}, s.Folds, o)
		if err != nil {
			return err
		}
		p.worker = worker
		if shift {
			return worker.RunShift(ctx)
		}
		return worker.Run(ctx)
	})
}

// differences compares derived items with expected ones.
func differences(got, want map[string]string) error {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if want[id] != got[id] {
			fmt.Fprintf(&b, "\n%q\n\tis     %s\n\tshould %s", id, got[id], want[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[id]; !ok {
			fmt.Fprintf(&b, "\n%q\n\tis     missing\n\tshould %s", id, want[id])
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return errors.New("derived items are not the fold of all changes:" + b.String())
}
