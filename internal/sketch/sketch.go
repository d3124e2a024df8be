// Package sketch counts distinct things by their hashes: exactly while they are few, and with a
// small known error, in bounded space, when they are many. The bytes of a set depend only on its
// elements, not on the order or grouping in which they were added. So folds can merge sets, and a
// recount can compare them.
package sketch

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ErrMalformed is returned when stored bytes are not a set.
var ErrMalformed = errors.New("sketch: not a set of hashes")

// Set is a set of 64-bit hashes that can be counted and merged, but not listed or reduced. Up to
// 512 hashes it is exact. Beyond that it is a HyperLogLog of 2^12 registers with a standard error
// of 1.6 % (1.04/sqrt(4096), Flajolet et al. 2007). The zero value is empty.
//
// Equal sets of hashes have equal bytes (docs/format/analytics.md):
//
//	empty  nothing
//	exact  0x01, then the hashes, sorted, 8 bytes each, big-endian
//	dense  0x02, then 4,096 registers of one byte
type Set []byte

const (
	maxExact  = 512
	precision = 12
	registers = 1 << precision

	exactTag = 1
	denseTag = 2
)

// Add adds a hash to the set.
func (s *Set) Add(hash uint64) {
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
	if (*s).len() == maxExact {
		s.condense()
		(*s).addDense(hash)
		return
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], hash)
	*s = slices.Insert(*s, 1+8*i, b[:]...)
}

// Merge adds all hashes of another set. The other set is not modified or retained.
func (s *Set) Merge(o Set) {
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

// Count estimates the number of hashes: exactly up to 512, and beyond that with the error given
// above.
func (s Set) Count() int64 {
	if !s.dense() {
		return int64(s.len())
	}
	return int64(math.Round(s.estimate()))
}

func (s Set) dense() bool       { return len(s) > 0 && s[0] == denseTag }
func (s Set) len() int          { return len(s) / 8 } // rounds down, which drops the tag
func (s Set) hash(i int) uint64 { return binary.BigEndian.Uint64(s[1+8*i:]) }

func (s Set) search(hash uint64) (int, bool) {
	n := s.len()
	i := sort.Search(n, func(i int) bool { return s.hash(i) >= hash })
	return i, i < n && s.hash(i) == hash
}

// condense converts an exact set to registers.
func (s *Set) condense() {
	exact := *s
	*s = make(Set, 1+registers)
	(*s)[0] = denseTag
	for i := range exact.len() {
		(*s).addDense(exact.hash(i))
	}
}

// addDense updates the register selected by a hash's first bits: the maximum number of leading
// zeros in the remaining bits, plus one.
func (s Set) addDense(hash uint64) {
	register := 1 + hash>>(64-precision)
	rank := uint8(bits.LeadingZeros64(hash<<precision|1<<(precision-1)) + 1)
	s[register] = max(s[register], rank)
}

// estimate is the improved raw estimator of Ertl, "New cardinality estimation algorithms for
// HyperLogLog sketches" (2017), algorithm 6: unbiased over the whole range, and without tables.
func (s Set) estimate() float64 {
	const q = 64 - precision
	var counts [q + 2]int
	for _, r := range s[1:] {
		counts[min(int(r), q+1)]++
	}
	const m = float64(registers)
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
func (s Set) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberB{Value: slices.Clone(s)}, nil
}

// UnmarshalDynamoDBAttributeValue reads what MarshalDynamoDBAttributeValue stored. Errors: ErrMalformed.
func (s *Set) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok || !Set(b.Value).valid() {
		return ErrMalformed
	}
	*s = slices.Clone(b.Value)
	return nil
}

func (s Set) valid() bool {
	switch {
	case len(s) == 0:
		return true
	case s.dense():
		return len(s) == 1+registers
	}
	return s[0] == exactTag && len(s)%8 == 1 && s.len() <= maxExact &&
		sort.SliceIsSorted(make([]struct{}, s.len()), func(i, j int) bool { return s.hash(i) < s.hash(j) })
}
