package fold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/fold/internal/watermark"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Options configure a Worker. The zero value is good for a single worker.
type Options struct {
	// Group names the folds that advance together and share checkpoints. A fold must stay in its
	// group, because another group does not know its progress. Default "main".
	Group        string
	FlushChanges int           // changes in a full batch; default 20000
	FlushBytes   int           // bytes of images and facts in a full batch; default 256 MB
	FlushAge     time.Duration // how long the first change of a batch may wait; default 250 ms, at most half an hour
	Poll         time.Duration // pause after a read that found nothing; default 50 ms, 250 ms for a stream of a service
	Refresh      time.Duration // how often shards are listed; default 10 s. They are also listed when a shard ends
	PageSize     int           // records per read, at most 1000; default 1000
	Readers      int           // shards read concurrently; default 8
	Writers      int           // concurrent writes, a multiple of 16 unless the API is a dynamo.Putter; default 64
	Retries      int           // how often a failed request is repeated; default 8
	Known        int           // facts counted once whose IDs are kept in memory between flushes; default 1,000,000, about 50 MB

	// NoCache keeps no states in memory between flushes, whatever the folds declare. Use it for a
	// worker alongside others that write the same items, where cached states would mostly be outdated.
	// A refused write costs as much as a successful one.
	NoCache bool

	Owner     string        // unique name of this worker in checkpoints and leases; default host, process ID and a random part
	Leases    bool          // share the shards with other workers of the group
	LeaseFor  time.Duration // duration of a lease without renewal, at most an hour; default 30 s
	LeaseFree bool          // with Leases: lease-free mode. The worker acquires no leases; WaitFor waits for lease holders, and folds a shard itself if its checkpoint stalls

	Clock  func() time.Time                           // default: the table's
	Sleep  func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
	Random func() float64                             // jitter in [0, 1); default math/rand
	Logger *slog.Logger                               // default slog.Default()
}

