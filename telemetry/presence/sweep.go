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
	"github.com/onefold/onefold/telemetry/readings"
)

// Swept is the result of a sweep.
type Swept struct {
	Offline []telemetry.Status  // devices that fell silent since the last sweep
	Silent  []telemetry.Silence // fleets of which most devices fell silent at once
}

// Sweep detects devices that fell silent, by their expected interval, and marks them as offline:
// one write per silence, none while a device sends. Then it detects fleets of which most devices
// fell silent at once. Silence counts from listening (Listening.Since) at the earliest; the zero
// time means that a server always listened. Call it about every half minute; calls may be
// concurrent.
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
	known     map[string]bool // devices already seen by online: the index may list them again as offline
	did       Swept
}

func (s *sweep) fleet(id string) *fleet {
	f := s.fleets[id]
	if f == nil {
		f = &fleet{arrivals: readings.NewLastArrivals(s.t, id)}
		s.fleets[id] = f
	}
	return f
}

// online checks the devices that are stored as online.
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
		if err := s.rewind(ctx, st); err != nil {
			return err
		}
		timeout := st.SilenceTimeout(every[st.DeviceID])
		heard, err := s.heard(ctx, st, timeout)
		if err != nil {
			return err
		}
		if !s.silent(heard, timeout) {
			s.fleet(st.FleetID).online++
			continue
		}
		if err := s.miss(ctx, st, heard); err != nil {
			return err
		}
	}
	return nil
}

// offline checks the devices that were offline before this sweep.
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

// silent reports whether a device that was last heard at a time, in epoch milliseconds, is silent.
func (s *sweep) silent(heard int64, timeout time.Duration) bool {
	return !s.now.Before(later(time.UnixMilli(heard), s.listening).Add(timeout))
}

// heard returns when a device was last heard. If it seems silent by its status, its readings decide,
// because the status may lag behind them.
func (s *sweep) heard(ctx context.Context, st *telemetry.Status, timeout time.Duration) (int64, error) {
	if !s.silent(st.LastSeen, timeout) {
		return st.LastSeen, nil
	}
	last, err := s.fleet(st.FleetID).arrivals.Of(ctx, st.DeviceID)
	return max(st.LastSeen, last), err
}

// miss marks a device as offline that was last heard at a time, in epoch milliseconds.
func (s *sweep) miss(ctx context.Context, st *telemetry.Status, heard int64) error {
	now, changed, err := rewrite(ctx, s.t, st, func(st *telemetry.Status) {
		st.LastSeen = max(st.LastSeen, heard)
		st.Miss(s.now)
	})
	if err != nil {
		return err
	}
	if !changed { // it sent in the meantime
		s.fleet(st.FleetID).online++
		return nil
	}
	s.did.Offline = append(s.did.Offline, now)
	s.fleet(now.FleetID).miss(&now, s.now)
	return nil
}

// rewind corrects a status with a last arrival in the future. Otherwise the device would stay
// online until then, or could not come back if it is offline.
func (s *sweep) rewind(ctx context.Context, st *telemetry.Status) error {
	if time.UnixMilli(st.LastSeen).Sub(s.now) < telemetry.MinTimeout { // the clocks of servers differ slightly
		return nil
	}
	_, _, err := rewrite(ctx, s.t, st, func(st *telemetry.Status) { st.Rewind(s.now) })
	return err
}

// silences stores which fleets are silent, and deletes silences that ended.
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

// rewrite changes a status, unless the device sent or went offline since the status was read.
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

// expected returns the intervals in the profiles of devices for which they matter: devices that
// have paused for longer than their estimated interval allows, or that paused without a known
// interval.
func expected(ctx context.Context, t *table.Table, online []telemetry.Status, now time.Time) (map[string]time.Duration, error) {
	var paused []telemetry.DeviceKey
	for i := range online {
		s := &online[i]
		if pause := now.Sub(time.UnixMilli(s.LastSeen)); pause >= s.SilenceTimeout(0) || s.Interval() == 0 && pause >= telemetry.MinTimeout {
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
