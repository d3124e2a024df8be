package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// caddyLine has the fields of a line of Caddy's JSON that are read, after
// https://caddyserver.com/docs/caddyfile/directives/log. Versions differ: the client's address was
// remote_addr, with its port, until 2.5; client_ip, which looks through trusted proxies, came with
// 2.7.
type caddyLine struct {
	Time    json.RawMessage `json:"ts"`
	Status  int             `json:"status"`
	Size    int64           `json:"size"`
	Request *struct {
		ClientIP   string              `json:"client_ip"`
		RemoteIP   string              `json:"remote_ip"`
		RemoteAddr string              `json:"remote_addr"`
		Proto      string              `json:"proto"`
		Method     string              `json:"method"`
		Host       string              `json:"host"`
		URI        string              `json:"uri"`
		Headers    map[string][]string `json:"headers"`
	} `json:"request"`
}

// parseCaddy parses a line of Caddy's JSON. A line without a request is a message of the server.
func (p *Parser) parseCaddy(line []byte) (Entry, error) {
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return Entry{}, malformed("the line is empty")
	case line[0] != '{':
		return Entry{}, malformed("it is not a JSON object")
	}
	var l caddyLine
	if err := json.Unmarshal(line, &l); err != nil {
		return Entry{}, malformed("it is not JSON as Caddy writes it: " + jsonReason(err))
	}
	if l.Request == nil || l.Request.URI == "" && l.Request.Method == "" {
		if len(l.Time) == 0 {
			return Entry{}, malformed(`it has neither "ts" nor "request"`)
		}
		return Entry{}, nil
	}
	at, ok := caddyTime(l.Time)
	if !ok {
		return Entry{}, malformed("the time " + strconv.QuoteToASCII(string(head(l.Time, 40))) + " is in no format of Caddy's")
	}
	r := l.Request
	addr := r.ClientIP
	if addr == "" {
		addr = r.RemoteIP
	}
	if addr == "" {
		addr = addressOf(r.RemoteAddr)
	}
	if len(addr) > maxAddr {
		return Entry{}, malformed("the client's address is longer than 255 bytes")
	}
	e := Entry{Addr: p.addrs.get([]byte(addr)), Time: at, Status: l.Status, Bytes: max(l.Size, 0)}
	if m, target := []byte(r.Method), []byte(r.URI); isMethod(m) && isTarget(m, target) {
		e.Method, e.Target, e.Protocol = p.words.get(m), p.targets.get(target), p.words.get([]byte(r.Proto))
	}
	e.Host = p.words.get(withoutPort([]byte(r.Host)))
	e.Referrer = p.referrers.get([]byte(header(r.Headers, "Referer")))
	e.UserAgent = p.agents.get([]byte(header(r.Headers, "User-Agent")))
	return e, nil
}

// header returns the first value of a header. Names are in canonical form, or in lower case with
// HTTP/2.
func header(headers map[string][]string, name string) string {
	if values := headers[name]; len(values) > 0 {
		return values[0]
	}
	for other, values := range headers {
		if len(values) > 0 && strings.EqualFold(other, name) {
			return values[0]
		}
	}
	return ""
}

// addressOf returns the address of address:port.
func addressOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return s
}

// caddyLayouts are the text layouts that Caddy's time_format can choose. Times without a zone are
// taken as UTC.
var caddyLayouts = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05.000Z0700", "2006/01/02 15:04:05.999999999", "02/Jan/2006:15:04:05 -0700", time.RFC1123,
}

// caddyTime parses a time as Caddy writes it: a number of seconds, milliseconds or nanoseconds,
// distinguished by magnitude, or a text. Times before 1970 or from the year 10000 on are rejected.
func caddyTime(raw json.RawMessage) (time.Time, bool) {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return time.Time{}, false
		}
		for _, layout := range caddyLayouts {
			if at, err := time.Parse(layout, text); err == nil {
				return inMilliseconds(float64(at.UnixMilli()))
			}
		}
		return time.Time{}, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n < 1e11: // the year 5138 in seconds, 1973 in milliseconds
		return inMilliseconds(n * 1e3)
	case n < 1e15:
		return inMilliseconds(n)
	default:
		return inMilliseconds(n / 1e6)
	}
}

func inMilliseconds(ms float64) (time.Time, bool) {
	const year10000 = 253402300800000
	if !(ms >= 0 && ms < year10000) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(math.Floor(ms))).UTC(), true
}

// jsonReason describes a JSON error in terms of the log instead of Go.
func jsonReason(err error) string {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return wrong.Field + " is a " + wrong.Value
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func head(b []byte, n int) []byte { return b[:min(len(b), n)] }
