package mcpserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schema is the JSON Schema of a tool's arguments, derived from a type as the API's document is.
type schema struct {
	registry huma.Registry
	of       *huma.Schema
	document any // as JSON, without references, which some clients do not follow
}

const refPrefix = "#/$defs/"

func schemaOf[A any]() *schema {
	s := &schema{registry: huma.NewMapRegistry(refPrefix, huma.DefaultSchemaNamer)}
	s.of = s.registry.Schema(reflect.TypeFor[A](), false, "")
	s.document = s.inline(asJSON(s.of))
	return s
}

// asJSON returns a schema as decoded JSON. Schemas are made of types at startup and always encode.
func asJSON(of *huma.Schema) any {
	text, err := json.Marshal(of)
	if err != nil {
		panic(fmt.Sprintf("mcpserver: schema: %v", err))
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		panic(fmt.Sprintf("mcpserver: schema: %v", err))
	}
	return document
}

// inline replaces references by what they refer to. Arguments are not recursive.
func (s *schema) inline(document any) any {
	switch d := document.(type) {
	case []any:
		for i := range d {
			d[i] = s.inline(d[i])
		}
	case map[string]any:
		if ref, ok := d["$ref"].(string); ok {
			return s.inline(asJSON(s.registry.SchemaFromRef(ref)))
		}
		for name := range d {
			d[name] = s.inline(d[name])
		}
	}
	return document
}

// decode checks arguments against the schema and decodes them. The error names all mistakes.
func (s *schema) decode(arguments json.RawMessage, into any) error {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	var plain any
	if err := json.Unmarshal(arguments, &plain); err != nil {
		return fmt.Errorf("invalid_arguments: %w", err)
	}
	found := new(huma.ValidateResult)
	huma.Validate(s.registry, s.of, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, plain, found)
	if len(found.Errors) > 0 {
		var texts []string
		for _, err := range found.Errors[:min(len(found.Errors), maxMistakes)] {
			texts = append(texts, shorten(mistake(err), maxMistake))
		}
		return fmt.Errorf("invalid_arguments: %s", strings.Join(texts, "; "))
	}
	if err := json.Unmarshal(arguments, into); err != nil {
		return fmt.Errorf("invalid_arguments: %w", err)
	}
	return nil
}

// Limits of an error about arguments.
const (
	maxMistakes = 5
	maxMistake  = 300 // bytes
)

// mistake describes a mistake without the value, which may be long.
func mistake(err error) string {
	if d, ok := err.(*huma.ErrorDetail); ok && d.Location != "" {
		return d.Location + ": " + d.Message
	} else if ok {
		return d.Message
	}
	return err.Error()
}

// shorten cuts a text to a number of bytes.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
