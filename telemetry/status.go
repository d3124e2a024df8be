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

func foldStatuses() *fold.Fold {
	return fold.New("telemetry.statuses", Statuses, (*Status).Merge,
		fold.OnEach(readings.Facts, func(a *readings.Arrival, at func(StatusKey) *Status) error {
			if !a.Quiet {
				at(StatusKey{a.DeviceID}).Add(a.Reading)
			}
			return nil
		}),
	).With(fold.Finish((*Status).Finish))
}

// Add notes a reading.
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

// bound keeps the values of at most maxMetrics metrics: those with the latest times, and of one time those whose names come first.
// Times only grow, so what was left out once would be left out at the end, too, unless it is heard of again.
func (l Latest) bound() {
	if len(l) <= maxMetrics {
		return
	}
	names := slices.SortedFunc(maps.Keys(l), func(a, b string) int { return cmp.Or(cmp.Compare(l[b].At, l[a].At), cmp.Compare(a, b)) })
	for _, name := range names[maxMetrics:] {
		delete(l, name)
	}
}

// Merge adds what other readings say.
//
// Invariant: a status is a function of the multiset of its readings, and of Silent and OfflineSince, which no fold sets. The latest value
// of a metric is the one with the last place.
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

func (v LatestValue) place() order.Place { return order.Place{At: v.At, Nth: v.Nth, Tie: v.Tie} }

// Before reports whether another value is later than this one.
func (v LatestValue) Before(o LatestValue) bool {
	return cmp.Or(v.place().Compare(o.place()), cmp.Compare(v.Value.String(), o.Value.String())) < 0
}

// Finish sets what follows from the rest, and keeps the values of the metrics that were heard of last.
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

// Miss says that the device is offline from now on, until it is heard of again.
func (s *Status) Miss(now time.Time) {
	s.Silent, s.OfflineSince = s.LastSeen, now.UnixMilli()
	s.Finish()
}

// Rewind moves a last arrival that lies in the future to now: a server's clock was ahead when it came.
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

// tail is how many readings ReadStatus looks at, at most.
const tail = 1000

// ReadStatus reads the latest values of a device, with those that came since its status was written. Errors:
// table.ErrNotFound for a device that has never sent anything.
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
		if s.Arrivals = was; !known && s.LastSeen != 0 { // the rhythm is that of what is written
			break
		}
	}
	if !known && n == 0 {
		return s, fmt.Errorf("telemetry: status of device %q: %w", shorten(deviceID), table.ErrNotFound)
	}
	s.Finish()
	return s, nil
}

// oldest is the time of the metric that was heard of longest ago: no reading before it says anything new. One of that time may, since the
// status is not told of every reading of a millisecond.
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

// Rhythm is how often the device is heard of, as it shows itself; 0 if too little is known of it.
func (s *Status) Rhythm() time.Duration { return s.Arrivals.Rhythm() }

// At says whether the device is online at a time: whether it was heard of within its Patience. every is how often its profile
// says that it sends, 0 if it does not say.
func (s *Status) At(now time.Time, every time.Duration) Connectivity {
	switch {
	case s.LastSeen == 0:
		return Never
	case now.Before(time.UnixMilli(s.LastSeen).Add(s.Patience(every))):
		return Online
	}
	return Offline
}

// Patience is how long nothing has to be heard of the device for it to be offline: three beats of its own rhythm, and at
// least LeastPause.
func (s *Status) Patience(every time.Duration) time.Duration {
	return cadence.Patience(max(s.Rhythm(), every))
}

// LeastPause is the shortest time without readings that makes a device offline, however often it sends.
const LeastPause = cadence.LeastPause
