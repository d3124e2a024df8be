package terminal

import (
	"fmt"
	"strings"
)

// Imported is what became of the lines of files, each of which is in one of the last four.
type Imported struct{ Lines, Stored, Duplicates, Malformed, Rejected int64 }

// Sentence says it, of what each line is: a reading, an event.
func (i Imported) Sentence(what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s imported", Count(i.Lines, what), Grouped(i.Stored))
	for _, part := range []struct {
		n    int64
		what string
	}{{i.Duplicates, "already stored"}, {i.Malformed, "malformed"}, {i.Rejected, "rejected"}} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %s %s", Grouped(part.n), part.what)
		}
	}
	b.WriteByte('.')
	return b.String()
}

// Pace says how long the lines took.
func (i Imported) Pace(what string, seconds float64) string {
	return fmt.Sprintf("%.1f s; %s per second.", seconds, Count(int64(float64(i.Lines)/max(seconds, 0.001)), what))
}

// Examples are lines of files, each after a name, and how many more there are of all.
func Examples(name string, lines []string, all int64) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%s: %s\n", name, Clean(line))
	}
	if more := all - int64(len(lines)); more > 0 {
		fmt.Fprintf(&b, "%s: and %s more\n", name, Grouped(more))
	}
	return b.String()
}

// Clean is a text from outside without control characters, which a terminal would obey.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '·'
		}
		return r
	}, text)
}
