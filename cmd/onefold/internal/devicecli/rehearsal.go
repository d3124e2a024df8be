package devicecli

import (
	"context"
	"errors"
	"sync"

	"github.com/onefold/onefold/cmd/onefold/internal/readingfiles"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// deviceMaker takes readings in, and makes devices that are not there, if it may.
type deviceMaker struct {
	table     *table.Table
	fleet     string // "": it may not
	collector *telemetry.Collector

	mu    sync.Mutex
	known map[string]bool // devices that are there
	made  int
}

// Ingest stores the readings.
func (m *deviceMaker) Ingest(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, error) {
	if m.fleet != "" {
		if err := m.ensure(ctx, in); err != nil {
			return nil, err
		}
	}
	return m.collector.Ingest(ctx, in)
}

func (m *deviceMaker) ensure(ctx context.Context, in []telemetry.Incoming) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range in {
		id := in[i].DeviceID
		if m.known[id] {
			continue
		}
		_, err := telemetry.CreateDevice(ctx, m.table, telemetry.NewDevice{ID: id, FleetID: m.fleet})
		switch {
		case err == nil:
			m.made++
			m.collector.Forget(id)
		case !errors.Is(err, table.ErrExists) && !errors.Is(err, telemetry.ErrInvalid): // its readings are rejected
			return err
		}
		m.known[id] = true
	}
	return nil
}

// rehearse reads the files and says what an import would do. Devices that an import would make are made in memory.
func (c *Import) rehearse(ctx context.Context, env *Env, s *Store, o readingfiles.Options, into *telemetrySummary) (err error) {
	into.DryRun = true
	r := &rehearsal{real: telemetry.NewCollector(s.Table, telemetry.CollectorOptions{}), devices: s.Table, known: map[string]bool{}, seen: map[telemetry.ReadingKey]bool{}}
	if c.Fleet != "" {
		db, err := engine.OpenMemory(engine.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if err := r.imagine(ctx, db, c.Fleet); err != nil {
			return err
		}
	}
	err = c.read(ctx, env, r, o, into)
	if r.made != nil {
		into.Devices = r.made.made
	}
	return err
}

// rehearsal says what would become of readings. It remembers the keys of those that would be stored, so that what comes
// twice is a duplicate the second time, as it would be.
type rehearsal struct {
	real    *telemetry.Collector
	devices *table.Table
	made    *deviceMaker // devices that an import would make; nil: it would make none

	mu    sync.Mutex
	known map[string]bool // whether a device is really there
	seen  map[telemetry.ReadingKey]bool
}

// imagined is the name of a table in memory.
const imagined = "imagined"

// imagine makes a table in memory with the fleet.
func (r *rehearsal) imagine(ctx context.Context, db *engine.DB, fleetID string) error {
	fleet, err := telemetry.GetFleet(ctx, r.devices, fleetID)
	if err == nil {
		err = telemetry.Schema.Ensure(ctx, db, imagined)
	}
	if err != nil {
		return err
	}
	t := table.New(db, imagined, table.Options{})
	r.made = &deviceMaker{table: t, fleet: fleetID, collector: telemetry.NewCollector(t, telemetry.CollectorOptions{}), known: map[string]bool{}}
	return telemetry.Fleets.Create(ctx, t, &fleet)
}

// Ingest says what would become of the readings.
func (r *rehearsal) Ingest(ctx context.Context, in []telemetry.Incoming) ([]telemetry.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	outcomes := make([]telemetry.Outcome, len(in))
	for _, there := range []bool{true, false} {
		var some []telemetry.Incoming
		var of []int
		for i := range in {
			is, err := r.isThere(ctx, in[i].DeviceID)
			if err != nil {
				return nil, err
			}
			if is == there {
				some, of = append(some, in[i]), append(of, i)
			}
		}
		became, err := r.preview(ctx, there, some)
		if err != nil {
			return nil, err
		}
		for n, i := range of {
			outcomes[i] = became[n]
		}
	}
	return outcomes, nil
}

// preview asks the collector of what is there, or of what is imagined.
func (r *rehearsal) preview(ctx context.Context, there bool, in []telemetry.Incoming) ([]telemetry.Outcome, error) {
	if there || r.made == nil {
		return r.real.Preview(ctx, in)
	}
	if err := r.made.ensure(ctx, in); err != nil {
		return nil, err
	}
	return r.made.collector.Preview(ctx, in)
}

func (r *rehearsal) isThere(ctx context.Context, id string) (bool, error) {
	is, known := r.known[id]
	if !known {
		_, err := telemetry.GetDevice(ctx, r.devices, id)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return false, err
		}
		is = err == nil
		r.known[id] = is
	}
	return is, nil
}
