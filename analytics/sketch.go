package analytics

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrSketch is returned when a stored sketch is not one.
var ErrSketch = errors.New("analytics: not a sketch")

// Sketch is a set of 64-bit hashes that can be counted and merged, but not listed or taken from. Up to sketchExact
// hashes it is exact. Beyond that it is a HyperLogLog of 2^12 registers with a standard error of 1.6 %
// (1.04/sqrt(4096), Flajolet et al. 2007).
//
// The same hashes make the same bytes, in whatever order they came (docs/format/analytics.md):
//
//	empty  nothing
//	exact  0x01, then the hashes, sorted, 8 bytes each, big-endian
//	dense  0x02, then 4,096 registers of one byte
type Sketch []byte

const (
	sketchExact     = 512
	sketchPrecision = 12
	sketchRegisters = 1 << sketchPrecision

	exactTag = 1
	denseTag = 2
)

// Add puts a hash into the set.
func (s *Sketch) Add(hash uint64) {
	if s.dense() {
		(*s).addDense(hash)
		return
	}
	if len(*s) == 0 {
		*s = append(*s, exactTag)
	}
	i, found := (*s).search(hash)
	if found {
		return
	}
	if (*s).len() == sketchExact {
		s.condense()
		(*s).addDense(hash)
		return
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], hash)
	*s = slices.Insert(*s, 1+8*i, b[:]...)
}

// Merge puts all of another set into this one. The other is not changed, and not kept.
func (s *Sketch) Merge(o Sketch) {
	switch {
	case len(o) == 0:
	case len(*s) == 0:
		*s = slices.Clone(o)
	case o.dense():
		if !s.dense() {
			s.condense()
		}
		for i, r := range o[1:] {
			(*s)[1+i] = max((*s)[1+i], r)
		}
	default:
		for i := range o.len() {
			s.Add(o.hash(i))
		}
	}
}

// Count estimates how many hashes were put in: exactly up to sketchExact, and beyond that with the stated error.
func (s Sketch) Count() int64 {
	if !s.dense() {
		return int64(s.len())
	}
	return int64(math.Round(s.estimate()))
}

func (s Sketch) dense() bool       { return len(s) > 0 && s[0] == denseTag }
func (s Sketch) len() int          { return len(s) / 8 } // the tag is less than one hash
func (s Sketch) hash(i int) uint64 { return binary.BigEndian.Uint64(s[1+8*i:]) }

func (s Sketch) search(hash uint64) (int, bool) {
	n := s.len()
	i := sort.Search(n, func(i int) bool { return s.hash(i) >= hash })
	return i, i < n && s.hash(i) == hash
}

// condense turns an exact sketch into registers.
func (s *Sketch) condense() {
	exact := *s
	*s = make(Sketch, 1+sketchRegisters)
	(*s)[0] = denseTag
	for i := range exact.len() {
		(*s).addDense(exact.hash(i))
	}
}

// addDense counts a hash in the register of its first bits: the most zeros seen before the first one in the rest.
func (s Sketch) addDense(hash uint64) {
	register := 1 + hash>>(64-sketchPrecision)
	rank := uint8(bits.LeadingZeros64(hash<<sketchPrecision|1<<(sketchPrecision-1)) + 1)
	s[register] = max(s[register], rank)
}

// estimate is the improved raw estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches"
// (2017), algorithm 6: without bias over the whole range, and without tables.
func (s Sketch) estimate() float64 {
	const q = 64 - sketchPrecision
	var counts [q + 2]int
	for _, r := range s[1:] {
		counts[min(int(r), q+1)]++
	}
	const m = float64(sketchRegisters)
	z := m * tau(1-float64(counts[q+1])/m)
	for k := q; k >= 1; k-- {
		z = 0.5 * (z + float64(counts[k]))
	}
	z += m * sigma(float64(counts[0])/m)
	return m * m / (2 * math.Ln2 * z)
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += x * y
		y += y
		if z == before {
			return z
		}
	}
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= (1 - x) * (1 - x) * y
		if z == before {
			return z / 3
		}
	}
}

// MarshalDynamoDBAttributeValue stores the set as binary.
func (s Sketch) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberB{Value: slices.Clone(s)}, nil
}

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue stored. Errors: ErrSketch.
func (s *Sketch) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok || !Sketch(b.Value).valid() {
		return ErrSketch
	}
	*s = slices.Clone(b.Value)
	return nil
}

func (s Sketch) valid() bool {
	switch {
	case len(s) == 0:
		return true
	case s.dense():
		return len(s) == 1+sketchRegisters
	}
	return s[0] == exactTag && len(s)%8 == 1 && s.len() <= sketchExact &&
		sort.SliceIsSorted(make([]struct{}, s.len()), func(i, j int) bool { return s.hash(i) < s.hash(j) })
}
