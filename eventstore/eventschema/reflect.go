package eventschema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Of returns the schema of the JSON form of a Go type: its fields without omitempty and omitzero are
// required, and others than its fields are refused. A tag `jsonschema:"…"` describes a field. Errors:
// ErrSchema for a type without a JSON form, or one that contains itself.
func Of(t reflect.Type) (*Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSchema, t, err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSchema, t, err)
	}
	return Parse(text)
}
