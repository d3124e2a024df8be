package telemetry

import (
	"context"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// FoldGroup is the name under which workers store the positions of this package's folds.
const FoldGroup = "telemetry"

// Config configures the folds. The zero value uses the default retention for all fleets.
type Config struct {
	// Retention returns a fleet's retention. It is called before every write of an aggregate, so it
	// must answer from memory, as FleetRetention does. nil: the defaults, whatever fleets chose.
	Retention func(fleetID string) Retention
	// Wait is how long aggregates and statuses are held for more readings before they are written.
	// 0: only until the worker's flush. See fold.Hold.
	Wait time.Duration
}

// FleetRetention returns a function for Config.Retention that caches each fleet for ten seconds. If
// a fleet cannot be read, its items get the default lifetime until they are written again.
func FleetRetention(t *table.Table) func(fleetID string) Retention {
	cache := newDeviceCache(t)
	return func(fleetID string) Retention {
		ctx, cancel := context.WithTimeout(context.Background(), retentionTimeout)
		defer cancel()
		f, _, err := entryOf(&cache.mu, cache.fleets, fleetID).get(t.Now(), func() (Fleet, error) { return GetFleet(ctx, t, fleetID) })
		if err != nil {
			return Retention{}
		}
		return f.Retention
	}
}

const retentionTimeout = 5 * time.Second

func (c Config) retention(fleetID string) Retention {
	if c.Retention == nil {
		return Retention{}
	}
	return c.Retention(fleetID)
}

// Folds returns all folds of the package. Readings are folded into aggregates and statuses; changes
// of hourly aggregates into roll-up marks; devices into labels; devices and statuses into fleet
// counts. The expiry of a reading changes nothing derived.
func Folds(c Config) []*fold.Fold {
	return []*fold.Fold{foldAggregates(c), foldStatuses(c), foldRollupMarks(), foldLabels(), foldCounts()}
}

func foldLabels() *fold.Fold {
	return fold.New("telemetry.labels", Labels, (*Label).merge,
		fold.On(Devices, func(ch fold.Typed[Device], at func(LabelKey) *Label) error {
			was, is := LabelsOf(ch.Old), LabelsOf(ch.New)
			for k := range is {
				if !was[k] {
					*at(k) = Label{LabelKey: k, There: true}
				}
			}
			for k := range was {
				if !is[k] {
					*at(k) = Label{LabelKey: k, Gone: true}
				}
			}
			return nil
		}),
	).With(fold.Removable(func(l *Label) bool { return l.Gone }))
}

// merge replaces the label, because it has one device, whose changes arrive in order.
func (l *Label) merge(o *Label) {
	if o.There || o.Gone {
		*l = *o
	}
}

// LabelsOf returns the labels of a device, none for nil.
func LabelsOf(d *Device) map[LabelKey]bool {
	switch {
	case d == nil:
		return nil
	case !d.DeletedAt.IsZero():
		return map[LabelKey]bool{{d.FleetID, ByFleet, Deleting, d.DeviceID}: true}
	}
	all := map[LabelKey]bool{{d.FleetID, ByFleet, Any, d.DeviceID}: true}
	add := func(kind LabelKind, value string) {
		if value != "" {
			all[LabelKey{d.FleetID, kind, value, d.DeviceID}] = true
		}
	}
	add(ByStatus, string(d.Status))
	add(ByType, d.Type)
	add(ByFirmware, d.Firmware)
	add(ByProfile, d.ProfileID)
	for _, tag := range d.Tags {
		add(ByTag, tag)
	}
	return all
}

func foldCounts() *fold.Fold {
	return fold.New("telemetry.counts", Counts, (*FleetCounts).merge,
		fold.On(Devices, func(ch fold.Typed[Device], at func(FleetCountsKey) *FleetCounts) error {
			countDevice(ch.Old, -1, ch.New, at)
			countDevice(ch.New, +1, ch.Old, at)
			return nil
		}),
		fold.On(Statuses, func(ch fold.Typed[Status], at func(FleetCountsKey) *FleetCounts) error {
			countStatus(ch.Old, -1, ch.New, at)
			countStatus(ch.New, +1, ch.Old, at)
			return nil
		}),
	)
}

// merge adds counts and removes those that become zero.
func (c *FleetCounts) merge(o *FleetCounts) {
	c.ByStatus, c.ByConnectivity = addCounts(c.ByStatus, o.ByStatus), addCounts(c.ByConnectivity, o.ByConnectivity)
}

func addCounts(into, delta map[string]int64) map[string]int64 {
	if into == nil {
		into = make(map[string]int64, len(delta))
	}
	for k, n := range delta {
		if into[k] += n; into[k] == 0 {
			delete(into, k)
		}
	}
	return into
}

// countDevice counts a device with a sign, unless its other image counts the same.
func countDevice(d *Device, sign int64, other *Device, at func(FleetCountsKey) *FleetCounts) {
	counts := func(d *Device) bool { return d != nil && d.DeletedAt.IsZero() }
	if !counts(d) || counts(other) && other.FleetID == d.FleetID && other.Status == d.Status {
		return
	}
	c := at(FleetCountsKey{d.FleetID})
	c.ByStatus = addCounts(c.ByStatus, map[string]int64{string(d.Status): sign})
}

// countStatus counts a status with a sign, unless its other image counts the same. Never is not
// counted: it is the rest of all devices.
func countStatus(s *Status, sign int64, other *Status, at func(FleetCountsKey) *FleetCounts) {
	if s == nil || s.Connectivity == Never || other != nil && other.FleetID == s.FleetID && other.Connectivity == s.Connectivity {
		return
	}
	c := at(FleetCountsKey{s.FleetID})
	c.ByConnectivity = addCounts(c.ByConnectivity, map[string]int64{string(s.Connectivity): sign})
}
