package block

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/onefold/onefold/internal/varint"
)

// A body is
//
//	format 1 | kind 1 | codec 1 | number of facts | number of columns
//	number 1 | flags and form 1 | size                                 for each column: its entry
//	columns set aside
//	all other columns, compressed together if the codec says so
//	CRC-32C 4
//
// where a bare number is a uvarint. Entries come first, so a reader finds the columns that it needs,
// and skips the decompression if they are all set aside. The checksum covers everything before it, so
// damage is found before anything is decoded.
const (
	format byte = 1 // version of the format; the first byte of a body

	sumBytes  = 4
	leastBody = 3 + 1 + 1 + sumBytes // without columns
	maxHead   = 3 + 2 + 2            // without the entries of columns
	maxEntry  = 2 + 4                // of a column with at most MaxBytes
)

// The codecs of a body's columns.
const (
	raw       byte = 0
	zstandard byte = 1
)

// The flags of a column. The lower bits are its form.
const (
	skippable byte = 0x80 // a reader that does not know the column may skip it
	aside     byte = 0x40 // the column comes before the others and is never compressed
	sparse    byte = 0x20 // the column begins with a bit for each fact, and has values only for facts whose bit is set
	same      byte = 0x10 // all values are the same, and the value is stored once
	formBits  byte = 0x0f
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Info has the contents of a body's head.
type Info struct {
	Kind       byte // of the facts, as given to New
	Facts      int
	Compressed bool
}

// Inspect reads the head of a body and verifies its checksum. Errors: ErrCorrupt, ErrVersion.
func Inspect(body []byte) (Info, error) {
	var h head
	err := h.parse(body)
	return h.Info, err
}

// head is the parsed head of a body, with the location of the columns.
type head struct {
	Info
	columns []column
	stored  []byte // the columns set aside
	packed  []byte // the other columns, as stored
	size    int    // of the other columns, decompressed
}

// column is the entry of a column in the head.
type column struct {
	number, flags byte
	form          form
	size          int // bytes
}

// parse reads the head of a body.
func (h *head) parse(body []byte) error {
	if len(body) < leastBody {
		return fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(body))
	}
	content, sum := body[:len(body)-sumBytes], binary.BigEndian.Uint32(body[len(body)-sumBytes:])
	switch {
	case body[0] != format:
		return fmt.Errorf("%w: its format is %d", ErrVersion, body[0])
	case crc32.Checksum(content, castagnoli) != sum:
		return fmt.Errorf("%w: its sum is wrong", ErrCorrupt)
	case body[2] > zstandard:
		return fmt.Errorf("%w: its codec is %d", ErrVersion, body[2])
	}
	r := varint.NewReader(content[3:])
	facts := r.Uint()
	sizes, err := h.readColumns(&r)
	switch {
	case err != nil:
		return err
	case facts > MaxFacts:
		return fmt.Errorf("%w: %d facts, more than %d", ErrCorrupt, facts, MaxFacts)
	}
	h.Info = Info{Kind: body[1], Facts: int(facts), Compressed: body[2] == zstandard}
	h.size = sizes.packed
	h.stored = r.Bytes(uint64(sizes.stored))
	h.packed = r.Rest()
	if r.Failed() || !h.Compressed && len(h.packed) != h.size {
		return fmt.Errorf("%w: columns of %d bytes do not fit", ErrCorrupt, sizes.stored+sizes.packed)
	}
	return nil
}

// sizes are the sizes in bytes of the columns set aside, and of the others.
type sizes struct{ stored, packed int }

func (h *head) readColumns(r *varint.Reader) (total sizes, err error) {
	n := r.Count()
	if n > maxColumns+1 || r.Failed() {
		return total, fmt.Errorf("%w: %d columns", ErrCorrupt, n)
	}
	h.columns = slices.Grow(h.columns[:0], n)[:n]
	for i := range h.columns {
		b, size := r.Bytes(2), r.Uint()
		if r.Failed() || size > MaxBytes || i > 0 && b[0] <= h.columns[i-1].number {
			return total, fmt.Errorf("%w: the head of column %d of %d", ErrCorrupt, i+1, n)
		}
		c := column{number: b[0], flags: b[1] &^ formBits, form: form(b[1] & formBits), size: int(size)}
		if c.flags&aside != 0 {
			total.stored += c.size
		} else {
			total.packed += c.size
		}
		h.columns[i] = c
	}
	if total.stored+total.packed > MaxBytes {
		return total, fmt.Errorf("%w: columns of %d bytes, more than %d", ErrCorrupt, total.stored+total.packed, MaxBytes)
	}
	return total, nil
}
