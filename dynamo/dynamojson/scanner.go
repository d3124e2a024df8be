package dynamojson

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner scans JSON text, which must be valid UTF-8.
type scanner struct {
	src string
	pos int
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c, which must come next.
func (s *scanner) take(c byte) error {
	if s.peek() != c {
		return errSyntax()
	}
	s.pos++
	return nil
}

// literal consumes null, true or false.
func (s *scanner) literal(word string) error {
	if !strings.HasPrefix(s.src[s.pos:], word) {
		return errSyntax()
	}
	s.pos += len(word)
	return nil
}

// maxShared is the maximum size in bytes of a source whose parts are shared with the decoded
// strings. Parts of larger sources are copied, so that keeping a name or expression does not keep
// megabytes in memory.
const maxShared = 64 << 10

// text reads a string. Without escapes, it is a part of the source or a copy of it.
func (s *scanner) text() (string, error) {
	if err := s.take('"'); err != nil {
		return "", err
	}
	start := s.pos
	for ; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return s.part(start, s.pos-1), nil
		case c == '\\':
			return s.escapedText(start)
		case c < ' ':
			return "", errSyntax()
		}
	}
	return "", errSyntax()
}

func (s *scanner) part(start, end int) string {
	if len(s.src) > maxShared {
		return strings.Clone(s.src[start:end])
	}
	return s.src[start:end]
}

// escapedText reads the rest of a string that has an escape at the current position.
func (s *scanner) escapedText(start int) (string, error) {
	out := append(make([]byte, 0, 2*(s.pos-start)+16), s.src[start:s.pos]...)
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return string(out), nil
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		case c < ' ':
			return "", errSyntax()
		default:
			out = append(out, c)
			s.pos++
		}
	}
	return "", errSyntax()
}

// escape reads one escape, or two that form a surrogate pair. Half a pair is an error.
func (s *scanner) escape() (rune, error) {
	if s.pos+1 >= len(s.src) {
		return 0, errSyntax()
	}
	c := s.src[s.pos+1]
	s.pos += 2
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, errSyntax()
	}
	r, err := s.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if !strings.HasPrefix(s.src[s.pos:], `\u`) {
		return 0, errSyntax()
	}
	s.pos += 2
	low, err := s.hex()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, errSyntax()
	}
	return r, nil
}

// hex reads four hexadecimal digits.
func (s *scanner) hex() (rune, error) {
	if s.pos+4 > len(s.src) {
		return 0, errSyntax()
	}
	n, err := strconv.ParseUint(s.src[s.pos:s.pos+4], 16, 16)
	if err != nil {
		return 0, errSyntax()
	}
	s.pos += 4
	return rune(n), nil
}

// number reads a number, and reports whether it is written as an integer.
func (s *scanner) number() (text string, whole bool, err error) {
	start := s.pos
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if !s.digits() {
		return "", false, errSyntax()
	}
	whole = true
	if s.at('.') {
		s.pos++
		if whole = false; !s.digits() {
			return "", false, errSyntax()
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if whole = false; !s.digits() {
			return "", false, errSyntax()
		}
	}
	return s.src[start:s.pos], whole, nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.src) && s.src[s.pos] == c }

// digits consumes digits, and reports whether there were any.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// skip skips a value, which may have at most depth levels.
func (s *scanner) skip(depth int) error {
	switch c := s.peek(); {
	case c == '"':
		_, err := s.text()
		return err
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		_, _, err := s.number()
		return err
	case (c == '{' || c == '[') && depth > 0:
		return s.skipInside(c, depth-1)
	}
	return errSyntax()
}

// skipInside skips an object or list.
func (s *scanner) skipInside(bracket byte, depth int) error {
	s.pos++
	end := bracket + 2 // '{' and '}', '[' and ']' are two apart
	if s.peek() == end {
		s.pos++
		return nil
	}
	for {
		if bracket == '{' {
			if _, err := s.key(); err != nil {
				return err
			}
		}
		if err := s.skip(depth); err != nil {
			return err
		}
		c := s.peek()
		s.pos++
		switch c {
		case end:
			return nil
		case ',':
		default:
			return errSyntax()
		}
	}
}

// key reads an object's key and its colon.
func (s *scanner) key() (string, error) {
	key, err := s.text()
	if err != nil {
		return "", err
	}
	return key, s.take(':')
}
