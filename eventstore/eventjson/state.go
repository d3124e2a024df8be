package eventjson

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/onefold/onefold/eventstore"
)

// maxState limits the size of a state in bytes of JSON, approximately.
const maxState = 8 << 20

// State is the generic state of an aggregate: the last value of each field in its events, including
// fields of nested objects. The zero value is the state before the first event.
type State struct {
	Fields map[string]any // as encoding/json decodes them, with json.Number
	Silent int64          // events whose data is not an object, which add nothing

	grown int // bytes of data since the size was last checked
}

// Add applies an event. Errors: eventstore.ErrTooLarge.
func (s *State) Add(e *eventstore.Event) error {
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(e.Payload))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil || fields == nil {
		s.Silent++
		return nil
	}
	if s.Fields == nil {
		s.Fields = map[string]any{}
	}
	merge(s.Fields, fields)
	if s.grown += len(e.Payload); s.grown <= maxState {
		return nil
	}
	s.grown = 0
	if size, err := json.Marshal(s.Fields); err != nil || len(size) > maxState {
		return fmt.Errorf("%w: the fields up to event %d have more than %d bytes", eventstore.ErrTooLarge, e.Seq, maxState)
	}
	return nil
}

// merge replaces values by later ones, and merges objects recursively.
func merge(into, later map[string]any) {
	for name, value := range later {
		was, wasObject := into[name].(map[string]any)
		is, isObject := value.(map[string]any)
		if wasObject && isObject {
			merge(was, is)
			continue
		}
		into[name] = value
	}
}