func (o Options) withDefaults(t *table.Table) Options {
	setDefault(&o.Group, "main")
	setDefault(&o.FlushChanges, 20000)
	setDefault(&o.FlushBytes, 256<<20)
	setDefault(&o.FlushAge, 250*time.Millisecond)
	setDefault(&o.Refresh, 10*time.Second)
	setDefault(&o.PageSize, 1000)
	setDefault(&o.Readers, 8)
	setDefault(&o.Writers, 64)
	setDefault(&o.Retries, 8)
	setDefault(&o.Known, 1_000_000)
	setDefault(&o.LeaseFor, lease.DefaultFor)
	setDefault(&o.Logger, slog.Default())
	if o.Owner == "" {
		o.Owner = lease.UniqueName()
	}
	if o.Clock == nil {
		o.Clock = t.Now
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// requests returns what sends a worker's requests.
func (o *Options) requests(t *table.Table) *requests.Client {
	return requests.New(t, requests.Options{Retries: o.Retries, Sleep: o.Sleep, Random: o.Random})
}

// withPoll sets the polling interval that suits a source.
func (o Options) withPoll(src Source) Options {
	if p, ok := src.(Pacer); ok {
		setDefault(&o.Poll, p.Pace())
	}
	setDefault(&o.Poll, 50*time.Millisecond)
	return o
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// A Worker runs folds over a source. Any number of workers may run the same folds over the same
// source; with Options.Leases they share the work. A Worker is safe for concurrent use.
type Worker struct {
	table     *table.Table
	requests  *requests.Client
	leases    *lease.Holder
	source    Source
	o         Options
	pipelines []pipeline
	read      map[string][]*reader // by entity
	depth     int                  // length of the longest chain of folds

	tick   atomic.Uint64 // counts loads and checkpoint reads, to order them
	counts counters
	status atomic.Pointer[Status]
	fed    atomic.Bool // Handle is given the group's changes, here or elsewhere: see gaps.go

	mu           sync.Mutex // held for a whole turn; protects the fields below except dead
	shards       map[string]*shard
	order        []*shard            // by id
	unlisted     map[string]Sequence // checkpoints of shards that are no longer listed
	waiting      int                 // changes in the batch
	bytes        int                 // size of their images and facts
	batchStarted time.Time           // when the batch got its first change
	facts        []fact              // facts of the change that is being routed
	once         bool                // some facts count once
	onceHold     time.Duration       // longest Hold of folds that read such facts
	known        int                 // facts in all windows
	unsettled    bool                // a flush of the batch was started and has not succeeded yet
	turns        uint64
	began        watermark.Turns
	listed       uint64    // the last turn that listed the shards
	listAt       time.Time // when to list the shards next
	leaseAt      time.Time // when to look at the leases next
	parentsAt    time.Time // when to look at the parents of waiting shards next
	deadMu       sync.Mutex
	dead         []Dead // of the batch
}

// reader is an entity whose changes are read, and the pipelines that read them.
type reader struct {
	source    *source
	pipelines []pipeline
}

// NewWorker returns a worker that runs folds of the table t over src. src may be nil if only Handle
// is called. Errors: ErrDefinition.
func NewWorker(t *table.Table, src Source, folds []*Fold, o Options) (*Worker, error) {
	w := &Worker{
		table: t, source: src, o: o.withPoll(src).withDefaults(t), read: make(map[string][]*reader),
		shards: make(map[string]*shard), unlisted: make(map[string]Sequence),
	}
	if err := checkFolds(folds, &w.o); err != nil {
		return nil, err
	}
	w.requests = w.o.requests(t)
	w.leases = &lease.Holder{Requests: w.requests, Group: w.o.Group, Owner: w.o.Owner, For: w.o.LeaseFor, Clock: w.o.Clock}
	depth, err := chainDepth(folds)
	if err != nil {
		return nil, err
	}
	w.depth = depth
	for _, f := range folds {
		l, err := f.open(f, t)
		if err != nil {
			return nil, err
		}
		if w.o.NoCache {
			l.cache().disable()
		}
		w.pipelines = append(w.pipelines, l)
		for _, s := range f.sources {
			w.listen(s, l)
			if s.once != nil {
				w.once, w.onceHold = true, max(w.onceHold, f.options.hold)
			}
		}
	}
	w.status.Store(&Status{})
	return w, nil
}

// listen adds a pipeline to the readers of a source. Folds that read the same entity share one decoded
// copy of each change.
func (w *Worker) listen(s *source, l pipeline) {
	for _, r := range w.read[s.entity] {
		if r.source.is == s.is {
			r.pipelines = append(r.pipelines, l)
			return
		}
	}
	w.read[s.entity] = append(w.read[s.entity], &reader{source: s, pipelines: []pipeline{l}})
}

// Owner returns the worker's name in checkpoints and leases.
func (w *Worker) Owner() string { return w.o.Owner }

// Delay returns the longest time that Options.FlushAge and Hold may let a change wait before it is
// written.
func (w *Worker) Delay() (most time.Duration) {
	for _, l := range w.pipelines {
		most = max(most, l.fold().options.hold)
	}
	return most + w.o.FlushAge
}

// wants reports whether any fold reads an entity's changes.
func (w *Worker) wants(entity string) bool { return len(w.read[entity]) > 0 }

// checkFolds checks the declarations that need no types: names, waits, and that each entity has a
// single writer.
func checkFolds(folds []*Fold, o *Options) error {
	errs := []error{lease.CheckName("group", o.Group), checkWait("FlushAge", o.FlushAge)}
	if o.LeaseFor < 0 || o.LeaseFor > lease.Most {
		errs = append(errs, fmt.Errorf("LeaseFor: %s is not between 0 and %s", o.LeaseFor, lease.Most))
	}
	if len(folds) == 0 {
		errs = append(errs, errors.New("there are no folds"))
	}
	names, into := map[string]bool{}, map[string]string{}
	for _, f := range folds {
		errs = append(errs, lease.CheckName("fold", f.name), checkWait("Hold of fold "+f.name, f.options.hold))
		if names[f.name] {
			errs = append(errs, fmt.Errorf("two folds have the name %s", f.name))
		}
		if other, taken := into[f.into]; taken && f.into != "" {
			errs = append(errs, fmt.Errorf("folds %s and %s both write %s: combine them into one fold with two Ons", other, f.name, f.into))
		}
		names[f.name], into[f.into] = true, f.name
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrDefinition, err)
	}
	return nil
}

// maxWait is the longest time that changes may wait to be written. It is well below maxBatchAge.
const maxWait = maxBatchAge / 2

// checkWait rejects waits so long that a batch would be given back before it is written.
func checkWait(what string, d time.Duration) error {
	if d < 0 || d > maxWait {
		return fmt.Errorf("%s: %s is not between 0 and %s", what, d, maxWait)
	}
	return nil
}

// chainDepth returns the length of the longest chain of folds in which each reads what the previous
// one writes.
func chainDepth(folds []*Fold) (int, error) {
	by := make(map[string]*Fold)
	for _, f := range folds {
		by[f.into] = f
	}
	var depth func(f *Fold, path []string) (int, error)
	depth = func(f *Fold, path []string) (int, error) {
		if slices.Contains(path, f.name) {
			return 0, fmt.Errorf("%w: folds form a cycle: %v", ErrDefinition, append(path, f.name))
		}
		most := 0
		for _, s := range f.sources {
			if before := by[s.entity]; before != nil {
				d, err := depth(before, append(slices.Clone(path), f.name))
				if err != nil {
					return 0, err
				}
				most = max(most, d)
			}
		}
		return most + 1, nil
	}
	most := 1
	for _, f := range folds {
		d, err := depth(f, nil)
		if err != nil {
			return 0, err
		}
		most = max(most, d)
	}
	return most, nil
}
