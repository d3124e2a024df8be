// Package varint reads compact encodings of numbers and bytes that may have been damaged, without a check after every
// one. What it reads is written by the Append functions of encoding/binary. It imports nothing of the project; whoever
// stores bytes of its own may use it.
package varint

import "encoding/binary"

// Reader takes numbers and bytes off an encoding, one after another. What is malformed makes it fail, and everything
// that is read after that is zero: so it need be asked only at the end.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader reads b, which must not change meanwhile.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// More reports whether something is left, and nothing was malformed.
func (r *Reader) More() bool { return len(r.rest) > 0 && !r.failed }

// Failed reports whether something was malformed.
func (r *Reader) Failed() bool { return r.failed }

// Fail says that what was read makes no sense.
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

// took moves on behind a number of that size; 0 when there was none.
func (r *Reader) took(size int) uint64 {
	if r.failed || size <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[size:]
	return 1
}

// Count reads a number of things that follow, of at least one byte each: so it is never more than what is left.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.rest)) {
		r.failed = true
		return 0
	}
	return int(n)
}

// Bytes takes n bytes off. They are the encoding's own: copy what is kept.
func (r *Reader) Bytes(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Rest takes all that is left off. The bytes are the encoding's own, as those of Bytes are.
func (r *Reader) Rest() []byte { return r.Bytes(uint64(len(r.rest))) }
