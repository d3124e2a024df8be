package table

import (
	"fmt"
	"strings"
)

// A template is the text of a key with variables: `SITE#{siteId}#SHARD#{shard}`. A variable may
// have a format, as in `{at:ms}` or `{seq:012}`. A tail in brackets, as in
// `EVENT_TYPE#{type}[#{shard}]`, is omitted if its variable is zero.
//
// Invariant: values never contain '#', and the literal between two variables always does. So keys
// can be parsed unambiguously, and a key of one shape is never a key of another.
type template struct {
	src      string
	parts    []templatePart
	optional int // index of the first part of the bracketed tail, or len(parts) if there is none
}

// templatePart is a literal (name empty) or a variable.
type templatePart struct {
	lit    string
	name   string
	format string
}

func parseTemplate(src string) (template, error) {
	t := template{src: src, optional: -1}
	if src == "" {
		return t, fmt.Errorf("template is empty")
	}
	rest := src
	for rest != "" {
		if t.optional >= 0 && rest[0] == ']' {
			if rest != "]" {
				return t, fmt.Errorf("template %q: a bracketed part must be the last", src)
			}
			return t, t.checkShape()
		}
		n, err := t.next(rest)
		if err != nil {
			return t, err
		}
		rest = rest[n:]
	}
	if t.optional >= 0 {
		return t, fmt.Errorf("template %q: '[' is not closed", src)
	}
	t.optional = len(t.parts)
	return t, t.checkShape()
}

// next parses one part at the start of rest and returns its length.
func (t *template) next(rest string) (int, error) {
	switch rest[0] {
	case '[':
		if t.optional >= 0 {
			return 0, fmt.Errorf("template %q: brackets do not nest", t.src)
		}
		t.optional = len(t.parts)
		return 1, nil
	case '{':
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return 0, fmt.Errorf("template %q: '{' is not closed", t.src)
		}
		name, format, _ := strings.Cut(rest[1:end], ":")
		if name == "" || strings.ContainsAny(name, "{[]") {
			return 0, fmt.Errorf("template %q: %q is not a variable's name", t.src, name)
		}
		t.parts = append(t.parts, templatePart{name: name, format: format})
		return end + 1, nil
	case '}', ']':
		return 0, fmt.Errorf("template %q: %q is not open", t.src, rest[0])
	}
	end := strings.IndexAny(rest, "{}[]")
	if end < 0 {
		end = len(rest)
	}
	t.parts = append(t.parts, templatePart{lit: rest[:end]})
	return end, nil
}

// checkShape rejects templates whose keys could not be parsed: variables that are adjacent, or
// separated by text that may occur in a value.
func (t *template) checkShape() error {
	if n := len(t.parts) - t.optional; n != 0 && (n != 2 || t.parts[t.optional].lit == "" || t.parts[t.optional+1].name == "") {
		return fmt.Errorf("template %q: a bracketed part is text and one variable, like [#{shard}]", t.src)
	}
	last, sep := "", ""
	for _, p := range t.parts {
		switch {
		case p.name == "":
			sep += p.lit
		case last != "" && sep == "":
			return fmt.Errorf("template %q: variables {%s} and {%s} touch: put '#' between them", t.src, last, p.name)
		case last != "" && !strings.Contains(sep, "#"):
			return fmt.Errorf("template %q: variables {%s} and {%s} are parted by %q, which a value may contain: put '#' between them",
				t.src, last, p.name, sep)
		}
		if p.name != "" {
			last, sep = p.name, ""
		}
	}
	return nil
}

// head returns the literal text before the first variable.
func (t *template) head() string {
	if len(t.parts) > 0 && t.parts[0].name == "" {
		return t.parts[0].lit
	}
	return ""
}

// literal reports whether the template has no variables and so stands for a single key.
func (t *template) literal() bool {
	return len(t.parts) == 1 && t.parts[0].name == ""
}

// variables returns the names of the variables, in order and including repetitions.
func (t *template) variables() []string {
	var names []string
	for _, p := range t.parts {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// variants returns the forms of t: with and without the bracketed tail.
func (t *template) variants() []template {
	whole := template{src: t.src, parts: t.parts, optional: len(t.parts)}
	if t.optional == len(t.parts) {
		return []template{whole}
	}
	return []template{whole, {src: t.src, parts: t.parts[:t.optional], optional: t.optional}}
}

// A segment is the text between two '#' of a template, with at most one variable.
type segment struct {
	before, after string
	variable      bool
}

func (t *template) segments() []segment {
	segs := []segment{{}}
	for _, p := range t.parts {
		last := &segs[len(segs)-1]
		if p.name != "" {
			last.variable = true
			continue
		}
		for i, text := range strings.Split(p.lit, "#") {
			if i > 0 {
				segs = append(segs, segment{})
				last = &segs[len(segs)-1]
			}
			if last.variable {
				last.after += text
			} else {
				last.before += text
			}
		}
	}
	return segs
}

// unifies reports whether a string could be a key of both templates. For templates with a bracketed
// tail, see variants.
func (t *template) unifies(o *template) bool {
	a, b := t.segments(), o.segments()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].unifies(b[i]) {
			return false
		}
	}
	return true
}

func (s segment) unifies(o segment) bool {
	switch {
	case s.variable && o.variable:
		return eitherPrefix(s.before, o.before) && eitherSuffix(s.after, o.after)
	case s.variable:
		return s.matches(o.before)
	case o.variable:
		return o.matches(s.before)
	}
	return s.before == o.before
}

// matches reports whether some value of the segment's variable, which is never empty, results in
// text.
func (s segment) matches(text string) bool {
	return len(text) > len(s.before)+len(s.after) && strings.HasPrefix(text, s.before) && strings.HasSuffix(text, s.after)
}

func eitherPrefix(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
func eitherSuffix(a, b string) bool { return strings.HasSuffix(a, b) || strings.HasSuffix(b, a) }
