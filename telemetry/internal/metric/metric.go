// Package metric defines the names of metrics.
package metric

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxBytes is the maximum length of a name.
const MaxBytes = 100

// Valid reports whether name is a valid metric name.
func Valid(name string) bool {
	if name == "" || len(name) > MaxBytes || strings.TrimSpace(name) != name || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == '#' || c == '*' || c == '"' || c == '\\' })
}

// Labels returns the part of a metric's name that distinguishes series by tags:
// {cpu=cpu0,mode=user}, sorted by tag. It is empty if no tags remain after removing the given ones.
func Labels(tags map[string]string, without []string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		if slices.Contains(without, name) {
			continue
		}
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(tags[name])
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "}"
}

// Rename appends a suffix to all names.
func Rename[M ~map[string]V, V any](all M, suffix string) M {
	if all == nil || suffix == "" {
		return all
	}
	renamed := make(M, len(all))
	for name, v := range all {
		renamed[name+suffix] = v
	}
	return renamed
}

const maxProperties = 32

// CheckProperties validates property tags: each must be a valid metric name, at most 32, distinct.
func CheckProperties(tags []string) error {
	if len(tags) > maxProperties {
		return fmt.Errorf("%d property tags: use at most %d", len(tags), maxProperties)
	}
	for i, name := range tags {
		if !Valid(name) {
			return fmt.Errorf("property tag %.64q: use 1 to %d bytes of letters, digits and . _ - / : and spaces (not at either end)", name, MaxBytes)
		}
		if slices.Contains(tags[:i], name) {
			return fmt.Errorf("property tag %q is listed twice", name)
		}
	}
	return nil
}
