package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/warehouse"
)

// Options configure an Exporter.
type Options struct {
	Stream     string               // what the stream is called, such as its ARN: of another stream positions mean nothing
	FlushRows  int                  // rows that are committed at a time, at most; default 100,000
	FlushAge   time.Duration        // age at which changes are committed while Run follows; default 1 minute
	Poll       time.Duration        // pause when nothing has come; default 500 ms
	Compaction warehouse.Compaction // what Run, and CatchUp at its end, join
	NoCompact  bool                 // joins nothing
	Logger     *slog.Logger         // default slog.Default

	// Caught is called now and then, when all is committed that was written before a time: to do in the warehouse what asks for
	// that. nil: nothing is done.
	Caught func(ctx context.Context, w *warehouse.Warehouse, before time.Time) error

	Progress func(Progress)                             // is told after each commit; nil: nobody
	Sleep    func(context.Context, time.Duration) error // default a timer
}

// Progress is what an Exporter has done since it was made.
type Progress struct {
	Records int64  `json:"records"` // changes that were read, of whatever
	Rows    int64  `json:"rows"`    // that were written
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Commits int64  `json:"commits"`
	Removed int64  `json:"removed"` // files that are gone: their rows were deleted, changed or joined
	Doing   string `json:"doing,omitempty"`
}

// Exporter brings facts to a warehouse. Several may do so at the same time, though it is of no use: one commits, the
// others begin anew. An Exporter itself, and its Warehouse, are for one goroutine.
type Exporter struct {
	w      *warehouse.Warehouse
	t      *table.Table
	source fold.Source
	o      Options

	batch    *batch
	base     int64                         // version of the warehouse that the batch follows
	at       map[string]warehouse.Position // of all shards, with the batch
	plan     *plan                         // of a repair
	mended   map[string]bool               // files that this process wrote for it
	done     Progress
	listed   []fold.Shard
	listAt   time.Time
	idle     time.Time // when something was committed last
	sweepAt  time.Time
	pass     pass
	caughtAt time.Time // when Caught may be called again

	caughtTo, rows atomic.Int64 // what CaughtUp tells
	held           error        // why something was not read in this turn
	holds          int          // pauses in a row after turns in which nothing could be read
}

// New makes an Exporter.
func New(w *warehouse.Warehouse, t *table.Table, source fold.Source, o Options) *Exporter {
	if o.FlushRows <= 0 {
		o.FlushRows = 100_000
	}
	if o.FlushAge <= 0 {
		o.FlushAge = time.Minute
	}
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	return &Exporter{w: w, t: t, source: source, o: o, mended: map[string]bool{}}
}

// attempts is how often in a row something may fail before CatchUp gives up.
const attempts = 8

