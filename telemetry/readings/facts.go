package readings

import (
	"encoding/binary"
	"iter"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/fold"
)

// Arrival is a reading as seen by folds.
type Arrival struct{ *Reading }

// factBytes is the approximate memory of a reading.
const factBytes = 900

// Facts yields the readings of blocks; a resent reading counts once. All folds of readings share
// it. Deletions are ignored: blocks are deleted when their readings are in segments or have
// expired, which changes nothing derived.
var Facts = fold.Once(fold.Each(Blocks, factBytes, arrivals), Windows, time.Hour, nameOf, windowOf)

func arrivals(c fold.Typed[Block]) (iter.Seq2[int, Arrival], error) {
	if c.Old != nil || c.New == nil {
		return func(func(int, Arrival) bool) {}, nil
	}
	all, err := c.New.Readings()
	if err != nil {
		return nil, err
	}
	return func(yield func(int, Arrival) bool) {
		for i := range all {
			if !yield(i, Arrival{&all[i]}) {
				return
			}
		}
	}, nil
}

// knownLonger is how long windows remember readings after they expired.
const knownLonger = 24 * time.Hour

// ID identifies a reading: 8 bytes from its device, 4 from its time and 4 from Disc, in this order.
// So the IDs of a device share a prefix, which windows store once. IDs are unique among the
// readings of an hour and shard.
func (r *Reading) ID() (id [16]byte) {
	var h xxhash.Digest
	h.Reset()
	h.WriteString(r.DeviceID)                                    //nolint:errcheck // a hash never fails
	h.Write(binary.AppendVarint(append([]byte(nil), 0), r.Made)) //nolint:errcheck
	binary.BigEndian.PutUint64(id[:], h.Sum64())
	binary.BigEndian.PutUint32(id[8:], uint32(r.At.UnixMilli()%time.Hour.Milliseconds()))
	binary.BigEndian.PutUint32(id[12:], uint32(xxhash.Sum64String(r.Disc)))
	return id
}

func nameOf(a *Arrival) (fold.FactID, bool) {
	name := fold.FactID{ID: a.ID(), At: a.At.UnixMilli()}
	if !a.ExpiresAt.IsZero() {
		name.Until = a.ExpiresAt.Add(knownLonger).Unix()
	}
	return name, true
}

func windowOf(a *Arrival, span, part string) Window {
	return Window{WindowKey: WindowKey{a.FleetID, ShardOf(a.DeviceID), span, part}}
}
