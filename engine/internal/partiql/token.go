package partiql

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind byte

const (
	kEnd    kind = iota
	kWord        // an identifier or keyword as written
	kQuoted      // "identifier"
	kText        // 'string'
	kNumber      // digits, a point, an exponent; without a sign
	kParam       // ?
	kMark        // an operator or punctuation
)

// token is one token of a statement. Its text is without quotes, and doubled quotes are single.
type token struct {
	kind       kind
	text       string
	start, end int // bytes
}

// is reports whether a token is the given mark or keyword. Keywords are case-insensitive.
func (t token) is(word string) bool {
	return t.kind == kMark && t.text == word || t.kind == kWord && strings.EqualFold(t.text, word)
}

// place formats the position of a token like DynamoDB: line:column:length, in characters, from 1.
func place(src string, t token) string {
	line := 1 + strings.Count(src[:t.start], "\n")
	column := 1 + utf8.RuneCountInString(src[strings.LastIndexByte(src[:t.start], '\n')+1:t.start])
	return strconv.Itoa(line) + ":" + strconv.Itoa(column) + ":" + strconv.Itoa(utf8.RuneCountInString(src[t.start:t.end]))
}

// marks are the operators and punctuation, longer ones before their prefixes.
var marks = []string{"<<", ">>", "<=", ">=", "<>", "!=", "||", "(", ")", "[", "]", "{", "}", ",", ".", ":", ";", "*", "+", "-", "/", "%", "=", "<", ">"}

// tokenize splits a statement into tokens, the last of which is kEnd. It returns false for text
// that is not part of the language.
func tokenize(src string) ([]token, bool) {
	toks := make([]token, 0, len(src)/4+2)
	for i := 0; i < len(src); {
		n, ok := skipped(src[i:])
		if !ok {
			return nil, false
		}
		if n > 0 {
			i += n
			continue
		}
		t, ok := scanToken(src, i)
		if !ok {
			return nil, false
		}
		toks = append(toks, t)
		i = t.end
	}
	return append(toks, token{kind: kEnd, start: len(src), end: len(src)}), true
}

// skipped returns the length of white space or a comment at the start; false for an unterminated
// comment.
func skipped(s string) (int, bool) {
	switch {
	case strings.IndexByte(" \t\r\n", s[0]) >= 0:
		return 1, true
	case strings.HasPrefix(s, "--"):
		if end := strings.IndexByte(s, '\n'); end >= 0 {
			return end, true
		}
		return len(s), true
	case strings.HasPrefix(s, "/*"):
		end := strings.Index(s[2:], "*/")
		return end + 4, end >= 0
	}
	return 0, true
}

func scanToken(src string, i int) (token, bool) {
	c := src[i]
	switch {
	case isLetter(c):
		end := i + 1
		for end < len(src) && (isLetter(src[end]) || isDigit(src[end])) {
			end++
		}
		return token{kWord, src[i:end], i, end}, true
	case isDigit(c) || c == '.' && i+1 < len(src) && isDigit(src[i+1]):
		return scanNumber(src, i)
	case c == '"':
		return scanQuoted(src, i, kQuoted)
	case c == '\'':
		return scanQuoted(src, i, kText)
	case c == '?':
		return token{kParam, "?", i, i + 1}, true
	}
	for _, m := range marks {
		if strings.HasPrefix(src[i:], m) {
			return token{kMark, m, i, i + len(m)}, true
		}
	}
	return token{}, false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// scanQuoted scans quoted text, in which a doubled quote stands for a quote.
func scanQuoted(src string, start int, k kind) (token, bool) {
	quote := src[start]
	from, doubled := start+1, false
	for i := from; i < len(src); i++ {
		if src[i] != quote {
			continue
		}
		if i+1 < len(src) && src[i+1] == quote {
			doubled = true
			i++
			continue
		}
		text := src[from:i]
		if doubled {
			text = strings.ReplaceAll(text, string([]byte{quote, quote}), string(quote))
		}
		return token{k, text, start, i + 1}, utf8.ValidString(text)
	}
	return token{}, false
}

// scanNumber scans a number. Its exponent and resulting scale must fit into 32 bits.
func scanNumber(src string, start int) (token, bool) {
	i, scale := start, 0
	for i < len(src) && isDigit(src[i]) {
		i++
	}
	if i < len(src) && src[i] == '.' {
		from := i + 1
		for i++; i < len(src) && isDigit(src[i]); i++ {
		}
		scale = i - from
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		from := i + 1
		if i++; i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		for i < len(src) && isDigit(src[i]) {
			i++
		}
		exp, err := strconv.ParseInt(src[from:i], 10, 32)
		if err != nil || int64(scale)-exp > math.MaxInt32 || int64(scale)-exp < math.MinInt32 {
			return token{}, false
		}
	}
	return token{kNumber, src[start:i], start, i}, true
}
