package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/cadence"
	"github.com/onefold/onefold/telemetry/internal/order"
	"github.com/onefold/onefold/telemetry/readings"
)

func foldStatuses(c Config) *fold.Fold {
	return fold.New("telemetry.statuses", Statuses, (*Status).Merge,
		fold.OnEach(readings.Facts, func(a *readings.Arrival, at func(StatusKey) *Status) error {
			if !a.Quiet {
				at(StatusKey{a.DeviceID}).Add(a.Reading)
			}
			return nil
		}),
	).With(fold.Hold(c.Wait), fold.Finish((*Status).Finish))
}

// Add adds a reading.
func (s *Status) Add(r *Reading) {
	s.FleetID = max(s.FleetID, r.FleetID)
	if !r.Past {
		s.LastSeen = max(s.LastSeen, r.Arrived)
		s.Arrivals.Add(r.Arrived / 1000)
	}
	if s.Values == nil {
		s.Values = make(Latest, len(r.Values))
	}
	place := r.Place()
	for name, v := range r.Values {
		s.Values.note(name, LatestValue{place.At, place.Nth, place.Tie, v})
	}
}

// note keeps a value if it is the latest of its metric.
func (l Latest) note(name string, v LatestValue) {
	if have, there := l[name]; !there || have.Before(v) {
		l[name] = v
	}
}

// bound keeps the values of the maxMetrics metrics with the latest times, ties by name. Times only
// grow, so a metric dropped now would be dropped at the end too, unless it is sent again.
func (l Latest) bound() {
	if len(l) <= maxMetrics {
		return
	}
	names := slices.SortedFunc(maps.Keys(l), func(a, b string) int { return cmp.Or(cmp.Compare(l[b].At, l[a].At), cmp.Compare(a, b)) })
	for _, name := range names[maxMetrics:] {
		delete(l, name)
	}
}

// Merge adds the readings of another part of the status.
//
// Invariant: a status is a function of the multiset of its readings, and of Silent and
// OfflineSince, which no fold sets. The latest value of a metric is the value with the last place.
func (s *Status) Merge(o *Status) {
	s.FleetID = max(s.FleetID, o.FleetID)
	s.Silent, s.OfflineSince = max(s.Silent, o.Silent), max(s.OfflineSince, o.OfflineSince)
	s.LastSeen = max(s.LastSeen, o.LastSeen)
	s.Arrivals.Merge(o.Arrivals)
	if len(s.Values) == 0 {
		s.Values = o.Values
		return
	}
	for name, v := range o.Values {
		s.Values.note(name, v)
	}
}

func (v LatestValue) place() order.Position { return order.Position{At: v.At, Nth: v.Nth, Tie: v.Tie} }

// Before reports whether o is later than v.
func (v LatestValue) Before(o LatestValue) bool {
	return cmp.Or(v.place().Compare(o.place()), cmp.Compare(v.Value.String(), o.Value.String())) < 0
}

// Finish sets the fields that depend on others, and limits the number of metrics.
func (s *Status) Finish() {
	s.Values.bound()
	s.Shard = table.Shard(s.DeviceID, Shards)
	switch {
	case s.LastSeen == 0:
		s.Connectivity = Never
	case s.Silent >= s.LastSeen:
		s.Connectivity = Offline
	default:
		s.Connectivity = Online
	}
	if s.Connectivity != Offline {
		s.OfflineSince = 0
	}
}

// Miss marks the device as offline until its next reading.
func (s *Status) Miss(now time.Time) {
	s.Silent, s.OfflineSince = s.LastSeen, now.UnixMilli()
	s.Finish()
}

// Rewind corrects a last arrival in the future, recorded by a server whose clock was ahead, to now.
func (s *Status) Rewind(now time.Time) {
	at, wasOffline := now.UnixMilli(), s.Silent >= s.LastSeen
	if s.LastSeen <= at {
		return
	}
	s.LastSeen, s.Silent, s.OfflineSince = at, min(s.Silent, at-1), min(s.OfflineSince, at)
	if wasOffline {
		s.Silent = at
	}
	s.Arrivals.Until(now.Unix())
	s.Finish()
}

// tail is how many readings ReadStatus reads at most.
const tail = 1000

// ReadStatus returns the latest values of a device, including readings newer than its stored
// status. Errors: table.ErrNotFound for a device that never sent anything.
func ReadStatus(ctx context.Context, t *table.Table, deviceID string) (Status, error) {
	s, err := StatusByID.Get(ctx, t, DeviceIn{deviceID})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return s, fmt.Errorf("telemetry: status of device %q: %w", shorten(deviceID), err)
	}
	known := len(s.Values) > 0
	s.DeviceID = deviceID
	oldest := s.oldest()
	n := 0
	for r, err := range (ReadingsIn{DeviceID: deviceID, Partial: true}).Back(ctx, t) {
		if err != nil {
			return s, fmt.Errorf("telemetry: status of device %q: %w", shorten(deviceID), err)
		}
		if n++; n > tail || r.At.UnixMilli() < oldest {
			break
		}
		was := s.Arrivals
		s.Add(&r)
		if s.Arrivals = was; !known && s.LastSeen != 0 { // the expected interval stays that of the stored status
			break
		}
	}
	if !known && n == 0 {
		return s, fmt.Errorf("telemetry: status of device %q: %w", shorten(deviceID), table.ErrNotFound)
	}
	s.Finish()
	return s, nil
}

// oldest returns the time of the least recent metric: earlier readings add nothing. A reading of
// that very time may, because the status does not see every reading of a millisecond.
func (s *Status) oldest() int64 {
	oldest := int64(math.MaxInt64)
	for _, v := range s.Values {
		oldest = min(oldest, v.At)
	}
	if len(s.Values) == 0 {
		return math.MinInt64
	}
	return oldest
}

// Interval returns the expected interval, estimated from readings; 0: unknown.
func (s *Status) Interval() time.Duration { return s.Arrivals.Interval() }

// At returns the connectivity at a time: online if the last arrival is within SilenceTimeout. every is
// the interval of the profile, 0 if unknown.
func (s *Status) At(now time.Time, every time.Duration) Connectivity {
	switch {
	case s.LastSeen == 0:
		return Never
	case now.Before(time.UnixMilli(s.LastSeen).Add(s.SilenceTimeout(every))):
		return Online
	}
	return Offline
}

// SilenceTimeout returns how long a device may be quiet before it counts as offline: three expected
// intervals, at least MinTimeout.
func (s *Status) SilenceTimeout(every time.Duration) time.Duration {
	return cadence.SilenceTimeout(max(s.Interval(), every))
}

// MinTimeout is the shortest time without readings that makes a device offline.
const MinTimeout = cadence.MinTimeout
