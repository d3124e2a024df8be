package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/ingeststate"
)

const (
	settingsLifetime = 10 * time.Second // how long a collector caches a device's settings
	// SettingsNotice is the time after a change of a device, fleet, profile or retraction from
	// which every reading uses it.
	SettingsNotice = 2 * settingsLifetime
	maxDevices     = 50_000 // cached devices, including unknown IDs
)

// deviceCache caches devices, and reads evicted ones again.
type deviceCache struct {
	t           *table.Table
	statusEvery time.Duration
	stale       time.Duration // how long cached settings hold while the store is unreachable; 0: not at all

	mu       sync.Mutex
	devices  map[string]*deviceEntry
	fleets   map[string]*cached[Fleet]
	profiles map[string]*cached[Profile]
}

// cached is a setting that several devices share.
type cached[T any] struct {
	mu    sync.Mutex
	value T
	found bool
	until time.Time
}

// deviceEntry caches one device and its ingest state. Concurrent callers share one read.
type deviceEntry struct {
	mu    sync.Mutex
	state *deviceState // nil: the device does not exist
	until time.Time

	sends ingeststate.State
}

// deviceState is a collector's view of a device. It is immutable.
type deviceState struct {
	device      Device
	fleet       Fleet
	profile     Profile
	zone        calendar.Zone
	metrics     map[string]*metricDef
	retractions []Retraction
	statusEvery time.Duration
	entry       *deviceEntry
}

func newDeviceCache(t *table.Table) *deviceCache {
	return &deviceCache{
		t: t, devices: make(map[string]*deviceEntry), fleets: make(map[string]*cached[Fleet]), profiles: make(map[string]*cached[Profile]),
	}
}

func (c *deviceCache) forget(deviceID string) {
	c.mu.Lock()
	e := c.devices[deviceID]
	clear(c.fleets)
	clear(c.profiles)
	c.mu.Unlock()
	if e != nil { // after unlocking: a holder of e.mu may be waiting for c.mu
		e.mu.Lock()
		e.until = time.Time{}
		e.mu.Unlock()
	}
}

// entryOf returns the entry of a key. A new entry may evict any other.
func entryOf[E any](mu *sync.Mutex, places map[string]*E, key string) *E {
	mu.Lock()
	defer mu.Unlock()
	e := places[key]
	if e != nil {
		return e
	}
	if len(places) >= maxDevices {
		for other := range places {
			delete(places, other)
			break
		}
	}
	e = new(E)
	places[key] = e
	return e
}

// clearReported lets the next readings of a device update its status if the present ones were not stored.
func (c *Collector) clearReported(in []Incoming, became []Outcome) {
	for i := range in {
		if status := became[i].Status; status != Duplicate && status != "" {
			continue
		}
		c.devices.mu.Lock()
		e := c.devices.devices[in[i].DeviceID]
		c.devices.mu.Unlock()
		if e != nil {
			ingeststate.ClearReported(&e.sends, in[i].Values)
		}
	}
}

// fresh reports whether a cached setting is valid. A clock that jumped back does not extend it.
func fresh(now, until time.Time) bool {
	return now.Before(until) && until.Sub(now) <= settingsLifetime
}

// get returns a device, or nil if it does not exist.
func (c *deviceCache) get(ctx context.Context, deviceID string) (*deviceState, error) {
	if checkID("device", deviceID) != nil {
		return nil, nil
	}
	e := entryOf(&c.mu, c.devices, deviceID)
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := c.t.Now(); !fresh(now, e.until) {
		state, err := c.load(ctx, deviceID, e)
		if err != nil && (!dynamo.IsUnavailable(err) || e.state == nil || now.Sub(e.until) >= c.stale) {
			return nil, err
		}
		if err == nil {
			e.state, e.until = state, now.Add(settingsLifetime)
		}
	}
	return e.state, nil
}

func (c *deviceCache) load(ctx context.Context, deviceID string, e *deviceEntry) (*deviceState, error) {
	d, err := GetDevice(ctx, c.t, deviceID)
	if errors.Is(err, table.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.StateOf(ctx, d, e)
}

// stateOf loads the state of a device, nil if its fleet does not exist.
func (c *deviceCache) StateOf(ctx context.Context, d Device, e *deviceEntry) (*deviceState, error) {
	s := &deviceState{device: d, entry: e, metrics: make(map[string]*metricDef), statusEvery: c.statusEvery}
	var err error
	fleet := entryOf(&c.mu, c.fleets, s.device.FleetID)
	found := false
	if s.fleet, found, err = fleet.get(c.t.Now(), func() (Fleet, error) { return GetFleet(ctx, c.t, s.device.FleetID) }); err != nil || !found {
		return nil, err
	}
	if id := s.device.ProfileID; id != "" {
		profile := entryOf(&c.mu, c.profiles, id)
		if s.profile, _, err = profile.get(c.t.Now(), func() (Profile, error) { return ProfileByID.Get(ctx, c.t, ProfileIn{id}) }); err != nil {
			return nil, err
		}
	}
	for _, m := range s.profile.Metrics {
		s.metrics[m.Name] = readMetric(m)
	}
	if s.retractions, err = RetractionsOfDevice.Collect(ctx, c.t, DeviceIn{d.DeviceID}); err != nil {
		return nil, err
	}
	if s.zone, err = calendar.LoadZone(s.fleet.TimeZone); err != nil {
		return nil, err
	}
	return s, e.prepare(ctx, c.t, s)
}

// get returns a setting. It caches absence, too.
func (c *cached[T]) get(now time.Time, load func() (T, error)) (v T, found bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fresh(now, c.until) {
		return c.value, c.found, nil
	}
	v, err = load()
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return v, false, err
	}
	c.value, c.found, c.until = v, err == nil, now.Add(settingsLifetime)
	return c.value, c.found, nil
}

// prepare sets a device's limits and loads the metrics that it has sent so far.
func (e *deviceEntry) prepare(ctx context.Context, t *table.Table, s *deviceState) error {
	e.sends.Limit(cmp.Or(s.fleet.Limits.PerMinute, defaultPerMinute))
	if e.sends.Loaded() {
		return nil
	}
	status, err := StatusByID.Get(ctx, t, DeviceIn{s.device.DeviceID})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	told := make(map[string]int64, len(status.Values))
	for name, v := range status.Values {
		told[name] = v.At
	}
	e.sends.Load(told)
	return nil
}

// allow enforces a device's limits. Values of metrics beyond the limit are removed and returned.
func (s *deviceState) allow(in *Reading, imported bool, now time.Time) ([]Omitted, *rejection) {
	if !imported {
		if after, ok := s.entry.sends.Allow(now); !ok {
			r := reject(TooFast, "more than %d readings a minute", cmp.Or(s.fleet.Limits.PerMinute, defaultPerMinute))
			r.after = after
			return nil, r
		}
	}
	most := cmp.Or(s.fleet.Limits.Metrics, defaultMetrics)
	names := ingeststate.RecordMetrics(&s.entry.sends, in.At.UnixMilli(), in.Values, most)
	if len(names) == 0 {
		return nil, nil
	}
	detail := fmt.Sprintf("the device has sent %d different metrics within a day, the limit of its fleet", most)
	if len(names) == len(in.Values) {
		return nil, reject(TooManyMetrics, "%s", detail)
	}
	in.Values = maps.Clone(in.Values)
	excess := make([]Omitted, len(names))
	for i, name := range names {
		delete(in.Values, name)
		excess[i] = Omitted{name, TooManyMetrics, detail}
	}
	return excess, nil
}
