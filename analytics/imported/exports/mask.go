package exports

import (
	"strings"

	"github.com/onefold/onefold/internal/mask"
)

// Mask masks all rows read from now on, including malformed rows, which are shown to the user. nil
// masks nothing.
func (e *Export) Mask(m *mask.Masker) {
	for i := range e.members {
		e.members[i].masks = m
	}
}

// mask masks a row in place.
func (l *layout) mask(m *mask.Masker, record []string) {
	for i, text := range record {
		if i < len(l.addresses) && l.addresses[i] {
			record[i] = maskAddress(m, text)
			continue
		}
		record[i] = m.Text(text)
	}
}

// addressesIn reports for each column whether it has pages, links or referrers.
func addressesIn(header []string) []bool {
	is := make([]bool, len(header))
	for i, name := range header {
		name = plain(name)
		for _, word := range []string{"page", "path", "url", "referrer"} {
			is[i] = is[i] || strings.Contains(name, word)
		}
	}
	return is
}

// maskAddress masks a URL, with or without scheme, or a path.
func maskAddress(m *mask.Masker, text string) string {
	first, _, _ := strings.Cut(text, "/")
	if strings.Contains(text, "://") || !strings.Contains(first, ".") {
		return m.URL(text)
	}
	const scheme = "https://"
	return strings.TrimPrefix(m.URL(scheme+text), scheme)
}
