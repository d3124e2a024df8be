package block

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/oklog/ulid/v2"
)

// encoder holds the buffers for encoding a block. The fields from present to nested are those of
// the current column: which facts have a value, and the values, in the field for their kind.
type encoder struct {
	present []uint16
	texts   []string
	ids     []ulid.ULID // parsed from texts
	ints    []int64
	floats  []float64
	ends    []int // ends of the nested values in nested.b
	nested  Writer
	cells   gathered

	dictionary dictionary
	references []byte // into the dictionary
	columns    []column
	stored     []byte // data of the columns set aside: random bytes do not compress
	packed     []byte // data of the other columns
	compressed []byte

	seriesValues    []byte // of cells
	spareReferences []byte
	places          []uint8
	elements        int // the maximum number of elements of a column so far
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.nested.dictionary = &e.dictionary
	return e
}}

const (
	maxPooled = 1 << 20 // maximum size in bytes of a buffer that is kept for the next block
	fewTexts  = 16      // initial capacity of a dictionary if nothing is known
)

// release returns the encoder to the pool. It must not retain the facts.
func (e *encoder) release() {
	e.begin()
	clear(e.nested.keys[:cap(e.nested.keys)])
	e.cells.reset()
	e.columns, e.stored, e.packed, e.elements = e.columns[:0], e.stored[:0], e.packed[:0], 0
	if max(cap(e.packed), cap(e.nested.b), cap(e.stored)) <= maxPooled && cap(e.dictionary.texts) <= 4*MaxFacts {
		encoders.Put(e)
	}
}

// begin prepares for a column.
func (e *encoder) begin() {
	clear(e.texts)
	e.present, e.texts, e.ints, e.floats, e.ends = e.present[:0], e.texts[:0], e.ints[:0], e.floats[:0], e.ends[:0]
	e.nested.b, e.nested.elements = e.nested.b[:0], 0
	e.dictionary.reset(fewTexts)
}

// has records that fact i has a value.
func (e *encoder) has(i int) { e.present = append(e.present, uint16(i)) }

// bytes returns the size of the columns so far.
func (e *encoder) bytes() int { return len(e.stored) + len(e.packed) }

// column encodes the values of a column, which must have at least one.
func (e *encoder) column(number, flags byte, k kind, facts int) {
	area, before := &e.packed, len(e.packed)
	if k == idKind && e.takeULIDs() {
		flags |= aside
	}
	if flags&aside != 0 {
		area, before = &e.stored, len(e.stored)
	}
	if len(e.present) < facts {
		flags |= sparse
		*area = appendPresent(*area, e.present, facts)
	}
	if len(e.present) > 1 && e.allSame(k) {
		flags |= same
	}
	var form form
	*area, form = e.appendValues(*area, k, flags)
	e.columns = append(e.columns, column{number: number, flags: flags, form: form, size: len(*area) - before})
	e.elements = max(e.elements, e.nested.elements, len(e.dictionary.texts))
	if k == cellsKind {
		e.elements = max(e.elements, e.cells.count)
	}
}

// appendPresent appends a bit for each fact, from the lowest bit of the first byte: 1 if the fact
// has a value.
func appendPresent(b []byte, present []uint16, facts int) []byte {
	start := len(b)
	b = append(b, make([]byte, (facts+7)/8)...)
	for _, i := range present {
		b[start+int(i/8)] |= 1 << (i % 8)
	}
	return b
}

// appendBody assembles head and columns, as docs/format/blocks.md specifies:
//
//	head     format, 1 | kind, 1 | codec, 1 | facts, varint | columns, varint
//	         for each: number, 1 | flags and form, 1 | size, varint
//	columns  those set aside | the others, compressed or not
//	sum      CRC-32C of all bytes before, 4
func (e *encoder) appendBody(dst []byte, kind byte, facts int) []byte {
	start := len(dst)
	codec, packed := raw, e.packed
	if len(packed) >= minCompressed {
		e.compressed = compress(e.compressed[:0], packed)
		if len(e.compressed) < len(packed) {
			codec, packed = zstandard, e.compressed
		}
	}
	dst = slices.Grow(dst, maxHead+maxEntry*len(e.columns)+len(e.stored)+len(packed)+sumBytes)
	dst = append(dst, format, kind, codec)
	dst = binary.AppendUvarint(dst, uint64(facts))
	dst = binary.AppendUvarint(dst, uint64(len(e.columns)))
	for _, c := range e.columns {
		dst = append(dst, c.number, c.flags|byte(c.form))
		dst = binary.AppendUvarint(dst, uint64(c.size))
	}
	dst = append(dst, e.stored...)
	dst = append(dst, packed...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}
