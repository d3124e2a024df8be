package accesslog

import "bytes"

// cutQuoted removes a quoted field from rest and returns it unescaped; what names the field in
// errors. The field is valid until the next call.
//
// The closing quote is the first unescaped quote that is followed by a space or by nothing. Servers
// escape quotes inside a field, and a quote that a server did not escape is most likely followed by
// something else.
func (p *Parser) cutQuoted(rest []byte, what string) (field, after []byte, err error) {
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 {
		return nil, nil, malformed("it ends before the " + what)
	}
	if rest[0] != '"' {
		return nil, nil, malformed("the " + what + " does not start with a quote")
	}
	rest = rest[1:]
	escaped := false
	for i := 0; ; i++ {
		n := bytes.IndexByte(rest[i:], '"')
		if n < 0 {
			return nil, nil, malformed("the " + what + " is cut off: its quote is never closed")
		}
		// A quote is escaped if it is preceded by an odd number of backslashes.
		segment := rest[:i+n]
		i += n
		if bytes.IndexByte(segment, '\\') >= 0 {
			escaped = true
			if trailingBackslashes(segment)%2 == 1 {
				continue
			}
		}
		if i+1 == len(rest) || rest[i+1] == ' ' {
			field, after = rest[:i], rest[i+1:]
			break
		}
	}
	if escaped {
		p.scratch = unescape(p.scratch[:0], field)
		field = p.scratch
	}
	return field, after, nil
}

func trailingBackslashes(b []byte) int {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n
}

// unescape appends src to dst with the escapes of Apache (ap_escape_logitem) and nginx undone: \b \n \r \t \v \f \\ \"
// and \xNN. Any other backslash stands for itself.
func unescape(dst, src []byte) []byte {
	for i := 0; i < len(src); i++ {
		if src[i] != '\\' || i+1 == len(src) {
			dst = append(dst, src[i])
			continue
		}
		c, length := escape(src[i+1:])
		dst = append(dst, c)
		i += length
	}
	return dst
}

// escape returns what a backslash before b stands for and how many bytes of b belong to it.
func escape(b []byte) (c byte, length int) {
	switch b[0] {
	case '"', '\\':
		return b[0], 1
	case 'b':
		return '\b', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'v':
		return '\v', 1
	case 'f':
		return '\f', 1
	case 'x':
		if len(b) >= 3 {
			high, ok1 := hexDigit(b[1])
			low, ok2 := hexDigit(b[2])
			if ok1 && ok2 {
				return high<<4 | low, 3
			}
		}
	}
	return '\\', 0
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return (c | 0x20) - 'a' + 10, true
	default:
		return 0, false
	}
}
