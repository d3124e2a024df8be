package sighting

import (
	"fmt"
	"strconv"
)

// digits is how long a sequence number is in a key. No hash of values is as long.
const digits = 12

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
	if err != nil || n < 0 {
		return 0
	}
	return n + 1
}
