package accesslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// columns maps the fields of a CloudFront log to columns.
type columns struct {
	of [cfFields]int // -1: no such column
	n  int
}

// The fields that are read, after
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html.
const (
	cfDate = iota
	cfTime
	cfTimestampMS
	cfAddr
	cfMethod
	cfHost
	cfViewerHost
	cfPath
	cfQuery
	cfStatus
	cfBytes
	cfReferrer
	cfUserAgent
	cfProtocol
	cfCountry
	cfFields
)

var cfNames = [cfFields]string{
	"date", "time", "timestamp(ms)", "c-ip", "cs-method", "cs(Host)", "x-host-header", "cs-uri-stem", "cs-uri-query", "sc-status",
	"sc-bytes", "cs(Referer)", "cs(User-Agent)", "cs-protocol-version", "c-country",
}

// cfNeeded are the fields without which a line describes no request.
var cfNeeded = [...]int{cfAddr, cfMethod, cfPath, cfStatus}

const maxColumns = 256

// parseCloudFront parses a line of a standard log: a header, tab-separated values in the header's
// order, or JSON.
func (p *Parser) parseCloudFront(line []byte) (Entry, error) {
	var v [cfFields]string
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return Entry{}, malformed("the line is empty")
	case line[0] == '#':
		return Entry{}, p.cloudFrontHeader(line)
	case line[0] == '{':
		if err := cloudFrontJSON(line, &v); err != nil {
			return Entry{}, err
		}
	case p.columns == nil:
		return Entry{}, malformed(`no line "#Fields:" came before it`)
	default:
		if n := bytes.Count(line, []byte{'\t'}) + 1; n != p.columns.n {
			return Entry{}, malformed(fmt.Sprintf("it has %d columns, and #Fields names %d", n, p.columns.n))
		}
		i := 0
		for value := range bytes.SplitSeq(line, []byte{'\t'}) {
			for field, column := range p.columns.of {
				if column == i {
					v[field] = string(value)
				}
			}
			i++
		}
	}
	return p.cloudFrontEntry(&v)
}

// cloudFrontHeader stores the columns that a "#Fields:" line names.
func (p *Parser) cloudFrontHeader(line []byte) error {
	list, ok := bytes.CutPrefix(line, []byte("#Fields:"))
	if !ok {
		return nil
	}
	names := strings.Fields(string(list))
	if len(names) > maxColumns {
		return malformed("#Fields names more than 256 columns")
	}
	c := &columns{n: len(names)}
	for field, name := range cfNames {
		c.of[field] = -1
		for i := range names {
			if strings.EqualFold(names[i], name) {
				c.of[field] = i
			}
		}
	}
	for _, field := range cfNeeded {
		if c.of[field] < 0 {
			return malformed("#Fields does not name " + cfNames[field] + ": the log does not tell of requests")
		}
	}
	p.columns = c
	return nil
}

// cloudFrontJSON parses a line of a JSON log, in which every value is a text or a number.
func cloudFrontJSON(line []byte, v *[cfFields]string) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return malformed("it is not JSON: " + jsonReason(err))
	}
	for field, name := range cfNames {
		switch raw := all[name]; {
		case len(raw) == 0 || string(raw) == "null":
		case raw[0] == '"':
			if err := json.Unmarshal(raw, &v[field]); err != nil {
				return malformed(name + ": " + jsonReason(err))
			}
		case isDigit(raw[0]):
			v[field] = string(raw)
		default:
			return malformed(name + " is neither a text nor a number")
		}
	}
	for _, field := range cfNeeded {
		if v[field] == "" {
			return malformed("it does not have " + cfNames[field])
		}
	}
	return nil
}

func (p *Parser) cloudFrontEntry(v *[cfFields]string) (e Entry, err error) {
	for field := range v {
		if v[field] == "-" {
			v[field] = ""
		}
	}
	if e.Time, err = cloudFrontTime(v); err != nil {
		return Entry{}, err
	}
	if len(v[cfAddr]) > maxAddr {
		return Entry{}, malformed("the client's address is longer than 255 bytes")
	}
	if v[cfStatus] == "" || v[cfStatus] == "000" { // the client disconnected before there was a response
		v[cfStatus] = "-"
	}
	if e.Status, _, err = cutStatus([]byte(v[cfStatus])); err != nil {
		return Entry{}, err
	}
	if v[cfBytes] != "" {
		if e.Bytes, _, err = cutBytes([]byte(v[cfBytes])); err != nil {
			return Entry{}, err
		}
	}
	target := onceEncoded(v[cfPath])
	if v[cfQuery] != "" {
		target += "?" + onceEncoded(v[cfQuery])
	}
	if m := []byte(v[cfMethod]); isMethod(m) && isTarget(m, []byte(target)) {
		e.Method, e.Target, e.Protocol = p.words.get(m), p.targets.get([]byte(target)), p.words.get([]byte(v[cfProtocol]))
	}
	host := v[cfViewerHost]
	if host == "" {
		host = v[cfHost]
	}
	e.Addr, e.Host = p.addrs.get([]byte(v[cfAddr])), p.words.get(withoutPort([]byte(host)))
	e.Referrer = p.referrers.get([]byte(onceEncoded(v[cfReferrer])))
	e.UserAgent = p.agents.get([]byte(decoded(v[cfUserAgent])))
	e.Country = p.words.get([]byte(v[cfCountry]))
	return e, nil
}

// cloudFrontTime returns the time of the response, to the millisecond if the log has it.
func cloudFrontTime(v *[cfFields]string) (time.Time, error) {
	if v[cfTimestampMS] != "" {
		n, err := strconv.ParseInt(v[cfTimestampMS], 10, 64)
		at, ok := inMilliseconds(float64(n))
		if err != nil || !ok {
			return at, malformed(fmt.Sprintf("the time %.26q is not in milliseconds since 1970", v[cfTimestampMS]))
		}
		return at, nil
	}
	text := v[cfDate] + " " + v[cfTime]
	at, err := time.Parse(time.DateTime, text)
	if err != nil || at.Year() < 1970 {
		return time.Time{}, malformed(fmt.Sprintf("the time %.26q is not like 2006-01-02 15:04:05", text))
	}
	return at, nil
}

// onceEncoded undoes the encoding that CloudFront adds to encoded text: %2520 was %20 when the
// client sent it.
func onceEncoded(s string) string {
	if !strings.Contains(s, "%25") {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%25")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = after
		if isEscape(after) {
			b.WriteByte('%')
		} else {
			b.WriteString("%25")
		}
	}
}

func isEscape(s string) bool {
	if len(s) < 2 {
		return false
	}
	_, high := hexDigit(s[0])
	_, low := hexDigit(s[1])
	return high && low
}

// decoded undoes the encoding of a text that is not a URL. Text with invalid encoding is returned
// unchanged.
func decoded(s string) string {
	s = onceEncoded(s)
	if !strings.Contains(s, "%") {
		return s
	}
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
