// Package quantiles is a quantile sketch that is exact while there are few distinct values.
package quantiles

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch/mapping"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

const (
	// Accuracy is the relative error of percentiles, unless bins had to be joined: see Error.
	Accuracy = 0.01

	maxDistinct = 64   // values kept exactly; an hour of minutes has 60
	maxBins     = 1024 // with 1 % they cover eight orders of magnitude
	maxLevel    = 16   // at this level, all possible values share a few bins
	valueBytes  = 20   // maximum for a value and its count, unless the count exceeds a hundred
	binBytes    = 4    // typical size of a bin
)

// Spread counts values. The zero value is empty.
//
// Invariant: it is a function of the multiset of added values and of the smallest size that it was
// fitted to, regardless of order, grouping and merges. While there are at most maxDistinct distinct
// values that fit in that size, it holds them with their counts. After that it permanently holds
// only the bins of a DDSketch. A value's bin depends only on the value, and the number of distinct
// values only grows, so it does not matter when the switch happened. While there are too many bins,
// neighbors are joined pairwise, which squares the ratio of their bounds (as in UDDSketch); level
// counts the joins. The level is the smallest at which bins are few enough, so it only rises.
type Spread struct {
	values []value // sorted, until sketched
	bins   []bin   // sorted by place
	// sketched is set once there were too many values to keep.
	sketched bool
	level    int // number of joins
}

type value struct {
	v decimalsum.Decimal
	n int64
}

// bin counts values of one sign and similar magnitude. Bins are ordered by place: 0 for zero, the
// index of the magnitude plus 1<<30 for positive values, and minus that sum for negative values.
type bin struct {
	place int64
	n     int64
}

const aside = int64(1) << 30

var sizes = newSizes()

func newSizes() *mapping.LogarithmicMapping {
	m, err := mapping.NewLogarithmicMapping(Accuracy)
	if err != nil {
		panic(err) // impossible for this Accuracy
	}
	return m
}

func (s *Spread) placeOf(f float64) int64 {
	switch size := math.Abs(f); {
	case size < sizes.MinIndexableValue():
		return 0
	case f > 0:
		return coarser(aside+int64(sizes.Index(size)), s.level)
	default:
		return coarser(-aside-int64(sizes.Index(size)), s.level)
	}
}

// coarser returns the place of a bin at a higher level.
func coarser(place int64, levels int) int64 {
	switch {
	case place > 0:
		return aside + (place-aside)>>levels
	case place < 0:
		return -aside - (-place-aside)>>levels
	}
	return 0
}

func (s *Spread) valueOf(place int64) float64 {
	size := func(index int64) float64 { return sizes.LowerBound(int(index<<s.level)) * (1 + s.Error()) }
	switch {
	case place > 0:
		return size(place - aside)
	case place < 0:
		return -size(-place - aside)
	}
	return 0
}

// Error returns the relative error of percentiles: Accuracy unless bins were joined, 0 while exact.
func (s *Spread) Error() float64 {
	if !s.sketched {
		return 0
	}
	ratio := math.Pow((1+Accuracy)/(1-Accuracy), float64(int64(1)<<s.level))
	return (ratio - 1) / (ratio + 1)
}

// Add adds a value.
func (s *Spread) Add(v decimalsum.Decimal) {
	if s.sketched {
		s.addBin(bin{s.placeOf(v.Float()), 1})
		s.bound(maxBins)
		return
	}
	i, found := slices.BinarySearchFunc(s.values, v, func(x value, v decimalsum.Decimal) int { return x.v.Cmp(&v) })
	if found {
		s.values[i].n++
		return
	}
	s.values = slices.Insert(s.values, i, value{v, 1})
	if len(s.values) > maxDistinct {
		s.sketch()
	}
}

// Merge adds all values of another spread, which is not modified.
func (s *Spread) Merge(o *Spread) {
	if !s.sketched && !o.sketched {
		if s.mergeValues(o.values); len(s.values) > maxDistinct {
			s.sketch()
		}
		return
	}
	if !s.sketched {
		s.sketch()
	}
	for _, v := range o.values {
		s.addBin(bin{s.placeOf(v.v.Float()), v.n})
	}
	for s.level < o.level {
		s.coarsen()
	}
	for _, b := range o.bins {
		s.addBin(bin{coarser(b.place, s.level-o.level), b.n})
	}
	s.bound(maxBins)
}

func (s *Spread) mergeValues(o []value) {
	merged := make([]value, 0, len(s.values)+len(o))
	a := s.values
	for len(a) > 0 && len(o) > 0 {
		switch c := a[0].v.Cmp(&o[0].v); {
		case c < 0:
			merged, a = append(merged, a[0]), a[1:]
		case c > 0:
			merged, o = append(merged, o[0]), o[1:]
		default:
			merged = append(merged, value{a[0].v, a[0].n + o[0].n})
			a, o = a[1:], o[1:]
		}
	}
	s.values = append(append(merged, a...), o...)
}

