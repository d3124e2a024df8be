package sighting

import (
	"fmt"
	"strconv"
)

// digits is the length of a sequence number in a key.
const digits = 12

// Unnumbered returns the name of a reading without a sequence number, from a hash of its values. It sorts before all numbers: of the
// readings of one millisecond, those without a number come first.
func Unnumbered(hash string) string { return "-" + hash }

// Name is what a reading with a sequence number, from 0 to 10¹²-1, is called in keys. Its order is that of the numbers.
func Name(seq int64, session string) string {
	if session == "" {
		return fmt.Sprintf("%0*d", digits, seq)
	}
	return fmt.Sprintf("%0*d-%s", digits, seq, session)
}

// Nth is one more than the sequence number in what a reading is called; 0 if it has none.
func Nth(name string) int64 {
	if len(name) < digits {
		return 0
	}
	n, err := strconv.ParseInt(name[:digits], 10, 64)
	if err != nil || n < 0 { // the hyphen of Unnumbered makes a hash of digits negative
		return 0
	}
	return n + 1
}
