package projection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// CheckpointKey names a part of a rebuild.
type CheckpointKey struct {
	Name    string `dynamodbav:"name"`
	Version int    `dynamodbav:"version"`
	Part    string `dynamodbav:"part"` // type/shard of the list of aggregates, or begin
}

// Checkpoint is the progress of a part of a rebuild.
type Checkpoint struct {
	CheckpointKey
	After      string    `dynamodbav:"after,omitempty"` // last completed aggregate
	Done       bool      `dynamodbav:"done,omitempty"`
	Aggregates int64     `dynamodbav:"aggregates"`
	Feed       int64     `dynamodbav:"feed,omitempty"` // for begin: end of the feed at that time
	At         time.Time `dynamodbav:"at"`
}

// Checkpoints holds the checkpoints of rebuilds in progress.
var Checkpoints = table.Define[Checkpoint, CheckpointKey]("eventstore.projectioncheckpoint", table.Def[Checkpoint]{
	PK: "PROJECTION#{name}#{version}", SK: "CHECKPOINT#{part}",
	Doc: "The progress of one part of a projection's rebuild.",
})

// CheckpointsIn selects a version of a projection.
type CheckpointsIn struct {
	Name    string `dynamodbav:"name"`
	Version int    `dynamodbav:"version"`
}

// CheckpointsOf queries the checkpoints of a rebuild.
var CheckpointsOf = table.NewQuery(Checkpoints, table.QueryDef[CheckpointsIn]{
	ID: "P2", Question: "the progress of a rebuild", Prefix: "CHECKPOINT#",
	Load: table.Load{PerSecond: 0.01, Items: 10, ItemBytes: 150},
})

// Schema holds what projections store besides read models and groups. Add it to the schema of the
// table, with Projection.Part.
var Schema = table.MustSchema("eventstore.projection", Pointers, Checkpoints, CheckpointsOf)

// RebuildOptions configures a Rebuild. The zero value has good defaults, except with groups.
type RebuildOptions struct {
	// CaughtUp returns when everything in the change stream is folded, such as fold.Worker.Drain of
	// the worker that runs Folds. It is required with groups, because that worker builds them.
	CaughtUp func(context.Context) error
	// Approve examines the comparison with the active version, and refuses to switch by returning
	// an error; the rebuild can then be resumed. Default: refuse if aggregates are parked.
	Approve func(Comparison) error
	// Progress is called occasionally, from several goroutines but never concurrently.
	Progress func(Progress)
}

// Progress is the progress of a rebuild.
type Progress struct {
	Stage      string // build, compare or follow
	Aggregates int64  // done in this stage, including earlier attempts
	Events     int64  // applied in this attempt
}

// checkpointEvery is the number of aggregates of a part between checkpoints.
const checkpointEvery = 10 * batch

// beginPart records the start of a rebuild. The names of other parts contain a slash.
const beginPart = "begin"

// feedMargin is how many appends before the start of the rebuild the feed is read again, because
// the list of aggregates is an index, which may lag.
const feedMargin = 1000

// Rebuild builds the read models of the definition's version from events, while appends continue
// and the previous version is active. Then it compares both versions, and switches. It processes
// all aggregates in parallel parts with checkpoints, so that it resumes when called again after an
// error or a crash. Then it follows the feed from the start of the rebuild, so that read models are
// up to date even if no worker runs their fold. A version that is already active is only updated.
// Read models of the previous version stay until Remove. Errors: ErrNotSwitched or those of
// Approve, ErrDefinition, those of the store.
func (p *Projection[R]) Rebuild(ctx context.Context, o RebuildOptions) (c Comparison, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("projection: rebuild %s version %d: %w", p.def.Name, p.def.Version, err)
		}
	}()
	if len(p.groups) > 0 && o.CaughtUp == nil {
		return c, fmt.Errorf("%w: CaughtUp is required, because a worker maintains the groups", ErrDefinition)
	}
	r := &rebuild[R]{p: p, o: o, found: map[string]Checkpoint{}}
	if r.was, err = p.ActiveVersion(ctx); err != nil && !errors.Is(err, ErrNotActive) {
		return c, err
	}
	if err := r.begin(ctx); err != nil {
		return c, err
	}
	if err := r.walk(ctx, "build", r.buildPart); err != nil {
		return c, err
	}
	if c, err = r.compare(ctx); err != nil {
		return c, err
	}
	if err := r.catchUpWithFeed(ctx); err != nil {
		return c, err
	}
	if o.CaughtUp != nil {
		if err := o.CaughtUp(ctx); err != nil {
			return c, err
		}
	}
	if err := r.approve(c); err != nil {
		return c, err
	}
	if r.was.Version != p.def.Version {
		if err := p.setActive(ctx, r.was); err != nil {
			return c, err
		}
	}
	return c, r.end(ctx)
}

// rebuild is a Rebuild in progress. mu protects progress.
type rebuild[R any] struct {
	p     *Projection[R]
	o     RebuildOptions
	was   ActiveVersion
	found map[string]Checkpoint // by part
	feed  int64                 // feed position from which to follow

	mu       sync.Mutex
	progress Progress
}

// begin loads the checkpoints of an earlier attempt, or records the first one.
func (r *rebuild[R]) begin(ctx context.Context) error {
	for c, err := range CheckpointsOf.All(ctx, r.p.t, CheckpointsIn{r.p.def.Name, r.p.def.Version}) {
		if err != nil {
			return err
		}
		r.found[c.Part] = c
	}
	c, ok := r.found[beginPart]
	if !ok {
		h, err := r.p.s.FeedHead(ctx)
		if err != nil {
			return err
		}
		c = Checkpoint{CheckpointKey: r.key(beginPart), Feed: h.Position, At: r.p.t.Now().UTC()}
		if err := Checkpoints.Put(ctx, r.p.t, &c); err != nil {
			return err
		}
	}
	r.feed = max(c.Feed-feedMargin, 0)
	return nil
}

