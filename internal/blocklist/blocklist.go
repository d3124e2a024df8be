// Package blocklist reads lists of networks and domains from text files and looks up addresses and
// hosts in them. A file has one entry a line; empty lines and text after # are comments. Files may
// be replaced while they are used.
package blocklist

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrList is returned for a file that is not a list. The message has the line, and says what to
// write.
var ErrList = errors.New("blocklist")

// Limits of a file.
const (
	maxEntries = 2_000_000
	maxLine    = 4096 // bytes, without the line break
	maxShown   = 64   // bytes of a line in messages
)

// entries calls add with each entry of a file. Errors: ErrList, including those of add, and those
// of reading.
func entries(r io.Reader, add func(entry string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine+len("\n"))
	number, n := 0, 0
	for lines.Scan() {
		number++
		text, _, _ := strings.Cut(lines.Text(), "#")
		if number == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if n++; n > maxEntries {
			return fmt.Errorf("%w: more than %d entries", ErrList, maxEntries)
		}
		if err := add(text); err != nil {
			if len(text) > maxShown {
				text = strings.ToValidUTF8(text[:maxShown], "") + "…"
			}
			return fmt.Errorf("%w: line %d: %q: %w", ErrList, number, text, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: line %d: longer than %d bytes", ErrList, number+1, maxLine)
	}
	if lines.Err() == nil && n == 0 {
		return fmt.Errorf("%w: the file has no entries", ErrList)
	}
	return lines.Err()
}
