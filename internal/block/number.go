package block

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// appendInts appends integers in the smaller form. Differences may overflow: decoding wraps around,
// too.
func appendInts(b []byte, ints []int64) ([]byte, form) {
	least := slices.Min(ints)
	offset, delta, last := sizeOf(zigzag(least)), 0, int64(0)
	for _, n := range ints {
		offset += sizeOf(uint64(n) - uint64(least))
		delta += sizeOf(zigzag(n - last))
		last = n
	}
	if delta <= offset {
		return appendDeltas(b, ints), formDelta
	}
	b = binary.AppendVarint(b, least)
	for _, n := range ints {
		b = binary.AppendUvarint(b, uint64(n)-uint64(least))
	}
	return b, formOffset
}

func appendDeltas(b []byte, ints []int64) []byte {
	last := int64(0)
	for _, n := range ints {
		b = binary.AppendVarint(b, n-last)
		last = n
	}
	return b
}

// readInts reads n integers.
func (d *decoder) readInts(f form, n int) {
	d.ints = slices.Grow(d.ints[:0], n)[:n]
	if f == formDelta {
		d.r.Ints(d.ints)
		for i := 1; i < n; i++ {
			d.ints[i] += d.ints[i-1]
		}
		return
	}
	least := d.r.Int()
	d.r.Uints(d.ints)
	for i := range d.ints {
		d.ints[i] += least
	}
}

// skipInts skips n integers.
func (d *decoder) skipInts(f form, n int) {
	if f == formOffset {
		n++ // the minimum
	}
	d.r.Skip(n)
}

// maxPlaces is the maximum number of decimal places of a number that is stored as an integer.
const maxPlaces = 6

var powers = [maxPlaces + 1]float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}

// appendFloats appends numbers as integers if they are decimal numbers with few places, otherwise
// as they are.
func (e *encoder) appendFloats(b []byte, floats []float64) ([]byte, form) {
	for places := range powers {
		if !e.scale(floats, powers[places]) {
			continue
		}
		start := len(b)
		b = append(b, byte(places), 0)
		var f form
		b, f = appendInts(b, e.ints)
		b[start+1] = byte(f)
		if len(b)-start < 8*len(floats) {
			return b, formDecimal
		}
		b = b[:start]
		break
	}
	for _, v := range floats {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b, formFloat
}

// scale multiplies the numbers by power to get integers. It reports false if dividing the integers
// would not return exactly the same numbers.
func (e *encoder) scale(floats []float64, power float64) bool {
	const exact = 1 << 53 // up to here, a float64 represents all integers
	e.ints = e.ints[:0]
	for _, v := range floats {
		n := math.Round(v * power)
		if !(math.Abs(n) <= exact) || math.Float64bits(n/power) != math.Float64bits(v) {
			return false
		}
		e.ints = append(e.ints, int64(n))
	}
	// Integers have no negative zero.
	return !slices.ContainsFunc(floats, func(v float64) bool { return v == 0 && math.Signbit(v) })
}

// readFloats reads n numbers.
func (d *decoder) readFloats(f form, n int) {
	d.floats = d.floats[:0]
	if f == formFloat {
		for range n {
			if b := d.r.Bytes(8); b != nil {
				d.floats = append(d.floats, math.Float64frombits(binary.BigEndian.Uint64(b)))
			}
		}
		return
	}
	head := d.r.Bytes(2)
	if head == nil || head[0] > maxPlaces || form(head[1]) != formOffset && form(head[1]) != formDelta {
		d.fail("its decimal places make no sense")
		return
	}
	d.readInts(form(head[1]), n)
	for _, v := range d.ints {
		d.floats = append(d.floats, float64(v)/powers[head[0]])
	}
}

// sizeOf returns the size of n as a varint in bytes.
func sizeOf(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// zigzag maps numbers near zero, of either sign, to small unsigned numbers.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }
