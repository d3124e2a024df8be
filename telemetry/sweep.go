package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/pulse"
)

// silentFrom is how many of a fleet's devices have to fall silent at once for it to be the fleet that is silent.
const silentFrom = 3

// verdict is what a look at all statuses finds.
type verdict struct {
	offline []Status            // to be called offline
	silent  map[string]*Silence // by fleet
	heard   map[string]bool     // fleets that are not silent
}

// judge looks at the statuses that are online as they are written, all of them. Where half of a fleet's devices or more
// have fallen silent, none of them is called offline: it is the way to all of them that fails. every says how often devices
// send that have shown no rhythm, as their profiles say.
func judge(online []Status, every map[string]time.Duration, now time.Time) verdict {
	v := verdict{silent: map[string]*Silence{}, heard: map[string]bool{}}
	missing := map[string][]Status{}
	total := map[string]int{}
	for _, s := range online {
		total[s.FleetID]++
		if s.At(now, every[s.DeviceID]) == Offline {
			missing[s.FleetID] = append(missing[s.FleetID], s)
		}
	}
	for _, fleet := range slices.Sorted(maps.Keys(total)) {
		if n := len(missing[fleet]); n >= silentFrom && 2*n >= total[fleet] {
			v.silent[fleet] = &Silence{SilenceKey: SilenceKey{fleet}, Since: now, Devices: n, Of: total[fleet]}
			continue
		}
		v.heard[fleet] = true
		v.offline = append(v.offline, missing[fleet]...)
	}
	return v
}

// Swept says what a sweep found.
type Swept struct {
	Offline []Status  // devices that fell silent since the last sweep
	Silent  []Silence // fleets of which most devices are silent, so that none of them is called offline
}

// Sweep finds devices that have fallen silent, by their own rhythm, and writes down that they are offline: one write when
// one falls silent, and none while it sends. Call it every half minute or so. It may be run by several.
func Sweep(ctx context.Context, t *table.Table) (Swept, error) {
	var did Swept
	online, err := StatusesByConnectivity.Collect(ctx, t, ConnectivityIn{Online})
	if err != nil {
		return did, fmt.Errorf("telemetry: sweep: %w", err)
	}
	every, err := expected(ctx, t, online, t.Now())
	if err != nil {
		return did, fmt.Errorf("telemetry: sweep: %w", err)
	}
	found := judge(online, every, t.Now())
	for i := range found.offline {
		s, err := callOffline(ctx, t, found.offline[i].StatusKey, found.offline[i].LastSeen)
		if err != nil {
			return did, fmt.Errorf("telemetry: sweep: %w", err)
		}
		if s != nil {
			did.Offline = append(did.Offline, *s)
		}
	}
	for _, fleet := range slices.Sorted(maps.Keys(found.silent)) {
		err := Silences.Create(ctx, t, found.silent[fleet])
		if err != nil && !errors.Is(err, table.ErrExists) {
			return did, fmt.Errorf("telemetry: sweep: %w", err)
		}
		did.Silent = append(did.Silent, *found.silent[fleet])
	}
	for fleet := range found.heard {
		if err := Silences.Delete(ctx, t, SilenceKey{fleet}); err != nil {
			return did, fmt.Errorf("telemetry: sweep: %w", err)
		}
	}
	return did, nil
}

// expected is how often profiles say that devices send which have shown no rhythm, of those that have paused.
func expected(ctx context.Context, t *table.Table, online []Status, now time.Time) (map[string]time.Duration, error) {
	var paused []DeviceKey
	for i := range online {
		if s := &online[i]; s.Rhythm() == 0 && now.Sub(time.UnixMilli(s.LastSeen)) >= pulse.LeastPause {
			paused = append(paused, DeviceKey{s.DeviceID})
		}
	}
	devices, err := Devices.GetMany(ctx, t, paused)
	if err != nil {
		return nil, err
	}
	profiles := make(map[string]bool)
	for _, d := range devices {
		profiles[d.ProfileID] = d.ProfileID != ""
	}
	var keys []ProfileKey
	for id, named := range profiles {
		if named {
			keys = append(keys, ProfileKey{id})
		}
	}
	known, err := Profiles.GetMany(ctx, t, keys)
	if err != nil {
		return nil, err
	}
	of := make(map[string]time.Duration, len(known))
	for _, p := range known {
		of[p.ProfileID] = time.Duration(p.Every) * time.Second
	}
	every := make(map[string]time.Duration, len(devices))
	for _, d := range devices {
		every[d.DeviceID] = of[d.ProfileID]
	}
	return every, nil
}

// callOffline writes down that a device is offline, unless it was heard of meanwhile; then it returns nil.
func callOffline(ctx context.Context, t *table.Table, k StatusKey, seen int64) (*Status, error) {
	loaded, err := fold.Load(ctx, t, Statuses, []StatusKey{k})
	if err != nil {
		return nil, err
	}
	s := loaded[0].State
	if s.LastSeen != seen || s.Connectivity != Online {
		return nil, nil
	}
	s.Silent = s.LastSeen
	s.finish()
	err = fold.ReplaceState(ctx, t, Statuses, k, s, loaded[0].Version)
	if errors.Is(err, table.ErrConflict) {
		return nil, nil
	}
	return &s, err
}
