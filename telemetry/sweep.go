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
// have fallen silent, none of them is called offline: it is the way to all of them that fails.
func judge(online []Status, now time.Time) verdict {
	v := verdict{silent: map[string]*Silence{}, heard: map[string]bool{}}
	missing := map[string][]Status{}
	total := map[string]int{}
	for _, s := range online {
		total[s.FleetID]++
		if s.At(now, 0) == Offline {
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
	found := judge(online, t.Now())
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
