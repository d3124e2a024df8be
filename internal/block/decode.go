package block

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/onefold/onefold/internal/varint"
)

// decoder holds the buffers for decoding a block. The fields from r to nested are those of the
// current column: its remaining data, which facts have a value, and the values, in the field for
// their kind.
type decoder struct {
	head    head
	r       varint.Reader
	why     string // why the column is invalid; "" while it is valid
	lacks   bool   // the columns that are not set aside are not decoded
	newer   bool   // the column has a form that this version does not know
	one     bool   // all facts that are present share a value
	present []uint16
	texts   []string
	ints    []int64
	floats  []float64
	nested  Reader
	series  []series // of cells

	dictionary     []string // of the column
	stored, packed []byte   // remaining data of the columns
	buffer         []byte   // buffer for decompressed columns

	wanted   string   // name of the cells to decode; "" for all
	unwanted []bool   // facts whose cells are not decoded; empty: none
	forms    []byte   // of the series, with their flags
	cellsOf  []uint16 // number of cells of each fact
	digits   []byte   // digits of the numbers of a series
	ends     []int    // ends of these numbers in digits
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// release returns the decoder to the pool. It must not retain facts or the body.
func (d *decoder) release() {
	d.forget()
	d.wanted, d.unwanted = "", d.unwanted[:0]
	d.r, d.nested, d.stored, d.packed = varint.Reader{}, Reader{}, nil, nil
	d.head.stored, d.head.packed = nil, nil
	if cap(d.buffer) <= maxPooled && cap(d.dictionary) <= 4*MaxFacts {
		decoders.Put(d)
	}
}

// forget drops references to the texts of a column.
func (d *decoder) forget() {
	clear(d.texts)
	clear(d.dictionary)
	d.texts, d.dictionary = d.texts[:0], d.dictionary[:0]
	for i := range d.series {
		s := &d.series[i]
		clear(s.texts)
		s.name, s.texts = "", s.texts[:0]
	}
	d.series = d.series[:0]
}

// open prepares to read the columns. If packed is false, columns that are not set aside are not
// decompressed.
func (d *decoder) open(packed bool) (err error) {
	h := &d.head
	d.stored, d.packed, d.lacks = h.stored, h.packed, h.Compressed && !packed
	if h.Compressed && packed {
		if d.buffer, err = decompress(d.buffer, h.packed, h.size); err != nil {
			return fmt.Errorf("%w: decompress columns: %w", ErrCorrupt, err)
		}
		d.packed = d.buffer
	}
	return nil
}

// take returns the data of the next column.
func (d *decoder) take(c *column) (data []byte) {
	if c.flags&aside != 0 {
		data, d.stored = d.stored[:c.size], d.stored[c.size:]
	} else if !d.lacks {
		data, d.packed = d.packed[:c.size], d.packed[c.size:]
	}
	return data
}

// every has the indexes of all facts of the largest block.
var every = func() (all [MaxFacts]uint16) {
	for i := range all {
		all[i] = uint16(i)
	}
	return all
}()

// begin starts a column: it reads which facts have a value.
func (d *decoder) begin(c *column, data []byte, facts int) {
	d.r, d.why, d.newer, d.one = varint.NewReader(data), "", false, c.flags&same != 0
	d.forget()
	d.present = d.present[:0]
	if c.flags&sparse == 0 {
		d.present = append(d.present, every[:facts]...)
		return
	}
	for i, b := range d.r.Bytes(uint64(facts+7) / 8) {
		for ; b != 0; b &= b - 1 {
			d.present = append(d.present, uint16(i*8+bits.TrailingZeros8(b)))
		}
	}
	if n := len(d.present); n > 0 && int(d.present[n-1]) >= facts {
		d.fail("facts have a value that do not exist")
	}
}

// fail records why the column is invalid. The first reason is kept.
func (d *decoder) fail(why string) {
	if d.why == "" {
		d.why = why
	}
}

func (d *decoder) failed() bool { return d.why != "" || d.newer || d.r.Failed() }

// err returns the error of the column, if any.
func (d *decoder) err(c *column) error {
	switch {
	case d.newer:
		return fmt.Errorf("%w: its column %d has the form %d", ErrVersion, c.number, c.form)
	case d.r.Failed():
		return fmt.Errorf("%w: column %d is cut short", ErrCorrupt, c.number)
	case d.why != "":
		return fmt.Errorf("%w: column %d: %s", ErrCorrupt, c.number, d.why)
	case d.r.More():
		return fmt.Errorf("%w: column %d is too long", ErrCorrupt, c.number)
	}
	return nil
}
