package webanalytics

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/onefold/onefold/analytics"
)

// decodePlain decodes the bodies that most clients send: objects with the documented fields, each
// at most once, unescaped text and integers. It takes half the time of a general decoder. For
// anything else, valid or not, ok is false. If ok is true, the result is the same as that of the
// general decoder.
func decodePlain(body []byte, many bool) (site string, events []Event, ok bool) {
	s := scanner{b: body}
	if many {
		s.texts = new([textCache]string)
		site, events = s.batch()
	} else {
		events = make([]Event, 1)
		s.event(&events[0], &site)
	}
	s.space()
	return site, events, !s.declined && s.at == len(body)
}

// scanner parses a body. Once it meets something that it does not support, it has declined, and
// returns zero values from then on.
type scanner struct {
	b        []byte
	at       int
	declined bool
	texts    *[textCache]string // cache of recently read texts, since the events of a batch share many; nil: no cache
}

const (
	textCache = 128
	longText  = 256 // longer texts, in bytes, are not cached
)

func (s *scanner) decline() { s.declined, s.at = true, len(s.b) }

func (s *scanner) space() {
	for s.at < len(s.b) && (s.b[s.at] == ' ' || s.b[s.at] == '\n' || s.b[s.at] == '\r' || s.b[s.at] == '\t') {
		s.at++
	}
}

// next skips white space and then c, and reports whether c was there.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) expect(c byte) {
	if !s.next(c) {
		s.decline()
	}
}

// raw reads a string and returns it as a slice of the body.
func (s *scanner) raw() []byte {
	s.expect('"')
	n := bytes.IndexByte(s.b[s.at:], '"')
	if n < 0 {
		s.decline()
		return nil
	}
	text := s.b[s.at : s.at+n]
	s.at += n + 1
	if !printable(text) && !plain(text) {
		s.decline()
		return nil
	}
	return text
}

// printable reports whether text consists of printable ASCII without backslashes. It checks eight
// bytes at a time.
func printable(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		slash := x ^ '\\'*ones
		if (x|(x-' '*ones)|(slash-ones)&^slash)&highs != 0 {
			return false
		}
	}
	for _, c := range text {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// plain reports whether text is valid UTF-8 without backslashes and control characters.
func plain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(text)
}

// text reads a string.
func (s *scanner) text() string {
	raw := s.raw()
	if s.texts == nil || len(raw) == 0 || len(raw) > longText {
		return string(raw)
	}
	n := len(raw)
	kept := &s.texts[(uint(n)*31+uint(raw[n-1])*7+uint(raw[n/2])*5+uint(raw[n/4]))%textCache]
	if *kept != string(raw) {
		*kept = string(raw)
	}
	return *kept
}

// mostDigits is the maximum number of digits that fit into every integer type used here.
const mostDigits = 9

// whole reads an integer.
func (s *scanner) whole() int {
	s.space()
	start := s.at
	if s.at < len(s.b) && s.b[s.at] == '-' {
		s.at++
	}
	digits := s.at
	for s.at < len(s.b) && s.b[s.at]-'0' <= 9 {
		s.at++
	}
	n, err := strconv.Atoi(string(s.b[start:s.at]))
	if err != nil || s.at-digits > mostDigits || s.b[digits] == '0' && s.at-digits > 1 {
		s.decline()
	}
	return n
}

// members reads an object and calls value for each name, to read what follows.
func (s *scanner) members(value func(name []byte)) {
	s.expect('{')
	if s.next('}') {
		return
	}
	for !s.declined {
		name := s.raw()
		s.expect(':')
		value(name)
		if !s.next(',') {
			s.expect('}')
			return
		}
	}
}

// seen is the set of names that an object has had so far, as bits.
type seen uint32

// once declines the body if a name occurs again.
func (s *scanner) once(of *seen, bit seen) {
	if *of&bit != 0 {
		s.decline()
	}
	*of |= bit
}

// batch reads a body with many events.
func (s *scanner) batch() (site string, events []Event) {
	var names seen
	s.members(func(name []byte) {
		switch string(name) {
		case "site":
			s.once(&names, 1)
			site = s.text()
		case "events":
			s.once(&names, 2)
			events = s.events()
		default:
			s.decline()
		}
	})
	return site, events
}

const leastEventBytes = 100 // to estimate the number of events

func (s *scanner) events() []Event {
	events := make([]Event, 0, min((len(s.b)-s.at)/leastEventBytes+1, maxEvents))
	s.expect('[')
	if s.next(']') {
		return events
	}
	for !s.declined {
		if len(events) == maxEvents {
			s.decline()
			break
		}
		events = append(events, Event{})
		s.event(&events[len(events)-1], nil)
		if !s.next(',') {
			s.expect(']')
			break
		}
	}
	return events
}

// event reads an event, and the site's name unless site is nil.
func (s *scanner) event(e *Event, site *string) {
	var names seen
	s.members(func(name []byte) {
		text, bit := e.textField(name, site)
		if text != nil {
			s.once(&names, bit)
			*text = s.text()
			return
		}
		switch string(name) {
		case "engagedMs":
			s.once(&names, 1<<8)
			e.EngagedMS = int64(s.whole())
		case "scroll":
			s.once(&names, 1<<9)
			e.Scroll = s.whole()
		case "props":
			s.once(&names, 1<<10)
			e.Properties = s.properties()
		case "visitor":
			s.once(&names, 1<<11)
			e.Visitor = s.visitor()
		default:
			s.decline()
		}
	})
}

// textField returns the field for a name and its bit, or nil for other names.
func (e *Event) textField(name []byte, site *string) (text *string, bit seen) {
	switch string(name) {
	case "url":
		return &e.URL, 1 << 0
	case "id":
		return &e.ID, 1 << 1
	case "referrer":
		return &e.Referrer, 1 << 2
	case "name":
		return &e.Name, 1 << 3
	case "userId":
		return &e.UserID, 1 << 4
	case "sessionId":
		return &e.SessionID, 1 << 5
	case "revenue":
		return &e.Revenue, 1 << 6
	case "currency":
		return &e.Currency, 1 << 12
	case "site":
		return site, 1 << 7
	}
	for i := range reported {
		if d := &reported[i]; string(d.Name) == string(name) {
			return d.Sent(&e.Reported), firstReported << i
		}
	}
	return nil, 0
}

// reported are the dimensions whose texts senders report.
var reported = slices.DeleteFunc(slices.Clone(analytics.TraitDefs), func(d analytics.DimensionDef) bool { return d.Sent == nil })

// firstReported is the bit of the first of them.
const firstReported seen = 1 << 13

func (s *scanner) properties() map[string]string {
	all := make(map[string]string)
	s.members(func(name []byte) {
		if _, again := all[string(name)]; again {
			s.decline()
			return
		}
		all[string(name)] = s.text()
	})
	return all
}

func (s *scanner) visitor() *Visitor {
	v, names := new(Visitor), seen(0)
	s.members(func(name []byte) {
		switch string(name) {
		case "address":
			s.once(&names, 1)
			v.Address = s.text()
		case "userAgent":
			s.once(&names, 2)
			v.UserAgent = s.text()
		default:
			s.decline()
		}
	})
	return v
}
