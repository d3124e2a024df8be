// Package glob matches paths with glob patterns: `*` matches any text within a segment, `**`
// any text. Goals, filters and exclusions use it.
package glob

import "strings"

// Match reports whether a pattern matches the whole text: `*` matches any number of bytes other
// than '/', `**` any number of bytes, and everything else matches itself. Time is at most
// len(pattern) × len(text), whatever the pattern.
func Match(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == text
	}
	// reach[i] reports whether the part of the pattern so far can match text[:i].
	reach, next := make([]bool, len(text)+1), make([]bool, len(text)+1)
	reach[0] = true
	for p := 0; p < len(pattern); p++ {
		if pattern[p] != '*' {
			clear(next)
			for i := range len(text) {
				next[i+1] = reach[i] && text[i] == pattern[p]
			}
			reach, next = next, reach
			continue
		}
		deep := p+1 < len(pattern) && pattern[p+1] == '*'
		for deep && p+1 < len(pattern) && pattern[p+1] == '*' {
			p++
		}
		for i := range len(text) {
			reach[i+1] = reach[i+1] || reach[i] && (deep || text[i] != '/')
		}
	}
	return reach[len(text)]
}
