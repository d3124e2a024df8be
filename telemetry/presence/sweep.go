package presence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Swept says what a sweep found.
type Swept struct {
	Offline []telemetry.Status  // devices that fell silent since the last sweep
	Silent  []telemetry.Silence // fleets of which most devices fell silent at once
}

// Sweep finds devices that have fallen silent, by their own rhythm, and writes down that they are offline: one write when
// one falls silent, and none while it sends. Then it finds fleets of which most devices fell silent at once. Silence counts from
// listening at the earliest (Listening.Since); the zero time means that somebody always listened. Call it every half minute or
// so. Several may.
func Sweep(ctx context.Context, t *table.Table, listening time.Time) (Swept, error) {
	s := &sweep{t: t, now: t.Now(), listening: listening, fleets: make(map[string]*fleet)}
	for _, do := range []func(context.Context) error{s.online, s.offline, s.silences} {
		if err := do(ctx); err != nil {
			return s.did, fmt.Errorf("presence: sweep: %w", err)
		}
	}
	return s.did, nil
}

type sweep struct {
	t         *table.Table
	now       time.Time
	listening time.Time
	fleets    map[string]*fleet
	known     map[string]bool // devices that online has looked at: an index may list them as offline meanwhile
	did       Swept
}

func (s *sweep) fleet(id string) *fleet {
	f := s.fleets[id]
	if f == nil {
		f = new(fleet)
		s.fleets[id] = f
	}
	return f
}

// online looks at the devices that are online, as their statuses were written.
func (s *sweep) online(ctx context.Context) error {
	statuses, err := telemetry.StatusesByConnectivity.Collect(ctx, s.t, telemetry.ConnectivityIn{Connectivity: telemetry.Online})
	if err != nil {
		return err
	}
	every, err := expected(ctx, s.t, statuses, s.now)
	if err != nil {
		return err
	}
	s.known = make(map[string]bool, len(statuses))
	for i := range statuses {
		st := &statuses[i]
		s.known[st.DeviceID] = true
		heard := time.UnixMilli(st.LastSeen)
		if err := s.rewind(ctx, st); err != nil {
			return err
		}
		if s.now.Before(later(heard, s.listening).Add(st.Patience(every[st.DeviceID]))) {
			s.fleet(st.FleetID).online++
			continue
		}
		if err := s.miss(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

// offline looks at the devices that are offline, and were so before this sweep.
func (s *sweep) offline(ctx context.Context) error {
	for st, err := range telemetry.StatusesByConnectivity.All(ctx, s.t, telemetry.ConnectivityIn{Connectivity: telemetry.Offline}) {
		if err != nil {
			return err
		}
		if s.known[st.DeviceID] {
			continue
		}
		if err := s.rewind(ctx, &st); err != nil {
			return err
		}
		s.fleet(st.FleetID).miss(&st, s.now)
	}
	return nil
}

// miss calls a device offline.
func (s *sweep) miss(ctx context.Context, st *telemetry.Status) error {
	now, changed, err := rewrite(ctx, s.t, st, func(st *telemetry.Status) { st.Miss(s.now) })
	if err != nil {
		return err
	}
	if !changed { // it was heard of meanwhile
		s.fleet(st.FleetID).online++
		return nil
	}
	s.did.Offline = append(s.did.Offline, now)
	s.fleet(now.FleetID).miss(&now, s.now)
	return nil
}

// rewind mends a status whose last arrival lies in the future. Otherwise the device would be online until then, and could not come
// back if it is offline.
func (s *sweep) rewind(ctx context.Context, st *telemetry.Status) error {
	if time.UnixMilli(st.LastSeen).Sub(s.now) < telemetry.LeastPause { // clocks of several servers differ a little
		return nil
	}
	_, _, err := rewrite(ctx, s.t, st, func(st *telemetry.Status) { st.Rewind(s.now) })
	return err
}

// silences writes down which fleets fell silent, and which did not.
func (s *sweep) silences(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(s.fleets)) {
		silence := s.fleets[id].silence(s.listening)
		if silence == nil {
			if err := telemetry.Silences.Delete(ctx, s.t, telemetry.SilenceKey{FleetID: id}); err != nil {
				return err
			}
			continue
		}
		silence.FleetID = id
		if err := telemetry.Silences.Create(ctx, s.t, silence); err != nil && !errors.Is(err, table.ErrExists) {
			return err
		}
		s.did.Silent = append(s.did.Silent, *silence)
	}
	return nil
}

// rewrite changes a status, unless the device was heard of, or found to be offline, since the status was read.
func rewrite(ctx context.Context, t *table.Table, was *telemetry.Status, change func(*telemetry.Status)) (is telemetry.Status, changed bool, err error) {
	loaded, err := fold.Load(ctx, t, telemetry.Statuses, []telemetry.StatusKey{was.StatusKey})
	if err != nil {
		return is, false, err
	}
	is = loaded[0].State
	if is.LastSeen != was.LastSeen || is.Connectivity != was.Connectivity {
		return is, false, nil
	}
	change(&is)
	err = fold.ReplaceState(ctx, t, telemetry.Statuses, was.StatusKey, is, loaded[0].Version)
	if errors.Is(err, table.ErrConflict) {
		return is, false, nil
	}
	return is, err == nil, err
}

// expected is how often devices send, as their profiles say, of those for which that matters: they have paused without having
// shown a rhythm, or paused for longer than by their rhythm.
func expected(ctx context.Context, t *table.Table, online []telemetry.Status, now time.Time) (map[string]time.Duration, error) {
	var paused []telemetry.DeviceKey
	for i := range online {
		s := &online[i]
		if pause := now.Sub(time.UnixMilli(s.LastSeen)); pause >= s.Patience(0) || s.Rhythm() == 0 && pause >= telemetry.LeastPause {
			paused = append(paused, telemetry.DeviceKey{DeviceID: s.DeviceID})
		}
	}
	devices, err := telemetry.Devices.GetMany(ctx, t, paused)
	if err != nil {
		return nil, err
	}
	named := make(map[string]bool)
	for i := range devices {
		if id := devices[i].ProfileID; id != "" {
			named[id] = true
		}
	}
	var keys []telemetry.ProfileKey
	for id := range named {
		keys = append(keys, telemetry.ProfileKey{ProfileID: id})
	}
	known, err := telemetry.Profiles.GetMany(ctx, t, keys)
	if err != nil {
		return nil, err
	}
	of := make(map[string]time.Duration, len(known))
	for i := range known {
		of[known[i].ProfileID] = time.Duration(known[i].Every) * time.Second
	}
	every := make(map[string]time.Duration, len(devices))
	for i := range devices {
		every[devices[i].DeviceID] = of[devices[i].ProfileID]
	}
	return every, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
