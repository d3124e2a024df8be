package mask

import "strings"

// segment is a part of a path between slashes. Empty parts are no segments, so that /a//b and /a/b/
// are masked like /a/b.
type segment struct {
	from, to int    // in the path
	text     string // decoded
	encoded  bool   // text differs from the path's
	masked   string // replacement; "": none
}

func appendSegments(all []segment, path string) []segment {
	for from := 0; from < len(path); {
		to := len(path)
		if n := strings.IndexByte(path[from:], '/'); n >= 0 {
			to = from + n
		}
		if from < to {
			text := decode(path[from:to])
			all = append(all, segment{from: from, to: to, text: text, encoded: text != path[from:to]})
		}
		from = to + 1
	}
	return all
}

// join returns the path with its masked segments replaced.
func join(path string, segments []segment) string {
	r := replacer{text: path}
	for i := range segments {
		if s := &segments[i]; s.masked != "" {
			r.replace(s.from, s.to, s.masked)
		}
	}
	return r.String()
}

// maxDecodings is how often a text is decoded: some programs encode a URL that is encoded already.
const maxDecodings = 4

// decode returns a text without percent-encoding. Broken escapes stay as they are.
func decode(text string) string {
	for range maxDecodings {
		if strings.IndexByte(text, '%') < 0 {
			return text
		}
		plain := decodeOnce(text)
		if plain == text {
			return text
		}
		text = plain
	}
	return text
}

func decodeOnce(text string) string {
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if high, low := hexValue(text[i+1]), hexValue(text[i+2]); high >= 0 && low >= 0 {
				b = append(b, byte(high<<4|low))
				i += 2
				continue
			}
		}
		b = append(b, text[i])
	}
	return string(b)
}

// hexValue returns the value of a hexadecimal digit, or -1.
func hexValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
