// Package order names and orders the readings of a device.
//
// Readings are ordered by time. Readings of one millisecond are ordered by sequence number; those
// without a number come first. The remaining cases, readings without numbers and equal numbers of
// two sessions, have no natural order: a hash of the values, or of the session, decides. Lists,
// curves, latest values, aggregates and alerts all use this order, regardless of the order of
// arrival.
//
// Readings of one millisecond are in the order of their names, compared as texts. Data without
// names keeps a Position.
package order

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

const (
	digits  = 12 // of a sequence number in a name
	tieSize = 6  // letters of a tie
)

// letters is the alphabet of base64 for URLs in byte order, so that encoded texts sort like the
// encoded values.
const letters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

var (
	encoding = base64.NewEncoding(letters).WithPadding(base64.NoPadding)
	valueOf  = func() (values [256]byte) {
		for i := range letters {
			values[letters[i]] = byte(i)
		}
		return values
	}()
)

// Text encodes a hash in 11 letters, which sort like the hash.
func Text(hash uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], hash)
	return encoding.EncodeToString(b[:])
}

// Unnumbered returns the name of a reading without a sequence number, from a hash of its values.
// The hyphen sorts before all digits.
func Unnumbered(hash uint64) string { return "-" + Text(hash) }

// Numbered returns the name of a reading with a sequence number, 0 to 10¹²-1. Readings with equal
// numbers are ordered by a hash of their sessions.
func Numbered(seq int64, session string) string {
	if session == "" {
		return fmt.Sprintf("%0*d", digits, seq)
	}
	return fmt.Sprintf("%0*d-%s-%s", digits, seq, mark(session), session)
}

// mark returns the part of a name that orders the sessions of a number.
func mark(session string) string { return Text(xxhash.Sum64String(session))[:tieSize] }

// Nth returns the sequence number in a name plus one, or 0 if there is none.
func Nth(name string) int64 {
	if len(name) < digits {
		return 0
	}
	n, err := strconv.ParseUint(name[:digits], 10, 63) // accepts no signs
	if err != nil {
		return 0
	}
	return int64(n) + 1
}

// Split returns the sequence number in a name plus one, and the session. ok is false unless
// Numbered made the name.
func Split(name string) (nth int64, session string, ok bool) {
	nth = Nth(name)
	if nth == 0 || len(name) == digits {
		return nth, "", nth > 0
	}
	if at := digits + 1 + tieSize; len(name) > at+1 && name[digits] == '-' && name[at] == '-' && name[digits+1:at] == mark(name[at+1:]) {
		return nth, name[at+1:], true
	}
	return 0, "", false
}

// Position is the position of a reading among those of its device.
type Position struct {
	At  int64  // by the device's clock, epoch milliseconds
	Nth int64  // sequence number plus one; 0: none
	Tie uint32 // upper half of the hash in the name; 0 for a number without a session, which needs none
}

// Of returns the place of a reading by its time, in epoch milliseconds, and name.
func Of(at int64, name string) Position {
	p := Position{At: at, Nth: Nth(name)}
	if p.Nth > 0 {
		name = name[digits:]
	}
	if len(name) > tieSize && name[0] == '-' {
		var bits uint64
		for i := range tieSize {
			bits = bits<<6 | uint64(valueOf[name[1+i]])
		}
		p.Tie = uint32(bits >> (tieSize*6 - 32))
	}
	return p
}

// Compare orders places.
func (p Position) Compare(o Position) int {
	return cmp.Or(cmp.Compare(p.At, o.At), cmp.Compare(p.Nth, o.Nth), cmp.Compare(p.Tie, o.Tie))
}
