// Package mask replaces personal data in paths and texts with placeholders, such as :email, before
// anything is stored. It has detectors, which recognize data by its form, and rules, which name the
// places in a site's paths where data is.
//
// Masking is idempotent: a masked text stays as it is. Decision 0066 gives the reasons.
package mask

import (
	"fmt"
	"slices"
	"strings"
)

// RuleError is returned for an invalid rule.
type RuleError struct {
	Reason string // names the rule and says what to write
}

// Error implements error.
func (e *RuleError) Error() string { return "mask: " + e.Reason }

func invalid(format string, args ...any) error { return &RuleError{fmt.Sprintf(format, args...)} }

// Limits of rules.
const (
	MaxRules   = 100
	maxPattern = 512 // bytes
	maxParts   = 32  // segments of a pattern
)

// Rules are what a site masks, with the names under which they are stored. The zero value masks
// nothing.
type Rules struct {
	Detect []Kind   `dynamodbav:"detect,omitempty" json:"detect"`
	Paths  []string `dynamodbav:"paths,omitempty" json:"paths"` // patterns: /customers/:customer/**
}

// Default returns the rules of new sites: all detectors, no patterns.
func Default() Rules { return Rules{Detect: slices.Clone(Kinds)} }

// Masker masks by compiled rules. A nil Masker masks nothing. It is safe for concurrent use.
type Masker struct {
	detect   kinds
	patterns []pattern
}

// Compile validates rules and compiles them. Errors: RuleError.
func (r *Rules) Compile() (*Masker, error) {
	m := new(Masker)
	for _, k := range r.Detect {
		at := slices.Index(Kinds, k)
		if at < 0 {
			return nil, invalid("detector %q: use %s", shown(string(k)), list(Kinds))
		}
		m.detect |= 1 << at
	}
	if len(r.Paths) > MaxRules {
		return nil, invalid("%d patterns: use at most %d", len(r.Paths), MaxRules)
	}
	for _, text := range r.Paths {
		p, err := parsePattern(text)
		if err != nil {
			return nil, invalid("pattern %q: %v", shown(text), err)
		}
		m.patterns = append(m.patterns, p)
	}
	return m, nil
}

func (m *Masker) idle() bool { return m == nil || m.detect == 0 && len(m.patterns) == 0 }

// Path masks a path without query. Patterns are applied first. Detectors then check the segments that
// no pattern replaced.
func (m *Masker) Path(path string) string {
	if m.idle() {
		return path
	}
	var few [16]segment
	segments := appendSegments(few[:0], path)
	for i := range m.patterns {
		m.patterns[i].apply(segments)
	}
	before := ""
	for i := range segments {
		s := &segments[i]
		if s.masked == "" {
			s.masked = m.detect.segment(s.text, before, s.encoded)
		}
		if before = s.masked; before == "" { // as the next time, for a path that is masked twice
			before = s.text
		}
	}
	return join(path, segments)
}

// URL masks the URL of a page or link, with or without scheme and host. It also removes the user
// and password before the host. Query and fragment are masked value by value.
func (m *Masker) URL(url string) string {
	if m.idle() {
		return url
	}
	rest, prefix := url, ""
	if scheme, after, ok := strings.Cut(url, "://"); ok && !strings.ContainsAny(scheme, "/?#") {
		host := after
		if end := strings.IndexAny(after, "/?#"); end >= 0 {
			host = after[:end]
		}
		rest = after[len(host):]
		prefix = scheme + "://" + host[strings.LastIndexByte(host, '@')+1:]
	}
	path, query := rest, ""
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		path, query = rest[:end], rest[end:]
	}
	return prefix + m.Path(path) + m.query(query)
}

// Query masks contact data in the values of a URL's query.
func (m *Masker) Query(query string) string {
	if m.idle() {
		return query
	}
	return words(query, "&=?#", (m.detect & contacts).word)
}

// query masks the values of a query or fragment with all detectors.
func (m *Masker) query(query string) string { return words(query, "&=?#;/", m.detect.word) }

// Text masks a text that the site's own pages or campaigns write, such as the value of a property:
// contact data, and URLs and paths in it. Tokens and UUIDs outside of URLs stay, because sites put
// IDs there on purpose.
func (m *Masker) Text(text string) string {
	if m.idle() || !strings.ContainsAny(text, "@%+/") {
		return text
	}
	if isAddress(text) && !strings.ContainsAny(text, " \t\r\n") {
		return m.URL(text)
	}
	return words(text, " \t\r\n,;<>()\"|", func(word string) string {
		if !isAddress(word) {
			return (m.detect & contacts).word(word)
		}
		if masked := m.URL(word); masked != word {
			return masked
		}
		return ""
	})
}

// isAddress reports whether a text is a URL or path, if it is one word.
func isAddress(text string) bool {
	return strings.HasPrefix(text, "/") || strings.Contains(text, "://")
}

// words replaces the words of a text that mask returns another word for.
func words(text, separators string, mask func(string) string) string {
	r := replacer{text: text}
	for from := 0; from < len(text); {
		to := len(text)
		if n := strings.IndexAny(text[from:], separators); n >= 0 {
			to = from + n
		}
		if from < to {
			if masked := mask(text[from:to]); masked != "" {
				r.replace(from, to, masked)
			}
		}
		from = to + 1
	}
	return r.String()
}

func list(all []Kind) string {
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// shown cuts a text from outside to the length that error messages may quote.
func shown(text string) string {
	const most = 64
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
