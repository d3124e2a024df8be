package query

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
)

// concurrency is how many devices are read at a time.
const concurrency = 8

// run is one query being answered.
type run struct {
	t       *table.Table
	in      Request
	now     time.Time
	percent float64
	plan    plan
	limits  limits

	aggregatesRead, readingsRead atomic.Int64

	blocks struct {
		sync.Mutex
		read *readings.Waiting
	}

	mu    sync.Mutex // guards cells and rows
	cells map[string][]*cell
	rows  int
}

// Do answers a query. Errors: ErrInvalid, ErrTooMuch, ErrExpired; table.ErrNotFound for an unknown
// fleet; those of the store.
func Do(ctx context.Context, t *table.Table, in Request) (Result, error) {
	return do(ctx, t, in, defaultLimits)
}

func do(ctx context.Context, t *table.Table, in Request, l limits) (Result, error) {
	in.From, in.To = in.From.UTC().Truncate(time.Millisecond), in.To.UTC().Truncate(time.Millisecond)
	if err := in.check(); err != nil {
		return Result{}, err
	}
	r := &run{t: t, in: in, now: t.Now(), percent: in.Function.percent(), limits: l, cells: map[string][]*cell{}}
	devices, err := r.prepare(ctx)
	if err != nil {
		return Result{}, err
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(concurrency)
	for i := range devices {
		work.Go(func() error {
			d := device{run: r, id: devices[i].DeviceID}
			parts, err := d.evaluate(ctx)
			if err != nil {
				return err
			}
			return r.add(&devices[i], parts)
		})
	}
	if err := work.Wait(); err != nil {
		return Result{}, err
	}
	result := Result{Rows: r.result(), Devices: len(devices), Aggregates: int(r.aggregatesRead.Load()), Readings: int(r.readingsRead.Load())}
	if len(result.Rows) > l.rows { // states are rows of their own
		return Result{}, r.tooManyRows()
	}
	return result, nil
}

// prepare plans the query and returns its devices.
func (r *run) prepare(ctx context.Context) ([]telemetry.Device, error) {
	fleet, err := telemetry.GetFleet(ctx, r.t, r.in.FleetID)
	if err != nil {
		return nil, err
	}
	zone, err := calendar.LoadZone(fleet.TimeZone)
	if err != nil {
		return nil, err
	}
	if r.plan, err = newPlan(&r.in, zone, r.now, r.limits.steps); err != nil {
		return nil, err
	}
	devices, err := r.devices(ctx)
	if err == nil && r.plan.hours*len(devices) > r.limits.aggregates {
		err = tooMuch("%d devices times %d hours: select fewer devices or a shorter range; at most %d", len(devices), r.plan.hours, r.limits.aggregates)
	}
	return devices, err
}

// devices returns the selected devices.
func (r *run) devices(ctx context.Context) ([]telemetry.Device, error) {
	if len(r.in.Devices) > 0 {
		return r.named(ctx)
	}
	label := telemetry.LabelIn{FleetID: r.in.FleetID, Kind: telemetry.ByFleet, Value: telemetry.Any}
	switch {
	case r.in.Tag != "":
		label.Kind, label.Value = telemetry.ByTag, r.in.Tag
	case r.in.Profile != "":
		label.Kind, label.Value = telemetry.ByProfile, r.in.Profile
	}
	var all []telemetry.Device
	for cursor := ""; ; {
		page, err := telemetry.ListDevices(ctx, r.t, label, cursor, 1000)
		if errors.Is(err, table.ErrKeyValue) {
			return nil, nil // no device can have such a tag
		}
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(page.Items, func(d telemetry.Device) bool { return !r.selects(&d) })...)
		if len(all) > r.limits.devices {
			return nil, tooMuch("more than %d devices: select some by tag or profile", r.limits.devices)
		}
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

func (r *run) selects(d *telemetry.Device) bool {
	return d.FleetID == r.in.FleetID && d.DeletedAt.IsZero() && (r.in.Tag == "" || slices.Contains(d.Tags, r.in.Tag)) && (r.in.Profile == "" || d.ProfileID == r.in.Profile)
}

// named returns the devices with the given IDs.
func (r *run) named(ctx context.Context) ([]telemetry.Device, error) {
	if len(r.in.Devices) > r.limits.devices {
		return nil, tooMuch("more than %d devices", r.limits.devices)
	}
	ids := slices.Compact(slices.Sorted(slices.Values(r.in.Devices)))
	keys := make([]telemetry.DeviceKey, len(ids))
	for i, id := range ids {
		keys[i].DeviceID = id
	}
	all, err := telemetry.Devices.GetMany(ctx, r.t, keys)
	if err != nil && !errors.Is(err, table.ErrKeyValue) {
		return nil, err
	}
	known := map[string]bool{}
	for i := range all {
		known[all[i].DeviceID] = all[i].FleetID == r.in.FleetID && all[i].DeletedAt.IsZero()
	}
	for _, id := range ids {
		if !known[id] {
			return nil, invalid("the fleet has no device %.64q", id)
		}
	}
	return slices.DeleteFunc(all, func(d telemetry.Device) bool { return !r.selects(&d) }), nil
}

// charge counts what was read. It fails at the limit.
func (r *run) charge(aggregates, read int) error {
	if r.aggregatesRead.Add(int64(aggregates)) > int64(r.limits.aggregates) {
		return tooMuch("more than %d hours of devices: select fewer devices or a shorter range", r.limits.aggregates)
	}
	if r.readingsRead.Add(int64(read)) > int64(r.limits.readings) {
		return tooMuch("more than %d raw readings: select fewer devices, a shorter range, whole hours as steps, or a function that aggregates answer", r.limits.readings)
	}
	return nil
}

// waiting returns the blocks of the fleet, which are read once.
func (r *run) waiting(ctx context.Context) (*readings.Waiting, error) {
	r.blocks.Lock()
	defer r.blocks.Unlock()
	if r.blocks.read == nil {
		read, err := readings.ReadWaiting(ctx, r.t, r.in.FleetID)
		if err != nil {
			return nil, err
		}
		r.blocks.read = read
	}
	return r.blocks.read, nil
}

// groups returns the groups of a device.
func (r *run) groups(d *telemetry.Device) []string {
	switch r.in.GroupBy {
	case ByDevice:
		return []string{d.DeviceID}
	case ByProfile:
		return []string{d.ProfileID}
	case ByType:
		return []string{d.Type}
	case ByTag:
		if len(d.Tags) > 0 {
			return d.Tags
		}
	}
	return []string{""}
}

// add adds what a device contributes to its groups.
func (r *run) add(d *telemetry.Device, parts []*part) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.groups(d) {
		cells := r.cells[name]
		if cells == nil {
			cells = make([]*cell, len(parts))
			r.cells[name] = cells
		}
		for i, p := range parts {
			if p == nil {
				continue
			}
			if cells[i] == nil {
				cells[i] = new(cell)
				if r.rows++; r.rows > r.limits.rows {
					return r.tooManyRows()
				}
			}
			cells[i].add(p)
		}
	}
	return nil
}

func (r *run) tooManyRows() error {
	return tooMuch("more than %d rows: use longer steps, a shorter range or fewer groups", r.limits.rows)
}

// result returns the rows.
func (r *run) result() []Row {
	rows := make([]Row, 0, r.rows)
	for _, name := range slices.Sorted(maps.Keys(r.cells)) {
		for i, c := range r.cells[name] {
			if c != nil {
				s := r.plan.steps[i]
				rows = c.rows(rows, Row{Group: name, At: s.from}, r.in.Function, earlier(s.to, r.now).Sub(s.from).Milliseconds())
			}
		}
	}
	return rows
}
