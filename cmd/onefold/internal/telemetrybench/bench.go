package telemetrybench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
	"github.com/onefold/onefold/telemetry"
)

// Options configure a run. All but Only and CPUProfile are required.
type Options struct {
	Program string        // onefold itself, whose serve is measured
	Dir     string        // where tables are made; must exist
	Rounds  int           // turns of a measure of ingest
	Turn    time.Duration // length of a turn
	Clients int           // idle clients of MQTT, at most
	Only    *regexp.Regexp

	CPUProfile string // the server writes one here for each measure, with the measure's name before the extension

	Open     workbench.Open
	Progress func(doing string)
}

// ErrOptions is returned when an option is out of its range.
var ErrOptions = errors.New("telemetrybench: rounds, turn and clients must be above 0")

// measure is one thing that can be measured.
type measure struct {
	name string
	take func(b *bench, ctx context.Context, dir string) ([]workbench.Result, error)
}

var measures = []measure{
	{"batch", (*bench).batch},
	{"lines", (*bench).lines},
	{"mqtt-10", func(b *bench, ctx context.Context, dir string) ([]workbench.Result, error) {
		return b.publish(ctx, dir, 10)
	}},
	{"mqtt-100", func(b *bench, ctx context.Context, dir string) ([]workbench.Result, error) {
		return b.publish(ctx, dir, 100)
	}},
	{"units", (*bench).units},
	{"range", (*bench).ranges},
	{"board", (*bench).board},
	{"idle", (*bench).idle},
}

type bench struct{ o Options }

// Run takes the measures, each on a table of its own, and hands their results to report.
func Run(ctx context.Context, o Options, report func(workbench.Result)) error {
	if o.Rounds < 1 || o.Turn <= 0 || o.Clients < 1 {
		return ErrOptions
	}
	b := &bench{o}
	for _, m := range measures {
		if o.Only != nil && !o.Only.MatchString(m.name) {
			continue
		}
		o.Progress(m.name)
		results, err := m.take(b, ctx, filepath.Join(o.Dir, m.name))
		if err != nil {
			return fmt.Errorf("telemetrybench: %s: %w", m.name, err)
		}
		for _, r := range results {
			report(r)
		}
	}
	return nil
}

const (
	fleetID   = "bench"
	perMinute = 6_000_000 // readings of a device: the most that a fleet may allow
)

func deviceID(i int) string { return fmt.Sprint("d", i) }

// addDevices makes the fleet and its devices.
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

// atOnce are tokens that are made at a time: they are written together.
const atOnce = 64

// tokens makes a token of each of the first n devices.
func tokens(ctx context.Context, s *workbench.Store, n int) ([]string, error) {
	all := make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range all {
		group.Go(func() (err error) {
			all[i], err = telemetry.NewToken(ctx, s.Table, deviceID(i))
			return err
		})
	}
	return all, group.Wait()
}

// prepared makes a table with a fleet of devices and does more with it, everything folded.
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

// served runs a server on a table for a measure.
func (b *bench) served(ctx context.Context, dir string, work func(*workbench.Process) ([]workbench.Result, error)) ([]workbench.Result, error) {
	p, err := workbench.Serve(ctx, b.o.Program, dir, b.o.CPUProfile, "--mqtt", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	results, err := work(p)
	return results, errors.Join(err, p.Stop())
}

// key makes one that sends for the fleet.
func key(ctx context.Context, s *workbench.Store) (string, error) {
	return s.Key(ctx, accounts.OfFleet(fleetID))
}
