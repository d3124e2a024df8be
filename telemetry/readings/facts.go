package readings

import (
	"encoding/binary"
	"iter"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/onefold/onefold/fold"
)

// Arrival is a reading as folds see it.
type Arrival struct{ *Reading }

// factBytes is what a reading takes in memory, about.
const factBytes = 900

// Facts are the readings of blocks, each of which counts once however often it was sent. All folds of readings share them. Blocks go
// when their readings are in segments, or have lived long enough: that is no change to what is derived from them.
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

// knownLonger is how much longer it is known than a reading is kept that it has come.
const knownLonger = 24 * time.Hour

// ID names a reading by 8 bytes of its device, 4 of its time and 4 of what tells it apart within a millisecond, in this order, so that
// those of a device have their first bytes in common, which windows do not repeat. They are unique among the readings of an hour of a shard.
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
