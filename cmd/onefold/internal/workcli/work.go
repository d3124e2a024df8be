// Package workcli implements the commands that fold the changes of a shared table alongside servers,
// and show their progress.
package workcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/onefold/internal/listen"
	"github.com/onefold/onefold/cmd/onefold/internal/memory"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/table"
)

// Env is the environment of the commands.
type Env struct {
	Out, Err io.Writer
	JSON     bool
	Version  string
	// Open runs work on an open table with a worker, Look on a table to read. Both close the table
	// afterwards.
	Open func(ctx context.Context, t Tuning, work func(*Process) error) error
	Look func(ctx context.Context, work func(t *table.Table, group string) error) error
	// Alarm wraps an error so that the process ends with the exit code for a problem that needs
	// attention.
	Alarm func(error) error
}

// Tuning configures a worker.
type Tuning struct {
	Delays   delays.Flags  // maximum delays of derived items
	LeaseFor time.Duration // time after which others take over from a silent worker
	Owner    string        // "": a unique name
	Memory   memory.Flags
	Addr     string // address for health checks while the table is unreachable; "": none
}

// Process is a worker on an open table, with its maintenance jobs.
type Process struct {
	Table       *table.Table
	Worker      *fold.Worker
	Group       string
	Shared      bool // with other processes
	Maintenance []func(context.Context) error
	Logger      *slog.Logger
}

// Work are the worker commands.
type Work struct {
	Run    Run    `cmd:"" default:"withargs" help:"Fold the changes of the table and run maintenance, beside servers and other workers. (default)"`
	Status Status `cmd:"" help:"Show each stream shard's owner, lag and gaps."`
}

// Help explains how workers share a table. Kong prints it.
func (Work) Help() string {
	return `Any number of workers may run on a table of --store dynamodb://…. They share the shards of its change stream, take over from a failed
worker after --lease-for, and run each maintenance job once. Servers can leave the work to them: serve --workers none.`
}

// Limits of the lease duration.
const (
	minLease = time.Second
	maxLease = 10 * time.Minute
)

// Run is the command `onefold work`.
type Run struct {
	outbox.Flags
	Delays   delays.Flags  `embed:""`
	Memory   memory.Flags  `embed:""`
	LeaseFor time.Duration `help:"Time without a heartbeat after which other workers take over, 1s to 10m." default:"30s" env:"ONEFOLD_LEASE_FOR"`
	Metrics  string        `help:"Address for Prometheus metrics at /metrics and health at /healthz, such as 127.0.0.1:9090 (default: none)." placeholder:"ADDR" env:"ONEFOLD_METRICS_ADDR"`
	Name     string        `help:"Name of this worker in leases, unique among workers (default: host, process ID and a random suffix)." env:"ONEFOLD_WORKER_NAME"`
}

// maxName is the maximum length of a worker's name in bytes.
const maxName = 100

// Validate checks the flags. Kong calls it.
func (c *Run) Validate() error {
	switch {
	case c.LeaseFor < minLease || c.LeaseFor > maxLease:
		return fmt.Errorf("--lease-for is %s, must be %s to %s", c.LeaseFor, minLease, maxLease)
	case len(c.Name) > maxName:
		return fmt.Errorf("--name must have at most %d bytes", maxName)
	}
	return c.Delays.Check()
}

// Run folds until it is interrupted.
func (c *Run) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, Tuning{Delays: c.Delays, Memory: c.Memory, LeaseFor: c.LeaseFor, Owner: c.Name, Addr: c.Metrics}, func(process *Process) error {
		var sent outbox.Counts
		tell, err := c.Notifier(process.Table, &sent, process.Logger)
		if err != nil {
			return err
		}
		// Maintenance and notifications run in one process at a time; folding is shared by leases.
		due := Once(process, append(process.Maintenance, tell))
		watch := NewWatch(process)
		moved := func(ctx context.Context) error {
			return migration.Watch(ctx, process.Table.API(), process.Table.Name())
		}
		services := []func(context.Context) error{process.Worker.Run, due, watch.Run, moved}
		if c.Metrics != "" {
			listener, err := listen.On("--metrics", c.Metrics)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Err, "metrics: http://%s/metrics\n", listener.Addr())
			services = append(services, func(ctx context.Context) error {
				return serveMetrics(ctx, listener, process, env.Version, watch, &sent)
			})
		}
		fmt.Fprintf(env.Err, "folding the changes of %s as worker %s\n", process.Table.Name(), process.Worker.Owner())
		return Together(ctx, services)
	})
}

// Together runs services until ctx ends or the first of them fails, and waits for all. An interrupt
// is not an error.
func Together(ctx context.Context, services []func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range services {
		group.Go(func() error {
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

// Once returns a service that runs the due jobs. If several processes may work on the table, only
// one of them runs the jobs at a time.
func Once(process *Process, due []func(context.Context) error) func(context.Context) error {
	work := func(ctx context.Context) error { return Together(ctx, due) }
	if !process.Shared {
		return work
	}
	return func(ctx context.Context) error {
		return lease.RunAsLeader(ctx, process.Table, "upkeep", lease.Options{Logger: process.Logger}, func(ctx context.Context) error {
			err := work(ctx)
			if err == nil {
				err = ctx.Err() // the job returns only when its context ends
			}
			return err
		})
	}
}
