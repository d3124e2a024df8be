package terminal

import (
	"fmt"
	"strings"
)

// Imported counts the lines of files. Each line is in exactly one of the last four counts.
type Imported struct{ Lines, Stored, Duplicates, Malformed, Rejected int64 }

// Sentence describes the counts. what is the noun for a line, such as reading or event.
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

// Pace describes the duration and the rate.
func (i Imported) Pace(what string, seconds float64) string {
	return fmt.Sprintf("%.1f s; %s per second.", seconds, Count(int64(float64(i.Lines)/max(seconds, 0.001)), what))
}

// Examples returns lines of files, each prefixed by name, and the number of lines that are not
// shown. all is the total.
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

// Clean removes control characters, which a terminal would execute, from an untrusted text.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '·'
		}
		return r
	}, text)
}
