// Package metric names what devices measure. It is a part of telemetry, and used by nobody else.
package metric

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxBytes is how long a name may be.
const MaxBytes = 100

// Valid reports whether a metric can have the name.
func Valid(name string) bool {
	if name == "" || len(name) > MaxBytes || strings.TrimSpace(name) != name || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == '#' || c == '*' || c == '"' || c == '\\' })
}

// Labels are the part of a metric's name that tells series apart which only differ in tags: {cpu=cpu0,mode=user}, in the order of
// the tags' names. It is empty when no tags are left without the given ones.
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

// Rename adds a suffix to all names.
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

// CheckProperties refuses tags that are to be properties: names that no metric could have, and more than anybody needs.
func CheckProperties(tags []string) error {
	if len(tags) > maxProperties {
		return fmt.Errorf("%d property tags: at most %d", len(tags), maxProperties)
	}
	for i, name := range tags {
		if !Valid(name) {
			return fmt.Errorf("property tag %.64q: use 1 to %d bytes of letters, digits and . _ - / : and blanks within", name, MaxBytes)
		}
		if slices.Contains(tags[:i], name) {
			return fmt.Errorf("property tag %q is there twice", name)
		}
	}
	return nil
}