// sketch replaces values with bins.
func (s *Spread) sketch() {
	s.sketched = true
	values := s.values
	s.values = nil
	for _, v := range values {
		s.addBin(bin{s.placeOf(v.v.Float()), v.n})
	}
	s.bound(maxBins)
}

func (s *Spread) addBin(b bin) {
	i, found := slices.BinarySearchFunc(s.bins, b.place, func(x bin, place int64) int {
		switch {
		case x.place < place:
			return -1
		case x.place > place:
			return 1
		}
		return 0
	})
	if found {
		s.bins[i].n += b.n
		return
	}
	s.bins = slices.Insert(s.bins, i, b)
}

// Fit limits the spread to about the given number of bytes, at the cost of accuracy. If spreads are
// merged, none may have been fitted to fewer bytes than the result will be.
func (s *Spread) Fit(bytes int) {
	if !s.sketched && len(s.values)*valueBytes > bytes && s.size() > bytes {
		s.sketch()
	}
	s.bound(max(bytes/binBytes, 1))
}

// size returns the encoded size of the values, with two bytes per count, so that it only grows.
func (s *Spread) size() (n int) {
	var b []byte
	for _, v := range s.values {
		b = v.v.Append(b[:0])
		n += len(b) + 2
	}
	return n
}

// bound joins bins while there are more than most.
func (s *Spread) bound(most int) {
	for len(s.bins) > most && s.level < maxLevel {
		s.coarsen()
	}
}

// coarsen joins neighboring bins pairwise.
func (s *Spread) coarsen() {
	s.level++
	joined := s.bins[:0]
	for _, b := range s.bins {
		b.place = coarser(b.place, 1)
		if n := len(joined); n > 0 && joined[n-1].place == b.place {
			joined[n-1].n += b.n
			continue
		}
		joined = append(joined, b)
	}
	s.bins = joined
}

// Exact reports whether percentiles are actual values. Otherwise they are within Error of one.
func (s *Spread) Exact() bool { return !s.sketched }

// Each yields the distinct values and how often each was added. ok is false unless the spread is exact.
func (s *Spread) Each(yield func(v decimalsum.Decimal, n int64)) (ok bool) {
	for _, x := range s.values {
		yield(x.v, x.n)
	}
	return !s.sketched
}

// RankOf returns the rank of a percentile among a number of sorted values, 0 < p ≤ 100: 1 is the first.
func RankOf(p float64, total int64) int64 { return max(int64(math.Ceil(p/100*float64(total)-1e-9)), 1) }

// Percentile returns the smallest value that at least p percent of all values are at or below, 0 <
// p ≤ 100. ok is false if there are no values.
func (s *Spread) Percentile(p float64) (v decimalsum.Decimal, ok bool) {
	var total int64
	for _, x := range s.values {
		total += x.n
	}
	for _, b := range s.bins {
		total += b.n
	}
	rank := RankOf(p, total)
	for _, x := range s.values {
		if rank -= x.n; rank <= 0 {
			return x.v, true
		}
	}
	for _, b := range s.bins {
		if rank -= b.n; rank <= 0 {
			v, err := decimalsum.ParseFloat(s.valueOf(b.place))
			return v, err == nil
		}
	}
	return v, false
}

// Append appends the encoding: the number of parts and whether they are bins, the level of bins,
// the parts.
func (s *Spread) Append(b []byte) []byte {
	if !s.sketched {
		b = binary.AppendUvarint(b, uint64(len(s.values))<<1)
		for _, v := range s.values {
			b = binary.AppendUvarint(v.v.Append(b), uint64(v.n))
		}
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(s.bins))<<1|1)
	b = binary.AppendUvarint(b, uint64(s.level))
	at := int64(0)
	for _, x := range s.bins {
		b = binary.AppendUvarint(binary.AppendVarint(b, x.place-at), uint64(x.n))
		at = x.place
	}
	return b
}

// Skip passes over a spread.
func Skip(r *varint.Reader) {
	head := r.Uint()
	if head&1 == 1 {
		r.Skip(1) // the level
	}
	for range min(head>>1, maxBins) {
		if head&1 == 1 {
			r.Skip(2)
		} else {
			decimalsum.Skip(r)
			r.Skip(1)
		}
	}
}

// Read decodes a spread.
func Read(r *varint.Reader) (s Spread) {
	head := r.Uint()
	n := head >> 1
	if s.sketched = head&1 == 1; s.sketched && n > maxBins || !s.sketched && n > maxDistinct {
		r.Fail()
		return Spread{}
	}
	if !s.sketched && n > 0 {
		s.values = make([]value, n)
		for i := range s.values {
			s.values[i] = value{decimalsum.Read(r), int64(r.Uint())}
		}
	}
	if s.sketched {
		level := r.Uint()
		if level > maxLevel {
			r.Fail()
			return Spread{}
		}
		s.level = int(level)
		s.bins = make([]bin, n)
		at := int64(0)
		for i := range s.bins {
			at += r.Int()
			s.bins[i] = bin{at, int64(r.Uint())}
		}
	}
	return s
}
