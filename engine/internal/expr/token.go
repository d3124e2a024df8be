package expr

import "unicode/utf8"

// tokenKind is the character of a one-character token, or one of the classes below.
type tokenKind byte

const (
	tokEOF   tokenKind = 0
	tokIdent tokenKind = 'a' // a letter, then letters, digits and underscores
	tokInt   tokenKind = '0' // digits
	tokName  tokenKind = '#' // #placeholder, with at least one character after the sign
	tokValue tokenKind = ':' // :placeholder
	tokLE    tokenKind = 'l'
	tokGE    tokenKind = 'g'
	tokNE    tokenKind = 'n'
	tokOther tokenKind = 'x' // any character that does not occur in expressions
)

type token struct {
	kind       tokenKind
	start, end int
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }

// tokenize splits an expression into tokens, the last of which is tokEOF. It accepts any text:
// unknown characters become tokOther, which the parser rejects.
func tokenize(src string) []token {
	toks := make([]token, 0, len(src)/4+2)
	for i := 0; i < len(src); {
		switch src[i] {
		case ' ', '\t', '\r', '\n':
			i++
			continue
		}
		t := scanToken(src, i)
		toks = append(toks, t)
		i = t.end
	}
	return append(toks, token{kind: tokEOF, start: len(src), end: len(src)})
}

func scanToken(src string, start int) token {
	end := start + 1
	span := func(in func(byte) bool) int {
		for end < len(src) && in(src[end]) {
			end++
		}
		return end
	}
	follows := func(c byte) bool { return end < len(src) && src[end] == c }
	c := src[start]
	switch {
	case isLetter(c):
		return token{tokIdent, start, span(isWord)}
	case isDigit(c):
		return token{tokInt, start, span(isDigit)}
	case c == '#' || c == ':':
		if span(isWord) == start+1 {
			return token{tokOther, start, end}
		}
		return token{tokenKind(c), start, end}
	case c == '<' && follows('>'):
		return token{tokNE, start, end + 1}
	case c == '<' && follows('='):
		return token{tokLE, start, end + 1}
	case c == '>' && follows('='):
		return token{tokGE, start, end + 1}
	case c >= utf8.RuneSelf:
		_, size := utf8.DecodeRuneInString(src[start:])
		return token{tokOther, start, start + size}
	}
	for _, known := range "()[].,<>=+-" {
		if c == byte(known) {
			return token{tokenKind(c), start, end}
		}
	}
	return token{tokOther, start, end}
}
