package mask

import (
	"errors"
	"fmt"
	"strings"
)

// pattern matches paths segment by segment. Letter case, empty segments and percent-encoding make
// no difference, because they make none for most servers.
type pattern struct {
	parts []part
	open  bool // further segments may follow
}

// part matches one segment.
type part struct {
	text           string // as in the pattern, decoded: the replacement if the part has a name
	any            bool   // matches every segment
	named          bool   // is replaced
	prefix, suffix string // of a named part, around the name
}

const maxName = 32 // bytes

// parsePattern parses a pattern: segments are literal, * for any, or have a :name for what is
// replaced; a last ** matches any number of segments.
func parsePattern(text string) (p pattern, err error) {
	if len(text) > maxPattern {
		return p, fmt.Errorf("use at most %d bytes", maxPattern)
	}
	if !strings.HasPrefix(text, "/") {
		return p, errors.New("begin with a slash, such as /customers/:customer/**")
	}
	if strings.ContainsAny(text, "?#") {
		return p, errors.New("omit query and fragment")
	}
	names := false
	for _, s := range appendSegments(nil, text) {
		if p.open {
			return p, errors.New("use ** only at the end")
		}
		if len(p.parts) == maxParts {
			return p, fmt.Errorf("use at most %d segments", maxParts)
		}
		if s.text == "**" {
			p.open = true
			continue
		}
		one, err := parsePart(s.text)
		if err != nil {
			return p, err
		}
		names = names || one.named
		p.parts = append(p.parts, one)
	}
	if !names {
		return p, errors.New("name what is replaced, such as /customers/:customer/**")
	}
	return p, p.harmless()
}

func parsePart(text string) (part, error) {
	if text == "*" {
		return part{any: true}, nil
	}
	if strings.Contains(text, "*") {
		return part{}, errors.New("use * only as a whole segment")
	}
	prefix, rest, named := strings.Cut(text, ":")
	if !named {
		return part{text: text}, nil
	}
	end := 0
	for end < len(rest) && isName(rest[end]) {
		end++
	}
	p := part{text: text, named: true, prefix: prefix, suffix: rest[end:]}
	if end == 0 || end > maxName || strings.ContainsAny(p.suffix, ":/") || strings.Contains(prefix, "/") {
		return part{}, fmt.Errorf("use one name of 1 to %d lower-case letters or _ in a segment, such as :customer", maxName)
	}
	return p, nil
}

func isName(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }

// harmless refuses patterns whose literal text would itself be masked: it may be somebody's data,
// and after masking it would no longer match.
func (p *pattern) harmless() error {
	before := ""
	for i := range p.parts {
		if t := p.parts[i].text; allKinds.segment(t, before, false) != "" {
			return errors.New("a segment looks like an email address, phone number, token or UUID; use :name or * instead")
		}
		before = p.parts[i].text
	}
	return nil
}

// apply masks the named segments if the pattern matches. The first pattern that names a segment
// decides its name.
func (p *pattern) apply(segments []segment) {
	if len(segments) < len(p.parts) || len(segments) > len(p.parts) && !p.open {
		return
	}
	for i := range p.parts {
		if !p.parts[i].matches(segments[i].text) {
			return
		}
	}
	for i := range p.parts {
		if p.parts[i].named && segments[i].masked == "" {
			segments[i].masked = p.parts[i].text
		}
	}
}

func (p *part) matches(text string) bool {
	switch {
	case p.any:
		return true
	case !p.named:
		return strings.EqualFold(p.text, text)
	}
	n := len(text) - len(p.suffix)
	return n > len(p.prefix) && strings.EqualFold(text[:len(p.prefix)], p.prefix) && strings.EqualFold(text[n:], p.suffix)
}
