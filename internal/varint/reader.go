// Package varint reads compact encodings of numbers and bytes that may be damaged, without a check
// after each read. The encodings are written by the Append functions of encoding/binary.
package varint

import "encoding/binary"

// Reader reads numbers and bytes from an encoding. Malformed data makes it fail, and all further
// reads return zero, so callers need to check only at the end.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader returns a Reader of b, which must not change while it is read.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// More reports whether data is left and nothing was malformed.
func (r *Reader) More() bool { return len(r.rest) > 0 && !r.failed }

// Failed reports whether data was malformed.
func (r *Reader) Failed() bool { return r.failed }

// Fail marks the data as malformed.
func (r *Reader) Fail() { r.failed = true }

// Uint reads an unsigned number.
func (r *Reader) Uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	return n * r.took(size)
}

// Int reads a signed number.
func (r *Reader) Int() int64 {
	n, size := binary.Varint(r.rest)
	return n * int64(r.took(size))
}

// Uints reads unsigned numbers into all of to. They wrap around from 2⁶³.
func (r *Reader) Uints(to []int64) {
	for i := range to {
		switch b := r.rest; { // most numbers take one byte or two
		case r.failed:
			clear(to[i:])
			return
		case len(b) > 0 && b[0] < 0x80:
			to[i], r.rest = int64(b[0]), b[1:]
		case len(b) > 1 && b[1] < 0x80:
			to[i], r.rest = int64(b[0]&0x7f)|int64(b[1])<<7, b[2:]
		default:
			to[i] = int64(r.Uint())
		}
	}
}

// Ints reads signed numbers into all of to.
func (r *Reader) Ints(to []int64) {
	r.Uints(to)
	for i, n := range to {
		to[i] = int64(uint64(n)>>1) ^ -(n & 1)
	}
}

// Skip skips numbers, and fails as if they were read.
func (r *Reader) Skip(numbers int) {
	for range numbers {
		if len(r.rest) > 0 && r.rest[0] < 0x80 && !r.failed {
			r.rest = r.rest[1:]
		} else {
			r.Uint()
		}
	}
}

// took advances by the size of a number and returns 1. It returns 0 if there was none: callers
// multiply their result by it.
func (r *Reader) took(size int) uint64 {
	if r.failed || size <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return 1
}

// Count reads the number of things that follow, each of at least one byte, so it is never more than
// the bytes left.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.rest)) {
		r.failed = true
		return 0
	}
	return int(n)
}

// Bytes reads n bytes. They are a slice of the encoding: copy what is kept.
func (r *Reader) Bytes(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Rest reads all remaining bytes. They are a slice of the encoding, as in Bytes.
func (r *Reader) Rest() []byte { return r.Bytes(uint64(len(r.rest))) }