func (r *rebuild[R]) key(part string) CheckpointKey {
	return CheckpointKey{r.p.def.Name, r.p.def.Version, part}
}

// part is a part of the list of aggregates of a type.
type part struct {
	of    string
	shard int
}

func (a part) String() string { return fmt.Sprintf("%s/%d", a.of, a.shard) }

// walk calls work for each part, in parallel.
func (r *rebuild[R]) walk(ctx context.Context, stage string, work func(context.Context, part) error) error {
	r.mu.Lock()
	r.progress.Stage, r.progress.Aggregates = stage, 0
	r.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(eventstore.HeadShards)
	for _, of := range r.p.def.Of {
		for shard := range eventstore.HeadShards {
			g.Go(func() error { return work(ctx, part{of, shard}) })
		}
	}
	return g.Wait()
}

// aggregates passes the aggregates of a part after an ID, in batches.
func (r *rebuild[R]) aggregates(ctx context.Context, a part, after string, do func([]eventstore.ID) error) error {
	some := make([]eventstore.ID, 0, batch)
	for l, err := range eventstore.AggregatesOfShard.All(ctx, r.p.t, eventstore.AggregatesFrom{Type: a.of, Shard: a.shard, From: after}) {
		if err != nil {
			return err
		}
		if some = append(some, l.ID); len(some) == batch {
			if err := do(some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	if len(some) == 0 {
		return nil
	}
	return do(some)
}

// buildPart builds the read models of a part, from its checkpoint on.
func (r *rebuild[R]) buildPart(ctx context.Context, a part) error {
	c := r.found[a.String()]
	c.CheckpointKey = r.key(a.String())
	r.reportProgress(c.Aggregates, 0)
	if c.Done {
		return nil
	}
	save := func() error {
		c.At = r.p.t.Now().UTC()
		return Checkpoints.Put(ctx, r.p.t, &c)
	}
	saved := c.Aggregates
	err := r.aggregates(ctx, a, c.After, func(ids []eventstore.ID) error {
		events, err := r.catchUp(ctx, ids)
		if err != nil {
			return err
		}
		c.After = ids[len(ids)-1].ID
		c.Aggregates += int64(len(ids))
		r.reportProgress(int64(len(ids)), events)
		if c.Aggregates-saved < checkpointEvery {
			return nil
		}
		saved = c.Aggregates
		return save()
	})
	if err != nil {
		return err
	}
	c.Done = true
	return save()
}

// catchUp updates the read models of aggregates, and returns the approximate number of events
// applied.
func (r *rebuild[R]) catchUp(ctx context.Context, ids []eventstore.ID) (events int64, err error) {
	caught, err := r.p.catchUp(ctx, ids)
	for _, c := range caught {
		if c.Wrote {
			events += c.Applied
		}
	}
	return events, err
}

func (r *rebuild[R]) reportProgress(aggregates, events int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Aggregates += aggregates
	r.progress.Events += events
	if r.o.Progress != nil {
		r.o.Progress(r.progress)
	}
}

// catchUpWithFeed updates the aggregates that were appended to since the rebuild began, up to the end of the
// feed.
func (r *rebuild[R]) catchUpWithFeed(ctx context.Context) error {
	r.mu.Lock()
	r.progress.Stage, r.progress.Aggregates = "follow", 0
	r.mu.Unlock()
	wanted := map[string]bool{}
	for _, of := range r.p.def.Of {
		wanted[of] = true
	}
	open := map[eventstore.ID]bool{}
	flush := func() error {
		ids := slices.Collect(maps.Keys(open))
		clear(open)
		if len(ids) == 0 {
			return nil
		}
		events, err := r.catchUp(ctx, ids)
		r.reportProgress(int64(len(ids)), events)
		return err
	}
	for c, err := range r.p.s.FeedCommits(ctx, r.feed) {
		if err != nil {
			return err
		}
		for _, p := range c.Parts {
			if wanted[p.Type] {
				open[p.ID] = true
			}
		}
		if len(open) >= batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// end deletes the checkpoints.
func (r *rebuild[R]) end(ctx context.Context) error {
	all, err := CheckpointsOf.Collect(ctx, r.p.t, CheckpointsIn{r.p.def.Name, r.p.def.Version})
	if err != nil {
		return err
	}
	keys := make([]CheckpointKey, len(all))
	for i, c := range all {
		keys[i] = c.CheckpointKey
	}
	return Checkpoints.DeleteMany(ctx, r.p.t, keys)
}

// ErrActive is returned by Remove for the active version.
var ErrActive = errors.New("projection: the version is active")

// Remove deletes the read models and groups of an inactive version. No worker may run its folds any
// more. Errors: ErrActive, those of the store.
func (p *Projection[R]) Remove(ctx context.Context, version int) error {
	s, err := p.ActiveVersion(ctx)
	if err == nil && s.Version == version {
		err = ErrActive
	}
	if err == nil {
		r := &rebuild[R]{p: p}
		err = r.walk(ctx, "remove", func(ctx context.Context, a part) error {
			return r.aggregates(ctx, a, "", func(ids []eventstore.ID) error {
				keys := make([]ModelKey, len(ids))
				for i, id := range ids {
					keys[i] = ModelKey{id}
				}
				return p.modelsAt(version).DeleteMany(ctx, p.t, keys)
			})
		})
	}
	for _, g := range p.groups {
		if err == nil {
			err = g.remove(ctx, p.t, version)
		}
	}
	if err != nil {
		return fmt.Errorf("projection: remove %s version %d: %w", p.def.Name, version, err)
	}
	return nil
}
