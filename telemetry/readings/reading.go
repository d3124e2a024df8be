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

// Key names a reading. Disc tells readings of one millisecond apart, and is in their order: the number that the device gave it, or a
// hyphen and a hash of what it says. So a reading that is sent again has the same key, and another reading has not.
type Key struct {
	DeviceID string
	At       time.Time // by the device's clock, in milliseconds
	Disc     string
}

// Reading is a fact: what a device measured at one time, stored once. It carries all that its folds need, so that a fold reads
// nothing but the change.
type Reading struct {
	Key
	FleetID     string
	Made        int64 // when its device was made, in epoch seconds: one that is made again under the same ID is another
	Arrived     int64 // epoch milliseconds, by the server's clock
	Values      Values
	Counters    []string // names of values that only grow, but for resets
	States      []string // names of numbers that are states
	Void        []string // names of values that are retracted: they count nowhere; "*" is all
	ZoneMinutes int      // the fleet's offset from UTC at that time, in minutes
	Fine        bool     // the fleet keeps aggregates of ten minutes
	Late        bool     // it came later than its profile calls late
	Correction  bool     // it changes what the profile wants to see corrected openly
	Past        bool     // it is no sign of life: it was imported, or measured long before it arrived
	Quiet       bool     // another has told the device's status as much a moment ago

	// ExpiresAt is when the raw reading may be deleted, in whole seconds. It is decided at ingest.
	ExpiresAt time.Time
}

// Place is where the reading is among those of its device.
func (r *Reading) Place() order.Place { return order.Of(r.At.UnixMilli(), r.Disc) }

// Compare orders readings of a device as their places are. Package order has the rule.
func (k *Key) Compare(o *Key) int {
	return cmp.Or(k.At.Compare(o.At), strings.Compare(k.Disc, o.Disc))
}

// live reports whether the reading has not expired.
func (r *Reading) live(now time.Time) bool {
	return r.ExpiresAt.IsZero() || r.ExpiresAt.Unix() > now.Unix()
}

// size is about what the reading takes by itself, in bytes.
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

// fewNames is how many values a reading has, mostly, at most.
const fewNames = 16

// Unnumbered returns the Disc of a reading without a sequence number: nth is its number, from 0, among several that say the same.
func Unnumbered(values Values, nth int) string { return order.Unnumbered(hash(values, nth)) }

// Sum is a hash of what a reading says.
func Sum(values Values) string { return order.Text(hash(values, 0)) }

// hash is that of what a reading says, and of its number, from 0, among several that say the same.
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