// CatchUp exports all that the stream has when it is called, and what of the table is still missing, and joins small files.
// What was broken off before goes on. Errors: those of the table, the stream and the objects, after some attempts.
func (x *Exporter) CatchUp(ctx context.Context) error {
	x.holds = 0
	x.beginPass(x.t.Now())
	for failures := 0; ; {
		version := x.w.Version()
		err := x.catchUp(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if x.w.Version() > version {
			failures = 0
		}
		if failures++; failures >= attempts || x.holds >= attempts {
			return fmt.Errorf("export: %w", err)
		}
		if err := x.again(ctx, failures, err); err != nil {
			return err
		}
	}
}

// again waits after a failure and forgets what was not committed.
func (x *Exporter) again(ctx context.Context, failures int, err error) error {
	x.batch = nil
	x.o.Logger.Warn("warehouse: export begins anew from the last commit", "error", err)
	return x.o.Sleep(ctx, min(100*time.Millisecond<<min(failures, 10), 30*time.Second))
}

func (x *Exporter) catchUp(ctx context.Context) error {
	if err := x.begin(ctx); err != nil {
		return err
	}
	for {
		if done, err := x.approach(ctx); err != nil {
			return err
		} else if done {
			break
		}
	}
	if x.batch.records > 0 || !x.batch.empty() {
		if err := x.flush(ctx); err != nil {
			return err
		}
	}
	if err := x.caught(ctx); err != nil {
		return err
	}
	return x.compact(ctx)
}

// approach is a turn of CatchUp. done: all was read that the stream had, and nothing of the table is missing.
func (x *Exporter) approach(ctx context.Context) (done bool, err error) {
	read, err := x.turn(ctx)
	repairs := x.w.Status().Repair != nil
	switch {
	case err != nil:
		return false, err
	case x.passed() && !repairs:
		return true, nil
	case x.due(read == 0), x.holds >= attempts && x.batch.records > 0:
		if err := x.flush(ctx); err != nil {
			return false, err
		}
		repairs = x.w.Status().Repair != nil
	}
	switch {
	case repairs:
		if err = x.repairSome(ctx); err == nil && x.w.Status().Repair == nil {
			x.beginPass(x.t.Now()) // what changed while they were compared may be in the stream
		}
	case x.holds >= attempts:
		err = x.held
	case read == 0:
		err = x.rest(ctx)
	}
	return false, err
}

// due reports whether the batch is to be committed.
func (x *Exporter) due(idle bool) bool {
	b := x.batch
	switch {
	case b.rows >= x.o.FlushRows, len(b.missed) > 0:
		return true
	case !b.empty():
		return x.t.Now().Sub(b.opened) >= x.o.FlushAge
	}
	return idle && b.records > 0 && (b.records >= quietRecords || x.t.Now().Sub(x.idle) >= quietAge)
}

// Progress without facts is committed seldom.
const (
	quietRecords = 100_000
	quietAge     = 30 * time.Minute
)

const (
	compactEvery = 10 * time.Minute // Run looks for files to join, and begins anew
	caughtEvery  = time.Minute      // Run has done what waits until all is exported
	sweepEvery   = time.Hour        // files are looked for that no commit names: they may have what was erased
)

// Run exports what comes until ctx ends. Failures are logged, and what was not committed is read again.
func (x *Exporter) Run(ctx context.Context) error {
	compactAt := x.t.Now().Add(compactEvery)
	x.beginPass(x.t.Now())
	for failures := 0; ctx.Err() == nil; {
		err := x.step(ctx)
		if err == nil {
			err = x.whenCaught(ctx)
		}
		if err != nil && ctx.Err() == nil {
			failures++
			if err := x.again(ctx, failures, err); err != nil {
				return err
			}
			continue
		}
		failures = 0
		if x.t.Now().Before(compactAt) {
			continue
		}
		compactAt = x.t.Now().Add(compactEvery)
		if err := x.compact(ctx); err != nil && ctx.Err() == nil {
			x.o.Logger.Warn("warehouse: join files", "error", err)
			x.batch = nil
		}
	}
	return ctx.Err()
}

// whenCaught has done what waits until all is exported, if that is so.
func (x *Exporter) whenCaught(ctx context.Context) error {
	if x.batch == nil || x.t.Now().Before(x.caughtAt) || !x.passed() || x.w.Status().Repair != nil {
		return nil
	}
	if !x.batch.empty() {
		if err := x.flush(ctx); err != nil {
			return err
		}
	}
	x.caughtAt = x.t.Now().Add(caughtEvery)
	return x.caught(ctx)
}

// caught notes that all is exported, and has done what waits for that. It begins anew if the warehouse has moved on.
func (x *Exporter) caught(ctx context.Context) (err error) {
	before := x.pass.since
	x.beginPass(x.t.Now())
	x.caughtTo.Store(before.UnixMilli())
	if x.o.Caught != nil {
		err = x.o.Caught(ctx, x.w, before)
	}
	if err != nil || x.w.Version() != x.base {
		x.batch = nil
	}
	return err
}

// CaughtUp is a time by which all is exported that was written before it, zero before that is known, and how many rows were
// written since the Exporter was made. While Run follows it is a minute or two old. It may be called at any time.
func (x *Exporter) CaughtUp() (before time.Time, rows int64) {
	if ms := x.caughtTo.Load(); ms != 0 {
		before = time.UnixMilli(ms)
	}
	return before, x.rows.Load()
}

// step is a turn of Run.
func (x *Exporter) step(ctx context.Context) error {
	if x.batch == nil {
		if err := x.begin(ctx); err != nil {
			return err
		}
	}
	read, err := x.turn(ctx)
	if err == nil && x.due(read == 0) {
		err = x.flush(ctx)
	}
	switch {
	case err != nil:
		return err
	case x.w.Status().Repair != nil:
		return x.repairSome(ctx)
	case read == 0:
		return x.rest(ctx)
	}
	return nil
}

// Stop commits what Run has read and not committed yet. It is called when Run has returned.
func (x *Exporter) Stop(ctx context.Context) error {
	if x.batch == nil || x.batch.records == 0 {
		return nil
	}
	return x.flush(ctx)
}

// begin reads the log, deletes now and then what was left of commits that never came or of removed files, and goes on behind the last commit.
func (x *Exporter) begin(ctx context.Context) error {
	if err := x.w.Refresh(ctx); err != nil {
		return err
	}
	if now := x.t.Now(); !now.Before(x.sweepAt) {
		if _, err := x.w.Sweep(ctx); err != nil {
			return err
		}
		x.sweepAt = now.Add(sweepEvery)
	}
	if s := x.w.Status(); s.Source != x.o.Stream || s.Version == 0 {
		why := "the first export"
		if s.Source != "" {
			why = "another stream than before"
		}
		e := &warehouse.Entry{Why: "begin", Source: x.o.Stream, Repair: &warehouse.Repair{Why: why, Since: x.t.Now().UTC()}}
		if err := x.w.Commit(ctx, s.Version, e); err != nil {
			return err
		}
	}
	x.idle = x.t.Now()
	x.reset()
	x.beginPass(x.pass.since)
	return nil
}

// reset begins a batch behind the last commit.
func (x *Exporter) reset() {
	x.batch, x.base, x.at = newBatch(), x.w.Version(), x.w.Status().Positions
	x.listAt = time.Time{}
}

// flush writes the batch and commits it.
func (x *Exporter) flush(ctx context.Context) error {
	b := x.batch
	e := &warehouse.Entry{Why: "export", Positions: b.positions, Forget: b.forget, Missed: b.missed, Skipped: b.skipped}
	if len(b.missed) > 0 {
		e.Repair = &warehouse.Repair{Why: "changes were trimmed before they were read", Removes: true, Since: x.t.Now().UTC()}
		if under := x.w.Status().Repair; under != nil { // it begins anew, and takes out no more than it would have
			e.Repair.Why, e.Repair.Removes = under.Why, under.Removes
		}
		x.plan = nil
		clear(x.mended)
	}
	r := &resolver{w: x.w, out: &changes{}, gone: map[string]bool{}}
	parts, err := x.drop(ctx, r)
	if err != nil {
		return err
	}
	err = r.all(ctx, parts, func(p warehouse.Partition) map[warehouse.Key]*op { return b.ops[p] })
	if err != nil {
		return err
	}
	if err := x.commit(ctx, r.out, e); err != nil {
		return err
	}
	x.done.Records += int64(b.records)
	x.tell("exporting")
	at := x.at
	listed, listAt := x.listed, x.listAt
	x.reset()
	x.at, x.listed, x.listAt = at, listed, listAt
	return nil
}

// commit commits files, and deletes them when they were refused.
func (x *Exporter) commit(ctx context.Context, out *changes, e *warehouse.Entry) error {
	e.Add, e.Remove = out.add, out.remove
	err := x.w.Commit(ctx, x.base, e)
	if errors.Is(err, warehouse.ErrConflict) {
		return errors.Join(err, x.w.Discard(ctx, out.add...))
	}
	if err != nil {
		return err
	}
	for _, f := range out.add {
		x.done.Rows += f.Rows
		x.rows.Add(f.Rows)
		x.done.Bytes += f.Bytes
	}
	x.done.Files += int64(len(out.add))
	x.done.Removed += int64(len(out.remove))
	x.done.Commits++
	x.base, x.idle = x.w.Version(), x.t.Now()
	return nil
}

func (x *Exporter) tell(doing string) {
	if x.o.Progress != nil {
		x.done.Doing = doing
		x.o.Progress(x.done)
	}
}

// Progress is what was done so far.
func (x *Exporter) Progress() Progress { return x.done }

// compact joins small files. Whatever was read and not committed is read again if others were here.
func (x *Exporter) compact(ctx context.Context) error {
	if x.batch != nil && x.batch.records > 0 {
		if err := x.flush(ctx); err != nil {
			return err
		}
	}
	if x.o.NoCompact {
		x.batch = nil
		return nil
	}
	done, err := x.w.Compact(ctx, x.o.Compaction)
	x.done.Removed += int64(done.Joined)
	x.done.Files += int64(done.Made)
	x.batch = nil
	if err == nil && done.Joined > 0 {
		x.tell("joining files")
	}
	return err
}
