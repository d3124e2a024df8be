package telemetrybench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// Options configure a run. All but Only and CPUProfile are required.
type Options struct {
	workbench.Setup
	Rounds  int           // timed runs per ingest benchmark
	Turn    time.Duration // duration of a timed run
	Clients int           // maximum number of idle MQTT clients
}

// ErrOptions is returned if an option is out of range.
var ErrOptions = errors.New("telemetrybench: rounds, turn and clients must be above 0")

type bench struct{ o Options }

// Run runs the benchmarks, each on its own table, and calls report with the results.
func Run(ctx context.Context, o Options, report func(workbench.Result)) error {
	if o.Rounds < 1 || o.Turn <= 0 || o.Clients < 1 {
		return ErrOptions
	}
	b := &bench{o}
	publish := func(connections int) func(context.Context, string) ([]workbench.Result, error) {
		return func(ctx context.Context, dir string) ([]workbench.Result, error) {
			return b.publish(ctx, dir, connections)
		}
	}
	return o.Take(ctx, []workbench.Measure{
		{Name: "batch", Take: b.batch}, {Name: "lines", Take: b.lines}, {Name: "mqtt-10", Take: publish(10)}, {Name: "mqtt-100", Take: publish(100)},
		{Name: "units", Take: b.units}, {Name: "range", Take: b.ranges}, {Name: "board", Take: b.board}, {Name: "idle", Take: b.idle},
	}, report)
}

const (
	fleetID   = "bench"
	perMinute = 6_000_000 // readings of a device, the maximum for a fleet
)

func deviceID(i int) string { return fmt.Sprint("d", i) }

// addDevices creates the fleet and its devices.
func addDevices(ctx context.Context, s *workbench.Store, n int) error {
	_, err := telemetry.CreateFleet(ctx, s.Table, telemetry.NewFleet{ID: fleetID, TimeZone: "UTC", Limits: telemetry.Limits{PerMinute: perMinute}})
	if err != nil {
		return err
	}
	all := make([]telemetry.NewDevice, n)
	for i := range all {
		all[i] = telemetry.NewDevice{ID: deviceID(i), FleetID: fleetID}
	}
	_, errs := telemetry.CreateDevices(ctx, s.Table, all)
	return errors.Join(errs...)
}

// atOnce is the number of tokens created concurrently, so that their writes share syncs.
const atOnce = 64

// tokens creates a token for each of the first n devices.
func tokens(ctx context.Context, s *workbench.Store, n int) ([]string, error) {
	all := make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range all {
		group.Go(func() (err error) {
			all[i], err = credentials.NewToken(ctx, s.Table, deviceID(i))
			return err
		})
	}
	return all, group.Wait()
}

// prepared creates a table with a fleet of devices, calls more with it, and folds everything.
func (b *bench) prepared(ctx context.Context, dir string, devices int, more func(context.Context, *workbench.Store) error) error {
	s, err := b.o.Open(ctx, dir, workbench.Time{})
	if err != nil {
		return err
	}
	err = addDevices(ctx, s, devices)
	if err == nil {
		err = s.Folding(ctx, func(ctx context.Context) error {
			if err := more(ctx, s); err != nil {
				return err
			}
			return s.Worker.Drain(ctx)
		})
	}
	return errors.Join(err, s.DB.Close())
}

// served runs a benchmark with a server on the table.
func (b *bench) served(ctx context.Context, dir string, work func(*workbench.Process) ([]workbench.Result, error)) ([]workbench.Result, error) {
	p, err := workbench.Serve(ctx, b.o.Program, dir, b.o.CPUProfile, "--mqtt", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	results, err := work(p)
	return results, errors.Join(err, p.Stop())
}

// key creates an API key for sending readings of the fleet.
func key(ctx context.Context, s *workbench.Store) (string, error) {
	return s.Key(ctx, accounts.OfFleet(fleetID))
}
