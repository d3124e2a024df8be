package useragent

import "strings"

// word is one word of a user agent: "Chrome/32.0" is the name "Chrome" with the version "32.0".
type word struct {
	name, version string
	// joined is true if only a space separates the word from the one before it, as in "Opera
	// Mini/7.0".
	joined bool
}

// cutWord removes the first word from s.
func cutWord(s string) (w word, rest string) {
	start := 0
	for start < len(s) && isSeparator(s[start]) {
		start++
	}
	end := start
	for end < len(s) && !isSeparator(s[end]) {
		end++
	}
	w.joined = start == 1 && s[0] == ' '
	w.name, rest = s[start:end], s[end:]
	if !isURL(w.name) {
		w.name, w.version, _ = strings.Cut(w.name, "/")
	}
	return w, rest
}

func isSeparator(c byte) bool {
	switch c {
	case ' ', ';', '(', ')', '[', ']', '{', '}', ',', '"', '\'', '+', '\t', '\r', '\n', '<', '>', '|':
		return true
	}
	return false
}

func isURL(s string) bool {
	return strings.Contains(s, "://") || strings.HasPrefix(s, "www.")
}

// isMail reports whether s is an email address.
func isMail(s string) bool {
	at := strings.IndexByte(s, '@')
	return at > 0 && strings.IndexByte(s[at:], '.') > 0
}

// maxWord is the maximum length of a word that is looked up. No name is longer.
const maxWord = 48

// lower appends s to b in lower case (ASCII), up to the maximum length of a word.
func lower(b []byte, s string) []byte {
	for i := 0; i < len(s) && len(b) < maxWord; i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b = append(b, c)
	}
	return b
}

// version reduces "32.0.1700.77" to "32" and "17.4.1" to "17.4". It returns "" for anything else.
func version(s string) string {
	end, dots := 0, 0
	for end < len(s) && (isDigit(s[end]) || s[end] == '.') {
		if s[end] == '.' {
			if dots++; dots == 2 {
				break
			}
		}
		end++
	}
	s = strings.TrimSuffix(s[:end], ".")
	s = strings.TrimSuffix(strings.TrimSuffix(s, ".0"), ".00")
	if len(s) > 12 || s == "" || !isDigit(s[0]) {
		return ""
	}
	return strings.Clone(s)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
