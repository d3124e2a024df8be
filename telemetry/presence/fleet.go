package presence

import (
	"cmp"
	"slices"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
)

const (
	silentFrom = 3 // minimum number of devices for the silence of a fleet

	// SilenceLasts is how long a device that fell silent counts as part of its fleet's silence. So
	// a silence ends after that time even if no device returns.
	SilenceLasts = 24 * time.Hour
)

// fleet holds the result of a sweep for one fleet.
type fleet struct {
	online   int
	missed   []pause // of the devices that fell silent within SilenceLasts
	arrivals *readings.LastArrivals
}

// pause is the time between a device's last arrival and its detection as offline, in epoch
// milliseconds. It fell silent at some time in between.
type pause struct{ heard, called int64 }

// miss records an offline device.
func (f *fleet) miss(st *telemetry.Status, now time.Time) {
	if now.Sub(time.UnixMilli(st.OfflineSince)) < SilenceLasts {
		f.missed = append(f.missed, pause{st.LastSeen, st.OfflineSince})
	}
}

// silence reports whether most of the fleet fell silent at once: at least three devices, and at
// least half of those that were online until then. nil: it did not.
func (f *fleet) silence(listening time.Time) *telemetry.Silence {
	n, last := atOnce(f.missed)
	if n < silentFrom || 2*n < n+f.online {
		return nil
	}
	return &telemetry.Silence{Since: later(time.UnixMilli(last), listening).UTC(), Devices: n, Of: n + f.online}
}

// atOnce returns how many devices at most may have fallen silent at the same time, and the last
// arrival of these: the greatest number of pauses with a common instant, and the latest such
// instant.
func atOnce(all []pause) (most int, last int64) {
	slices.SortFunc(all, func(a, b pause) int { return cmp.Compare(a.heard, b.heard) })
	called := make([]int64, len(all))
	for i := range all {
		called[i] = all[i].called
	}
	slices.Sort(called)
	over := 0 // pauses that ended before the current one began
	for i := range all {
		for called[over] < all[i].heard {
			over++
		}
		if n := i + 1 - over; n >= most {
			most, last = n, all[i].heard
		}
	}
	return most, last
}
