package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// ErrMalformed is returned for a line that is not in the log's format. It is always wrapped with
// the reason. Reading can continue with the next line.
var ErrMalformed = errors.New("accesslog: malformed line")

// Entry is one line of an access log. A field logged as "-" is empty. Escapes (\" \\ \n \xNN …) are undone, and bytes
// that are not UTF-8 are then replaced by U+FFFD, so that every string is valid UTF-8. Control characters are kept.
type Entry struct {
	// Addr is the client's address as written: IPv4, IPv6, or a name where the server looks names up.
	Addr string
	// Time is when the request was received or, with some servers, answered, in UTC; to the second,
	// or to the millisecond if the format has it. It is zero for a well-formed line that describes
	// no request: a header, or a message of the server.
	Time time.Time
	// Method, Target and Protocol are the parts of the request line: "GET", "/a?b=c", "HTTP/1.1".
	// All three are empty if the client did not send a request line ("-", a TLS handshake on a
	// plain port, …): the line is well formed, but the request was not. Only Protocol is empty for
	// a request of HTTP/0.9.
	Method, Target, Protocol string
	// Status is the response's status code, 0 if none was logged.
	Status int
	// Bytes is the size of the response's body, 0 if none was sent.
	Bytes int64
	// Referrer and UserAgent are empty if the client sent none or the format does not have them.
	Referrer, UserAgent string
	// Host is the requested virtual host, without a port, and Country the client's country, if the
	// format has them.
	Host, Country string
}

// Parser parses lines. It caches the strings that logs repeat (addresses, targets, referrers, user
// agents) in bounded memory, so that most lines allocate nothing. A Parser must not be used by
// several goroutines at once.
type Parser struct {
	format  Format   // "" is Combined
	columns *columns // for CloudFront: the columns named by the last "#Fields:" line

	addrs, targets, referrers, agents, words interner

	scratch []byte // holds an unescaped field until it is interned
}

// NewParser returns a Parser for a format with an empty cache.
func NewParser(format Format) *Parser {
	return &Parser{
		format:    format,
		addrs:     newInterner(),
		targets:   newInterner(),
		referrers: newInterner(),
		agents:    newInterner(),
		words:     newInterner(),
	}
}

// Parse parses one line, with or without its line ending. The Entry does not refer to the line's memory. The error is
// ErrMalformed wrapped with the reason.
func (p *Parser) Parse(line []byte) (Entry, error) {
	// A file that was truncated while its server kept writing ("copytruncate") starts with a run of
	// NULs.
	line = bytes.TrimLeft(bytes.TrimRight(line, "\r\n"), "\x00")
	switch p.format {
	case Caddy:
		return p.parseCaddy(line)
	case CloudFront:
		return p.parseCloudFront(line)
	default:
		return p.parseCombined(line)
	}
}

