// Package order names the readings of a device and puts them in order. It is a part of telemetry, and used by nobody else.
//
// Readings are ordered by time. Those of one millisecond are ordered by sequence number, and those without a number come first. What is
// left, readings without a number and equal numbers of two sessions, has no order of its own: a hash of the values, or of the session,
// decides. Lists, curves, latest values, aggregates and alerts all follow this order, in whatever order readings arrive.
//
// The order of two readings of a millisecond is that of their names, compared as texts. What keeps no names keeps a Place.
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
	tieSize = 6  // letters that hold a tie
)

// letters are those of base64 for URLs in the order of their bytes, so that texts have the order of what they encode.
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

// Text encodes a hash in 11 letters, which have its order.
func Text(hash uint64) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], hash)
	return encoding.EncodeToString(b[:])
}

// Unnumbered names a reading without a sequence number, by a hash of its values. The hyphen sorts before all digits.
func Unnumbered(hash uint64) string { return "-" + Text(hash) }

// Numbered names a reading with a sequence number, from 0 to 10¹²-1. Readings with one number are in the order of a hash of their
// sessions.
func Numbered(seq int64, session string) string {
	if session == "" {
		return fmt.Sprintf("%0*d", digits, seq)
	}
	return fmt.Sprintf("%0*d-%s-%s", digits, seq, mark(session), session)
}

// mark is what orders the sessions of a number.
func mark(session string) string { return Text(xxhash.Sum64String(session))[:tieSize] }

// Nth is one more than the sequence number in a name; 0 if it has none.
func Nth(name string) int64 {
	if len(name) < digits {
		return 0
	}
	n, err := strconv.ParseUint(name[:digits], 10, 63) // which takes no signs
	if err != nil {
		return 0
	}
	return int64(n) + 1
}

// Split returns one more than the sequence number in a name, and its session. ok is false for a name that Numbered does not make.
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

// Place is where a reading is among those of its device.
type Place struct {
	At  int64  // epoch milliseconds, by the device's clock
	Nth int64  // one more than its sequence number; 0: it has none
	Tie uint32 // the upper half of the hash in its name; 0: a number without a session needs none
}

// Of returns the place of the reading of a time, in epoch milliseconds, with a name.
func Of(at int64, name string) Place {
	p := Place{At: at, Nth: Nth(name)}
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
func (p Place) Compare(o Place) int {
	return cmp.Or(cmp.Compare(p.At, o.At), cmp.Compare(p.Nth, o.Nth), cmp.Compare(p.Tie, o.Tie))
}
