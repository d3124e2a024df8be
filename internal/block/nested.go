package block

import (
	"bytes"
	"encoding/binary"

	"github.com/onefold/onefold/internal/varint"
)

// Writer writes the parts of a nested value. It is valid only while the column's write function
// runs.
type Writer struct {
	b          []byte
	dictionary *dictionary
	elements   int
	keys       []string // of a map, for sorting
}

// Uint writes an unsigned number; small ones take a byte.
func (w *Writer) Uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// Int writes a signed number; those near zero take a byte.
func (w *Writer) Int(n int64) { w.b = binary.AppendVarint(w.b, n) }

// Text writes a text. Texts that repeat in the column are stored once per block.
func (w *Writer) Text(s string) {
	n, _ := w.dictionary.number(s)
	w.Uint(uint64(n))
}

// Count writes the number of elements that follow, each of at least one part. All lists of a column
// together have at most 262,144 elements in a block.
func (w *Writer) Count(n int) {
	w.elements += n
	w.Uint(uint64(n))
}

// Reader reads the parts of a nested value, in the order in which they were written. Malformed data
// makes it fail, and all further reads return zero, so read functions need not check. It is valid
// only while a read function runs.
type Reader struct {
	r          varint.Reader
	whole      []byte // all data to read
	dictionary []string
	elements   int
}

// Uint reads an unsigned number.
func (r *Reader) Uint() uint64 { return r.r.Uint() }

// Int reads a signed number.
func (r *Reader) Int() int64 { return r.r.Int() }

// Text reads a text.
func (r *Reader) Text() string {
	n := r.r.Uint()
	if n >= uint64(len(r.dictionary)) {
		r.r.Fail()
		return ""
	}
	return r.dictionary[n]
}

// Count reads the number of elements that follow. It is never more than a body can hold.
func (r *Reader) Count() int {
	n := r.r.Count()
	if r.elements += n; r.elements > maxElements {
		r.r.Fail()
		return 0
	}
	return n
}

// Fail reports that the data is invalid: the block is corrupt.
func (r *Reader) Fail() { r.r.Fail() }

// again returns to the beginning of a value that facts share.
func (r *Reader) again() {
	if r.r.More() {
		r.r.Fail()
	}
	if !r.r.Failed() {
		r.r = varint.NewReader(r.whole)
	}
}

// openNested reads the dictionary of nested values, and leaves the values in nested.
func (d *decoder) openNested() {
	d.dictionary = readDictionary(&d.r, d.dictionary[:0], maxElements)
	whole := d.r.Rest()
	d.nested = Reader{r: varint.NewReader(whole), whole: whole, dictionary: d.dictionary}
}

// closeNested checks that nested values were read completely.
func (d *decoder) closeNested() {
	if d.nested.r.Failed() || d.nested.r.More() {
		d.fail("a nested value makes no sense")
	}
}

// nestedRepeats reports whether all nested values are the same.
func (e *encoder) nestedRepeats() bool {
	first, start := e.nested.b[:e.ends[0]], e.ends[0]
	for _, end := range e.ends[1:] {
		if !bytes.Equal(e.nested.b[start:end], first) {
			return false
		}
		start = end
	}
	return true
}

// appendNested appends the first n nested values, after their dictionary.
func (e *encoder) appendNested(b []byte, n int) []byte {
	return append(e.dictionary.append(b), e.nested.b[:e.ends[n-1]]...)
}