// parseCombined parses a line of the Common or Combined Log Format.
func (p *Parser) parseCombined(rest []byte) (Entry, error) {
	var e Entry
	if host, after, ok := cutHost(rest); ok {
		e.Host, rest = p.words.get(host), after
	}
	addr, rest, found := bytes.Cut(rest, space)
	switch {
	case len(addr) == 0 && len(rest) == 0:
		return Entry{}, malformed("the line is empty")
	case len(addr) == 0:
		return Entry{}, malformed("it starts with a space where the client's address belongs")
	case !found:
		return Entry{}, malformed("it ends after its first word")
	case len(addr) > maxAddr:
		return Entry{}, malformed("the client's address is longer than 255 bytes")
	}
	e.Addr = p.addrs.get(addr)

	seconds, rest, err := cutTime(rest)
	if err != nil {
		return Entry{}, err
	}
	e.Time = time.Unix(seconds, 0).UTC()

	request, rest, err := p.cutQuoted(rest, "request")
	if err != nil {
		return Entry{}, err
	}
	e.Method, e.Target, e.Protocol = p.splitRequest(request)

	if e.Status, rest, err = cutStatus(rest); err != nil {
		return Entry{}, err
	}
	if e.Bytes, rest, err = cutBytes(rest); err != nil {
		return Entry{}, err
	}
	if err := p.parseSender(rest, &e); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// maxAddr is the maximum length of a DNS name.
const maxAddr = 255

var space = []byte{' '}

func malformed(reason string) error {
	return fmt.Errorf("%w: %s", ErrMalformed, reason)
}

// parseSender parses what the Combined Log Format adds. An unquoted field belongs to a custom
// format that extends the Common Log Format.
func (p *Parser) parseSender(rest []byte, e *Entry) error {
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	field, rest, err := p.cutQuoted(rest, "referrer")
	if err != nil {
		return err
	}
	e.Referrer = p.referrers.get(orEmpty(field))
	if field, _, err = p.cutQuoted(rest, "user agent"); err != nil {
		return err
	}
	e.UserAgent = p.agents.get(orEmpty(field))
	return nil
}

func orEmpty(field []byte) []byte {
	if len(field) == 1 && field[0] == '-' {
		return nil
	}
	return field
}

// splitRequest splits a request line. Anything that is not one (RFC 9112, section 3) has no parts.
func (p *Parser) splitRequest(request []byte) (method, target, protocol string) {
	m, rest, found := bytes.Cut(request, space)
	if !found || !isMethod(m) {
		return "", "", ""
	}
	// The target extends to the last space: servers accept spaces inside it, which clients should
	// not send.
	t, proto := rest, []byte(nil)
	if i := bytes.LastIndexByte(rest, ' '); i >= 0 && bytes.HasPrefix(rest[i+1:], []byte("HTTP/")) {
		t, proto = rest[:i], rest[i+1:]
	}
	if !isTarget(m, t) {
		return "", "", ""
	}
	return p.words.get(m), p.targets.get(t), p.words.get(proto)
}

// isMethod reports whether b can be a method: letters, '-' and '_', as in every registered one, at most 32 of them.
func isMethod(b []byte) bool {
	if len(b) == 0 || len(b) > 32 {
		return false
	}
	for _, c := range b {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// isTarget reports whether b is one of the four forms of a request target (RFC 9112, section 3.2): origin, absolute,
// authority (of CONNECT), asterisk.
func isTarget(method, b []byte) bool {
	switch {
	case len(b) == 0:
		return false
	case b[0] == '/':
		return true
	case string(method) == "CONNECT":
		return bytes.IndexByte(b, ':') > 0
	case string(b) == "*":
		return true
	default:
		return bytes.Index(b, []byte("://")) > 0
	}
}

// cutStatus removes the status code from rest: three digits, or "-" if the connection ended before
// there was one.
func cutStatus(rest []byte) (int, []byte, error) {
	field, rest, _ := bytes.Cut(bytes.TrimLeft(rest, " "), space)
	switch {
	case len(field) == 0:
		return 0, nil, malformed("it ends before the status code")
	case len(field) == 1 && field[0] == '-':
		return 0, rest, nil
	case len(field) != 3 || !isDigit(field[0]) || !isDigit(field[1]) || !isDigit(field[2]):
		return 0, nil, malformed(fmt.Sprintf("the status code %.10q is not three digits", field))
	}
	return int(field[0]-'0')*100 + int(field[1]-'0')*10 + int(field[2]-'0'), rest, nil
}

// cutBytes removes the size of the response from rest.
func cutBytes(rest []byte) (int64, []byte, error) {
	field, rest, _ := bytes.Cut(bytes.TrimLeft(rest, " "), space)
	switch {
	case len(field) == 0:
		return 0, nil, malformed("it ends before the response's size")
	case len(field) == 1 && field[0] == '-':
		return 0, rest, nil
	}
	var n int64
	for _, c := range field {
		if !isDigit(c) || n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, nil, malformed(fmt.Sprintf("the response's size %.30q is not a number of bytes", field))
		}
		n = n*10 + int64(c-'0')
	}
	return n, rest, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// valid returns b as a string of valid UTF-8.
func valid(b []byte) string {
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
