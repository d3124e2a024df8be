package readings

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/telemetry/internal/order"
)

// Key names a reading. Disc distinguishes and orders readings of one millisecond. It is the
// sequence number, or a hyphen and a hash of the values. So a resent reading has the same key, and
// another reading does not.
type Key struct {
	DeviceID string
	At       time.Time // by the device's clock, in milliseconds
	Disc     string
}

// Reading is a fact: what a device measured at one time, stored once. It carries everything that
// its folds need, so that a fold reads only the change.
type Reading struct {
	Key
	FleetID     string
	Made        int64 // creation of its device, epoch seconds: distinguishes devices that reused an ID
	Arrived     int64 // epoch milliseconds, by the server's clock
	Values      Values
	Counters    []string // names of counters
	States      []string // names of numbers that are states
	Void        []string // names of retracted values, which count nowhere; "*" means all
	ZoneMinutes int      // fleet's UTC offset at the time, minutes
	Fine        bool     // the fleet has aggregates of ten minutes
	Late        bool     // late by its profile
	Correction  bool     // accepted as a correction by its profile
	Past        bool     // does not show that the device is online: imported, or measured long before its arrival
	Quiet       bool     // need not update the device's status, which another reading just did

	// ExpiresAt is when the raw reading may be deleted, in whole seconds. It is set at ingest.
	ExpiresAt time.Time
}

// Place returns the reading's place among those of its device.
func (r *Reading) Place() order.Position { return order.Of(r.At.UnixMilli(), r.Disc) }

// Compare orders readings of a device like their places; see package order.
func (k *Key) Compare(o *Key) int {
	return cmp.Or(k.At.Compare(o.At), strings.Compare(k.Disc, o.Disc))
}

// live reports whether the reading has not expired.
func (r *Reading) live(now time.Time) bool {
	return r.ExpiresAt.IsZero() || r.ExpiresAt.Unix() > now.Unix()
}

// size returns the approximate size of the reading in bytes.
func (r *Reading) size() int {
	n := len(r.DeviceID) + len(r.Disc)
	for name, v := range r.Values {
		n += len(name) + len(v.text) + 1
	}
	for _, names := range [][]string{r.Counters, r.States, r.Void} {
		for _, name := range names {
			n += len(name) + 1
		}
	}
	return n
}

// fewNames is how many values most readings have at most.
const fewNames = 16

// Unnumbered returns the Disc of a reading without a sequence number. nth numbers equal readings
// from 0.
func Unnumbered(values Values, nth int) string { return order.Unnumbered(hash(values, nth)) }

// Sum returns a hash of the values.
func Sum(values Values) string { return order.Text(hash(values, 0)) }

// hash returns a hash of the values and of nth, which numbers equal readings from 0.
func hash(values Values, nth int) uint64 {
	var h xxhash.Digest
	h.Reset()
	var few [fewNames]string
	names := few[:0]
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		v := values[name]
		h.WriteString(name)              //nolint:errcheck // a hash never fails
		h.Write([]byte{0, byte(v.form)}) //nolint:errcheck
		h.WriteString(v.text)            //nolint:errcheck
		h.Write([]byte{0})               //nolint:errcheck
	}
	if nth > 0 {
		h.Write(binary.AppendUvarint(nil, uint64(nth))) //nolint:errcheck
	}
	return h.Sum64()
}
