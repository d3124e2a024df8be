// Package workcli is the commands that fold the changes of a table beside servers, and tell where that is. It belongs to the command
// line.
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
	"github.com/onefold/onefold/table"
)

// Env is what the commands stand on.
type Env struct {
	Out, Err io.Writer
	JSON     bool
	Version  string
	// Open opens a table to work on, and Look one to read. Both close it when what they were given to do is done.
	Open func(ctx context.Context, t Tuning, work func(*Crew) error) error
	Look func(ctx context.Context, work func(t *table.Table, group string) error) error
	// Alarm makes an error of which scripts can tell by the exit code that somebody has to look.
	Alarm func(error) error
}

// Tuning is how a worker works.
type Tuning struct {
	Delays   delays.Flags  // how long what is derived may wait to be written
	LeaseFor time.Duration // how long others wait for this one when it is silent
	Owner    string        // "": one that no other has
	Memory   memory.Flags
	Addr     string // where it is said that the table is waited for; "": nowhere
}

// Crew is a worker on an open table, and what it is to do beside folding.
type Crew struct {
	Table  *table.Table
	Worker *fold.Worker
	Group  string
	Shared bool // with other processes
	Upkeep []func(context.Context) error
	Logger *slog.Logger
}

// Work is the commands of workers.
type Work struct {
	Run    Run    `cmd:"" default:"withargs" help:"Fold the changes of the table and run maintenance, beside servers and other workers. (default)"`
	Status Status `cmd:"" help:"Show each stream shard's owner, lag and gaps."`
}

// Help is more about it. Kong prints it.
func (Work) Help() string {
	return `Any number of workers may run on a table of --store dynamodb://…. They share the shards of its change stream, take over from a failed
worker after --lease-for, and run each maintenance job once. Servers can leave the work to them: serve --workers none.`
}

// The shortest and the longest that others may wait for a silent worker.
const (
	minLease = time.Second
	maxLease = 10 * time.Minute
)

// Run is `onefold work`.
type Run struct {
	outbox.Flags
	Delays   delays.Flags  `embed:""`
	Memory   memory.Flags  `embed:""`
	LeaseFor time.Duration `help:"Time without a heartbeat after which other workers take over, 1s to 10m." default:"30s" env:"ONEFOLD_LEASE_FOR"`
	Metrics  string        `help:"Address for Prometheus metrics at /metrics and health at /healthz, such as 127.0.0.1:9090 (default: none)." placeholder:"ADDR" env:"ONEFOLD_METRICS_ADDR"`
	Name     string        `help:"Name of this worker in leases, unique among workers (default: host, process ID and a random suffix)." env:"ONEFOLD_WORKER_NAME"`
}

// maxName is how long a worker's name may be, in bytes.
const maxName = 100

// Validate is called by kong.
func (c *Run) Validate() error {
	switch {
	case c.LeaseFor < minLease || c.LeaseFor > maxLease:
		return fmt.Errorf("--lease-for is %s, must be %s to %s", c.LeaseFor, minLease, maxLease)
	case len(c.Name) > maxName:
		return fmt.Errorf("--name must have at most %d bytes", maxName)
	}
	return c.Delays.Check()
}

// Run folds until it is told to stop.
func (c *Run) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, Tuning{Delays: c.Delays, Memory: c.Memory, LeaseFor: c.LeaseFor, Owner: c.Name, Addr: c.Metrics}, func(crew *Crew) error {
		tell, err := c.Notifier(crew.Table, crew.Logger)
		if err != nil {
			return err
		}
		due := Once(crew, append(crew.Upkeep, tell))
		watch := NewWatch(crew)
		moved := func(ctx context.Context) error { return migration.Watch(ctx, crew.Table.API(), crew.Table.Name()) }
		services := []func(context.Context) error{crew.Worker.Run, due, watch.Run, moved}
		if c.Metrics != "" {
			listener, err := listen.On("--metrics", c.Metrics)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Err, "metrics: http://%s/metrics\n", listener.Addr())
			services = append(services, func(ctx context.Context) error { return serveMetrics(ctx, listener, crew, watch, env.Version) })
		}
		fmt.Fprintf(env.Err, "folding the changes of %s as worker %s\n", crew.Table.Name(), crew.Worker.Owner())
		return Together(ctx, services)
	})
}

// Together runs services until ctx ends or the first of them fails, and waits for all. Being told to stop is success.
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

// Once does what is due: in one process at a time if several may work on the table.
func Once(crew *Crew, due []func(context.Context) error) func(context.Context) error {
	work := func(ctx context.Context) error { return Together(ctx, due) }
	if !crew.Shared {
		return work
	}
	return func(ctx context.Context) error {
		return fold.Lead(ctx, crew.Table, "upkeep", fold.LeadOptions{Logger: crew.Logger}, func(ctx context.Context) error {
			err := work(ctx)
			if err == nil {
				err = ctx.Err() // it ends only when it is told to
			}
			return err
		})
	}
}
