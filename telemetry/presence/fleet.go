package presence

import (
	"cmp"
	"slices"
	"time"

	"github.com/onefold/onefold/telemetry"
)

const (
	silentFrom = 3 // devices that have to fall silent at once for it to be the fleet that is silent

	// SilenceLasts is how long a device that fell silent counts as a part of its fleet's silence. So a silence ends after that
	// time even if no device returns.
	SilenceLasts = 24 * time.Hour
)

// fleet is what a sweep finds of the devices of one fleet.
type fleet struct {
	online int
	missed []pause // of the devices that fell silent within SilenceLasts
}

// pause says of a device when it was heard of last and when it was called offline, in epoch milliseconds. It fell silent at some
// time between them.
type pause struct{ heard, called int64 }

// miss notes a device that is offline.
func (f *fleet) miss(st *telemetry.Status, now time.Time) {
	if now.Sub(time.UnixMilli(st.OfflineSince)) < SilenceLasts {
		f.missed = append(f.missed, pause{st.LastSeen, st.OfflineSince})
	}
}

// silence says whether most of the fleet fell silent at once: at least three devices, and at least half of those that were online
// until then. nil: it did not.
func (f *fleet) silence(listening time.Time) *telemetry.Silence {
	n, last := atOnce(f.missed)
	if n < silentFrom || 2*n < n+f.online {
		return nil
	}
	return &telemetry.Silence{Since: later(time.UnixMilli(last), listening).UTC(), Devices: n, Of: n + f.online}
}

// atOnce returns how many devices may have fallen silent at the same time, at most, and when the last of them was heard of: the
// greatest number of pauses that have an instant in common, the latest of several.
func atOnce(all []pause) (most int, last int64) {
	slices.SortFunc(all, func(a, b pause) int { return cmp.Compare(a.heard, b.heard) })
	called := make([]int64, len(all))
	for i := range all {
		called[i] = all[i].called
	}
	slices.Sort(called)
	over := 0 // pauses that ended before the one that begins
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
