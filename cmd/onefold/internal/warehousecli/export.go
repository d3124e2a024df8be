package warehousecli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/cmd/internal/s3store"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/export"
)

type exportCommand struct {
	Where
	Follow    bool          `help:"Keep exporting until interrupted."`
	Every     time.Duration `help:"Maximum age of a change before it is exported, with --follow." default:"1m"`
	Rows      int           `help:"Maximum number of rows per commit, which are held in memory." default:"100000"`
	NoCompact bool          `help:"Do not merge small files."`
}

// Validate checks the flags. Kong calls it.
func (c *exportCommand) Validate() error {
	if c.Every < time.Second || c.Every > time.Hour {
		return errors.New("invalid: --every must be 1s to 1h")
	}
	if c.Rows < 100 || c.Rows > 5_000_000 {
		return errors.New("invalid: --rows must be 100 to 5000000")
	}
	return nil
}

// stopFor limits the time that a shutdown spends on committing what was read.
const stopFor = 20 * time.Second

// Run exports.
func (c *exportCommand) Run(ctx context.Context, env *cmdenv.Env) error {
	w, err := c.open(ctx, env, false)
	if err != nil {
		return err
	}
	return env.Open(ctx, func(s *cmdenv.Store) error {
		began := time.Now()
		o := export.Options{FlushAge: c.Every, FlushRows: c.Rows, NoCompact: c.NoCompact, Logger: env.Logger}
		if !env.JSON {
			o.Progress = func(p export.Progress) {
				if p.Doing == "" {
					return
				}
				fmt.Fprintf(env.Err, "%s: %s in %s, %s\n", terminal.Printable(p.Doing), terminal.Count(p.Rows, "row"), terminal.Count(p.Files, "file"), terminal.Count(p.Commits, "commit"))
			}
		}
		x := exporter(w, s, o)
		run := x.CatchUp
		if c.Follow {
			run = func(ctx context.Context) error { return follow(ctx, x) }
		}
		if err := settled(ctx, s, run); err != nil {
			return err
		}
		return c.print(env, x.Progress(), w, time.Since(began))
	})
}

// settled folds all stored changes, then runs work. The export finds aggregates by their types,
// which are derived items. If the table is shared, it waits for the workers, or helps if there are
// none.
func settled(ctx context.Context, s *cmdenv.Store, work func(context.Context) error) error {
	if err := s.Worker.Drain(ctx); err != nil {
		return err
	}
	return work(ctx)
}

func exporter(w *warehouse.Warehouse, s *cmdenv.Store, o export.Options) *export.Exporter {
	o.Stream, o.Caught = s.Stream, rewriteErased(s.Table)
	return export.New(w, s.Table, streamsource.New(s.Streams, s.Stream), o)
}

// follow exports until it is interrupted.
func follow(ctx context.Context, x *export.Exporter) error {
	err := x.Run(ctx)
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
	defer cancel()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if stopped := x.Stop(rest); stopped != nil && !errors.Is(stopped, warehouse.ErrConflict) {
		err = errors.Join(err, stopped)
	}
	return err
}

func (c *exportCommand) print(env *cmdenv.Env, p export.Progress, w *warehouse.Warehouse, took time.Duration) error {
	missed := len(w.Status().Missed)
	if env.JSON {
		return terminal.JSON(env.Out, struct {
			export.Progress
			Version int64   `json:"version"`
			Missed  int     `json:"missed,omitempty"`
			Seconds float64 `json:"seconds"`
		}{p, w.Version(), missed, took.Seconds()})
	}
	_, err := fmt.Fprintf(env.Out, "Exported %s in %s, %s, from %s. The warehouse is at commit %d.\n",
		terminal.Count(p.Rows, "row"), terminal.Count(p.Files, "file"), size(p.Bytes), terminal.Count(p.Records, "change"), w.Version())
	return err
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
}

// Service returns a service that exports alongside a server until its context ends, and the metrics of
// its progress. It may run again after an error. An unreachable bucket is an error of the service;
// other errors of a warehouse are those of Open. Processes that share the table take turns.
func Service(ctx context.Context, place string, s *cmdenv.Store, env *cmdenv.Env) (func(context.Context) error, prometheus.Collector, error) {
	w, err := openOwn(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	lag := newLag(s.Table.Now)
	work := func(ctx context.Context) (err error) {
		if w == nil { // a bucket, or the service failed before: the present state must be read again
			if w, err = Open(ctx, place, false); err != nil {
				return err
			}
		}
		x := exporter(w, s, export.Options{Logger: env.Logger})
		lag.of.Store(x)
		defer lag.of.Store(nil)
		err = follow(ctx, x)
		if err != nil && ctx.Err() == nil {
			w = nil
			return fmt.Errorf("warehouse: %w", err)
		}
		if err != nil {
			env.Logger.Warn("warehouse: the last changes were not exported; the export continues at the next start", "error", err)
		}
		return nil
	}
	if !s.Shared {
		return work, lag, nil
	}
	return func(ctx context.Context) error {
		return lease.RunAsLeader(ctx, s.Table, leadName, lease.Options{Logger: env.Logger}, work)
	}, lag, nil
}

// openOwn opens a warehouse in a directory. For a bucket it only checks the URL, and returns nil.
func openOwn(ctx context.Context, place string) (*warehouse.Warehouse, error) {
	if !isBucket(place) {
		return Open(ctx, place, false)
	}
	_, err := s3store.Open(ctx, "warehouse", place)
	return nil, err
}

// leadName is the name of the job that one process at a time does. This avoids duplicate work;
// exporting each fact once does not depend on it.
const leadName = "warehouse"
