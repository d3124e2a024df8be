package eventschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/onefold/onefold/eventstore"
)

// Errors of this package.
var (
	// ErrSchema is returned for an invalid schema, or one that exceeds a limit.
	ErrSchema = errors.New("eventschema: invalid schema")
	// ErrIncompatible is the cause of an *Incompatible.
	ErrIncompatible = errors.New("eventschema: the schema refuses events that the stored one accepts")
	// ErrEvent is the cause of an *Invalid.
	ErrEvent = errors.New("eventschema: the event does not match its schema")
	// ErrNotFound is returned for a schema that does not exist.
	ErrNotFound = errors.New("eventschema: not found")
)

// Limits of schemas and events.
const (
	MaxBytes      = 64 << 10 // of a schema
	maxNodes      = 1000     // subschemas, with references replaced by what they refer to
	maxDepth      = 32       // nested subschemas
	maxEventDepth = 64       // nested objects and arrays of an event
	maxNumber     = 100      // characters of a number
	maxExponent   = 400      // of a number
	maxViolations = 10       // reported of an event
	maxWork       = 10 << 20 // subschemas of a schema times values of an event
)

// Schema is a JSON Schema. It is safe for concurrent use.
type Schema struct {
	text     json.RawMessage
	expanded any // without references
	nodes    int // subschemas
	compiled *jsonschema.Schema
	personal []eventstore.PersonalRule // without the event type
}

// Text returns the schema as it was parsed, without insignificant space.
func (s *Schema) Text() json.RawMessage { return s.text }

// Parse parses a schema. References must be local ($ref "#/…") and not recursive. Errors: ErrSchema.
func Parse(text []byte) (*Schema, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: it has %d bytes; use at most %d", ErrSchema, len(text), MaxBytes)
	}
	document, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	s := new(Schema)
	if s.expanded, s.nodes, err = expand(document); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // loads nothing
	if err := c.AddResource(place, s.expanded); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	if s.compiled, err = c.Compile(place); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrSchema, strings.ReplaceAll(err.Error(), place, ""))
	}
	if s.personal, err = personalIn(s.expanded); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	s.text = compact.Bytes()
	return s, nil
}

const place = "schema:/event"

// decode decodes a JSON value, and checks its depth and numbers.
func decode(text []byte) (any, error) {
	if depthOf(text) > maxEventDepth {
		return nil, fmt.Errorf("more than %d nested objects and arrays", maxEventDepth)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("it is not JSON")
	}
	return v, checkNumbers(v, "")
}

// depthOf returns the largest number of nested objects and arrays, before they are decoded.
func depthOf(text []byte) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// checkNumbers refuses numbers that take long to compare.
func checkNumbers(v any, at string) error {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			if err := checkNumbers(of, at+"/"+escape(name)); err != nil {
				return err
			}
		}
	case []any:
		for i, of := range v {
			if err := checkNumbers(of, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case json.Number:
		exponent := 0
		if i := strings.IndexAny(v.String(), "eE"); i >= 0 {
			var err error
			if exponent, err = strconv.Atoi(v.String()[i+1:]); err != nil {
				exponent = maxExponent + 1
			}
		}
		if len(v) > maxNumber || exponent > maxExponent || exponent < -maxExponent {
			return &numberError{at}
		}
	}
	return nil
}

type numberError struct{ at string }

func (e *numberError) Error() string { return "the number at " + e.at + " is too long" }

// escape escapes a name for a JSON Pointer (RFC 6901).
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// Violation is a part of an event that does not match its schema.
type Violation struct {
	Path    string // JSON Pointer in the data, "" for the whole
	Message string // without the value
}

// Invalid is the error of an event that does not match its schema.
type Invalid struct {
	Violations []Violation // at most 10
}

func (e *Invalid) Error() string {
	v := e.Violations[0]
	return fmt.Sprintf("%s: at %q: %s", ErrEvent.Error(), v.Path, v.Message)
}

func (e *Invalid) Unwrap() error { return ErrEvent }

// Check checks the data of an event; no data is checked as null. Errors: *Invalid.
func (s *Schema) Check(data []byte) error {
	if len(data) == 0 {
		data = []byte("null")
	}
	v, err := decode(data)
	if err != nil {
		path := ""
		if number := (*numberError)(nil); errors.As(err, &number) {
			path = number.at
		}
		return &Invalid{[]Violation{{path, err.Error()}}}
	}
	if n := valuesIn(v); n*s.nodes > maxWork {
		return &Invalid{[]Violation{{"", fmt.Sprintf("it has %d values, too many for a schema with %d subschemas", n, s.nodes)}}}
	}
	err = s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	found := (*jsonschema.ValidationError)(nil)
	if !errors.As(err, &found) {
		return &Invalid{[]Violation{{"", err.Error()}}}
	}
	invalid := new(Invalid)
	invalid.add(found)
	return invalid
}

// valuesIn returns the number of values in a value, itself included.
func valuesIn(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, of := range v {
			n += valuesIn(of)
		}
	case []any:
		for _, of := range v {
			n += valuesIn(of)
		}
	}
	return n
}

// add adds the causes of an error that have no causes themselves.
func (e *Invalid) add(found *jsonschema.ValidationError) {
	for _, cause := range found.Causes {
		e.add(cause)
	}
	if len(found.Causes) > 0 || len(e.Violations) == maxViolations {
		return
	}
	path := ""
	for _, name := range found.InstanceLocation {
		path += "/" + escape(name)
	}
	e.Violations = append(e.Violations, Violation{path, describe(found.ErrorKind)})
}

// describe says what is wrong, without the value, which may be personal.
func describe(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Pattern:
		return "it does not match the pattern " + k.Want
	case *kind.Minimum:
		return "it is below the minimum"
	case *kind.Maximum:
		return "it is above the maximum"
	case *kind.ExclusiveMinimum:
		return "it is not above the exclusive minimum"
	case *kind.ExclusiveMaximum:
		return "it is not below the exclusive maximum"
	case *kind.MultipleOf:
		return "it is no multiple of what the schema says"
	case *kind.Format:
		return "it does not have the format " + k.Want
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}
