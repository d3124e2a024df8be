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

// Options configures an Exporter.
type Options struct {
	Stream     string               // name of the stream, such as its ARN: positions are valid only for the stream of this name
	FlushRows  int                  // largest number of rows in a commit; default 100,000
	FlushAge   time.Duration        // age at which Run commits changes; default 1 minute
	Poll       time.Duration        // pause when nothing new was read; default 500 ms
	Compaction warehouse.Compaction // joining of files, by Run regularly and by CatchUp at its end
	NoCompact  bool                 // whether files are not joined
	Logger     *slog.Logger         // default slog.Default

	// Caught is called regularly, after everything written before a time is committed. It does the
	// work in the warehouse that requires this. nil means that there is no such work.
	Caught func(ctx context.Context, w *warehouse.Warehouse, before time.Time) error

	Progress func(Progress)                             // is called after each commit; may be nil
	Sleep    func(context.Context, time.Duration) error // default uses a timer
}

// Progress counts what an Exporter has done since it was created.
type Progress struct {
	Records int64  `json:"records"` // number of changes that were read, of every kind
	Rows    int64  `json:"rows"`    // number of rows that were written
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Commits int64  `json:"commits"`
	Removed int64  `json:"removed"` // number of files removed because their rows were deleted, changed or joined
	Doing   string `json:"doing,omitempty"`
}

// Exporter copies facts to a warehouse. Several exporters may work on one warehouse at the same
// time, but this has no benefit: one commits, and the others start again. An Exporter and its
// Warehouse may be used by only one goroutine at a time.
type Exporter struct {
	w      *warehouse.Warehouse
	t      *table.Table
	source fold.Source
	o      Options

	batch         *batch
	base          int64                         // version of the warehouse that the batch is based on
	at            map[string]warehouse.Position // of all shards, including the batch
	plan          *plan                         // the plan of a repair
	repairedFiles map[string]bool               // files that this process wrote for the repair
	done          Progress
	listed        []fold.Shard
	listAt        time.Time
	idle          time.Time // time of the last commit
	sweepAt       time.Time
	pass          pass
	caughtAt      time.Time // time from which Caught may be called again

	caughtTo, rows atomic.Int64 // the values that CaughtUp returns
	held           error        // why a part of the stream was not read in this turn
	holds          int          // consecutive pauses after turns in which nothing could be read
}

// New returns an Exporter.
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
	return &Exporter{w: w, t: t, source: source, o: o, repairedFiles: map[string]bool{}}
}

// attempts is the number of consecutive failures after which CatchUp gives up.
const attempts = 8

// CatchUp exports everything that the stream has when CatchUp is called, and what the warehouse
// still lacks of the table. Then it joins small files. It continues work that was interrupted.
// After several failed attempts, it returns the error of the table, the stream or the objects.
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

// again discards the uncommitted batch and waits after a failure.
func (x *Exporter) again(ctx context.Context, failures int, err error) error {
	x.batch = nil
	x.o.Logger.Warn("warehouse: export restarts from the last commit", "error", err)
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

// approach is one turn of CatchUp. done is true if everything the stream had was read, and nothing
// of the table is missing.
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
			x.beginPass(x.t.Now()) // changes made during the comparison may be in the stream
		}
	case x.holds >= attempts:
		err = x.held
	case read == 0:
		err = x.rest(ctx)
	}
	return false, err
}

// due reports whether to commit the batch.
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

// Progress without facts is committed less often.
const (
	quietRecords = 100_000
	quietAge     = 30 * time.Minute
)

const (
	compactEvery = 10 * time.Minute // how often Run looks for files to join
	caughtEvery  = time.Minute      // how often Run calls Caught
	sweepEvery   = time.Hour        // how often files that no commit names are deleted; they may hold erased data
)

// Run exports changes until ctx ends, and then returns its error. Other failures are logged, and
// what was not committed is read again.
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
			x.o.Logger.Warn("warehouse: merging files failed", "error", err)
			x.batch = nil
		}
	}
	return ctx.Err()
}

// whenCaught commits the batch and calls caught, if everything was read and this is due again.
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

// caught records that everything is exported, and calls Caught. It discards the batch if the
// warehouse was changed by that.
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

// CaughtUp returns a time, and the number of rows written since the Exporter was created.
// Everything written before the time is exported; it is zero until known. While Run is working, it
// is a minute or two ago. CaughtUp may be called at any time.
func (x *Exporter) CaughtUp() (before time.Time, rows int64) {
	if ms := x.caughtTo.Load(); ms != 0 {
		before = time.UnixMilli(ms)
	}
	return before, x.rows.Load()
}

// step is one turn of Run.
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

// Stop commits what Run has read and not yet committed. Call it after Run has returned. Errors:
// warehouse.ErrConflict, those of the table and the objects.
func (x *Exporter) Stop(ctx context.Context) error {
	if x.batch == nil || x.batch.records == 0 {
		return nil
	}
	return x.flush(ctx)
}

// begin reads the log and continues after the last commit. From time to time it also deletes files
// that no commit names.
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

// reset begins a batch after the last commit.
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
		if under := x.w.Status().Repair; under != nil { // start it again, removing no more than before
			e.Repair.Why, e.Repair.Removes = under.Why, under.Removes
		}
		x.plan = nil
		clear(x.repairedFiles)
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
	x.reportProgress("exporting")
	at := x.at
	listed, listAt := x.listed, x.listAt
	x.reset()
	x.at, x.listed, x.listAt = at, listed, listAt
	return nil
}

// commit commits files, and deletes them if the commit is refused.
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

func (x *Exporter) reportProgress(doing string) {
	if x.o.Progress != nil {
		x.done.Doing = doing
		x.o.Progress(x.done)
	}
}

// Progress returns what was done so far.
func (x *Exporter) Progress() Progress { return x.done }

// compact joins small files. If other writers have committed, what was read and not committed is
// read again.
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
		x.reportProgress("joining files")
	}
	return err
}
