// Package texts bounds and cleans texts from outside.
package texts

import (
	"maps"
	"strings"
	"unicode/utf8"
)

// Clip returns s as valid UTF-8, cut between characters to at most n bytes.
func Clip(s string, n int) string {
	s = Valid(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Valid returns s as valid UTF-8.
func Valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// ValidMap returns a map whose names and values are valid UTF-8: p itself if its are.
func ValidMap(p map[string]string) map[string]string {
	for name, value := range p {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			p = maps.Collect(func(yield func(string, string) bool) {
				for name, value := range p {
					if !yield(Valid(name), Valid(value)) {
						return
					}
				}
			})
			break
		}
	}
	return p
}

// HasControls reports whether s has control characters.
func HasControls(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// WebAddress reports whether a page's address is a path, or a URL with a web or app scheme. Other
// schemes, such as javascript: and data:, are not pages and may be dangerous where URLs are shown.
func WebAddress(address string) bool {
	scheme, _, found := strings.Cut(address, ":")
	if !found || strings.ContainsAny(scheme, "/?#") {
		return true
	}
	return strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "app")
}
