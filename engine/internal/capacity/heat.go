package capacity

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/engine/internal/catalog"
)

// DynamoDB's limits for one partition, in units per second. A key that exceeds them is throttled
// regardless of the table's capacity:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html.
const (
	PartitionReadUnits  = 3000
	PartitionWriteUnits = 1000
)

// KeyUse is the capacity consumed by one partition key in this minute and the last.
type KeyUse struct {
	Key        string  // text of a string, digits of a number or bytes of a binary; for several attributes, the first
	Index      string  // index that the partition belongs to; "" for the table
	ReadUnits  float64 // too high by at most Over
	WriteUnits float64 // too high by at most Over
	PeakReads  float64 // read units in the busiest second; the limit is PartitionReadUnits
	PeakWrites float64 // write units in the busiest second; the limit is PartitionWriteUnits
	Over       float64 // units that may belong to another key, whose counter this key took over
}

const (
	heatStripes = 16
	heatSlots   = 16 // keys per stripe and minute
	hottestKeys = 16
)

// heat finds the busiest partition keys in bounded memory. Keys are spread over stripes by their
// hash. Each stripe keeps counters for a few keys of this minute and the last. A key without a
// counter takes over the smallest one with its count, which is then an upper bound ("space saving":
// Metwally, Agrawal and El Abbadi, Efficient Computation of Frequent and Top-k Elements in Data
// Streams, 2005). So a key that consumes more than a sixteenth of its stripe's units always has a
// counter. Memory is allocated on first use.
type heat struct {
	stripes atomic.Pointer[[heatStripes]heatStripe]
}

type heatStripe struct {
	mu     sync.Mutex
	minute int64
	now    heatMinute
	last   heatMinute
}

// heatMinute contains the counters of one minute. Hashes and totals are separate arrays because
// they are searched.
type heatMinute struct {
	used   int
	hashes [heatSlots]uint32
	totals [heatSlots]int64
	keys   [heatSlots]heatKey
}

// heatKey contains the counters of one key, in half units.
type heatKey struct {
	index  int
	key    []byte
	halves [2]int64 // since it has this counter
	second int64
	of     [2]int64 // in that second
	peak   [2]int64 // in the busiest second
	over   int64
}

// count adds the consumption of a key.
func (h *heat) count(d Direction, at Access, halves int64) {
	key := at.partition()
	if key == nil || halves == 0 {
		return
	}
	stripes := h.stripes.Load()
	if stripes == nil {
		h.stripes.CompareAndSwap(nil, new([heatStripes]heatStripe))
		stripes = h.stripes.Load()
	}
	hash := binary.BigEndian.Uint32(at.Primary) + uint32(at.Index)
	s := &stripes[hash%heatStripes]
	s.mu.Lock()
	s.turn(at.Second / 60)
	k, total := s.now.find(hash, at.Index, key)
	*total += halves
	k.add(d, at.Second, halves)
	s.mu.Unlock()
}

// turn starts a new minute. If the clock goes back, the current minute continues.
func (s *heatStripe) turn(minute int64) {
	if minute <= s.minute {
		return
	}
	if minute == s.minute+1 {
		s.last, s.now = s.now, s.last // reuse the memory of its keys
	} else {
		s.last.used = 0
	}
	s.now.used, s.minute = 0, minute
}

// find returns the counter of a key. If all are taken, the key takes over the smallest.
func (m *heatMinute) find(hash uint32, index int, key []byte) (*heatKey, *int64) {
	for i := range m.used {
		if k := &m.keys[i]; m.hashes[i] == hash && k.index == index && bytes.Equal(k.key, key) {
			return k, &m.totals[i]
		}
	}
	i := m.used
	over := int64(0)
	if i < heatSlots {
		m.used++
		m.totals[i] = 0
	} else {
		i = 0
		for j, t := range m.totals {
			if t < m.totals[i] {
				i = j
			}
		}
		over = m.totals[i]
	}
	k := &m.keys[i]
	*k = heatKey{index: index, key: append(k.key[:0], key...), over: over}
	m.hashes[i] = hash
	return k, &m.totals[i]
}

func (k *heatKey) add(d Direction, second, halves int64) {
	if second != k.second {
		k.second, k.of = second, [2]int64{}
	}
	k.halves[d] += halves
	k.of[d] += halves
	k.peak[d] = max(k.peak[d], k.of[d])
}

// hottest returns the keys that consumed most in this minute and the last, busiest first.
func (h *heat) hottest(t *catalog.Table, second int64) []KeyUse {
	stripes := h.stripes.Load()
	if stripes == nil {
		return nil
	}
	var keys []KeyUse
	for i := range stripes {
		s := &stripes[i]
		s.mu.Lock()
		s.turn(second / 60)
		from := len(keys)
		keys = s.last.report(t, s.now.report(t, keys, from), from)
		s.mu.Unlock()
	}
	slices.SortFunc(keys, func(a, b KeyUse) int {
		return cmp.Or(cmp.Compare(b.ReadUnits+b.WriteUnits, a.ReadUnits+a.WriteUnits), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Index, b.Index))
	})
	return slices.Clone(keys[:min(len(keys), hottestKeys)])
}

// report adds the counters to keys, merging with entries of the same key from index from on.
func (m *heatMinute) report(t *catalog.Table, keys []KeyUse, from int) []KeyUse {
	for i := range m.used {
		k := &m.keys[i]
		u := KeyUse{Key: keyText(k.key)}
		if k.index > len(t.Indexes) {
			continue // the index was deleted
		} else if k.index > 0 {
			u.Index = t.Indexes[k.index-1].Name
		}
		at := from + slices.IndexFunc(keys[from:], func(o KeyUse) bool { return o.Key == u.Key && o.Index == u.Index })
		if at < from {
			at, keys = len(keys), append(keys, u)
		}
		o := &keys[at]
		o.ReadUnits += float64(k.halves[Reading]) / 2
		o.WriteUnits += float64(k.halves[Writing]) / 2
		o.PeakReads = max(o.PeakReads, float64(k.peak[Reading])/2)
		o.PeakWrites = max(o.PeakWrites, float64(k.peak[Writing])/2)
		o.Over += float64(k.over) / 2
	}
	return keys
}
