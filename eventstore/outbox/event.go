package outbox

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onefold/onefold/eventstore"
)

// Event is an event as CloudEvents 1.0 defines it. Characters that its strings may not have, such as
// line breaks, are replaced by U+FFFD.
type Event struct {
	ID          string        // of the event, a ULID: receivers ignore IDs that they have seen
	Source      string        // Options.Source
	Type        string        // Options.TypePrefix and the event's type
	Subject     string        // type of the aggregate, a slash and its ID
	Time        string        // when the event occurred, as RFC 3339 in UTC; "" outside of years 0 to 9999
	ContentType string        // application/json, or Options.ContentType; "" without data
	Extensions  []Attribute   // see the constants
	Data        []byte        // the payload, unchanged
	Aggregate   eventstore.ID // not published: the events of an aggregate keep their order
}

// Attribute is an attribute of an event.
type Attribute struct{ Name, Value string }

// Names of extension attributes. Attributes without a value are omitted.
const (
	// Sequence is the position of the append in the feed, in 19 digits, a dash, and the index of the
	// event in its append, in 4. As text, sequences sort in the order of the feed.
	Sequence = "sequence"
	// SchemaVersion is the version of the payload's form, from 1.
	SchemaVersion = "schemaversion"
	CorrelationID = "correlationid"
	CausationID   = "causationid"
	// TraceParent is the metadata of the same name, if it has W3C's form.
	TraceParent = "traceparent"
	Tenant      = "tenant" // only with Options.Tenant
	Actor       = "actor"  // only with Options.Actor
)

// reserved are the names that metadata cannot have.
var reserved = []string{
	"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data",
	Sequence, SchemaVersion, CorrelationID, CausationID, TraceParent, Tenant, Actor,
}

const (
	defaultSource = "onefold"
	jsonType      = "application/json"
	bytesType     = "application/octet-stream"
	timeForm      = "2006-01-02T15:04:05.999999999Z07:00"
)

// mapping maps events of the store.
type mapping struct {
	Options
	names []string // of the attributes of Options.Metadata; "": not published
}

func newMapping(o Options) *mapping {
	m := &mapping{Options: o}
	m.Source = sourceOf(o.Source)
	if m.ContentType == "" {
		m.ContentType = bytesType
	}
	m.names = make([]string, len(o.Metadata))
	for i, key := range o.Metadata {
		if name := nameOf(key); !slices.Contains(reserved, name) && !slices.Contains(m.names, name) {
			m.names[i] = name
		}
	}
	return m
}

// sourceOf returns a source as a URI reference.
func sourceOf(s string) string {
	if s == "" {
		return defaultSource
	}
	u, err := url.Parse(s)
	if err != nil {
		return url.PathEscape(s)
	}
	return u.String()
}

// nameOf returns the attribute's name for a key of metadata: its lower-case letters and digits.
func nameOf(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(key))
}

var traceParentForm = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

func (m *mapping) event(e *eventstore.FeedEvent) Event {
	out := Event{
		ID: e.EventID, Source: m.Source, Type: clean(m.TypePrefix + e.EventType), Subject: clean(e.ID.String()),
		Data: e.Payload, Aggregate: e.ID,
	}
	if at := e.OccurredAt.UTC(); at.Year() >= 0 && at.Year() <= 9999 {
		out.Time = at.Format(timeForm)
	}
	switch {
	case len(e.Payload) == 0:
	case utf8.Valid(e.Payload) && json.Valid(e.Payload):
		out.ContentType = jsonType
	default:
		out.ContentType = m.ContentType
	}
	add := func(name, value string) {
		if name != "" && value != "" {
			out.Extensions = append(out.Extensions, Attribute{name, clean(value)})
		}
	}
	add(Sequence, fmt.Sprintf("%019d-%04d", e.Position, e.Nth))
	add(SchemaVersion, fmt.Sprint(max(e.Schema, 1)))
	add(CorrelationID, e.Correlation)
	add(CausationID, e.Causation)
	if trace := e.Metadata[TraceParent]; traceParentForm.MatchString(trace) {
		add(TraceParent, trace)
	}
	if m.Tenant {
		add(Tenant, e.Tenant)
	}
	if m.Actor {
		add(Actor, e.Actor)
	}
	for i, key := range m.Metadata {
		add(m.names[i], e.Metadata[key])
	}
	return out
}

// clean replaces what CloudEvents does not allow in strings: control characters, noncharacters and
// invalid UTF-8.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Attributes yields the attributes by name, with those that are required first, and without
// datacontenttype, for which protocols have a header of their own.
func (e *Event) Attributes() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, a := range []Attribute{{"specversion", "1.0"}, {"id", e.ID}, {"source", e.Source}, {"type", e.Type}, {"subject", e.Subject}, {"time", e.Time}} {
			if a.Value != "" && !yield(a.Name, a.Value) {
				return
			}
		}
		for _, a := range e.Extensions {
			if !yield(a.Name, a.Value) {
				return
			}
		}
	}
}
