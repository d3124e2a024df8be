package eventjson

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/onefold/onefold/eventstore"
)

// maxState bounds how much a state may come to, in bytes of JSON, give or take an event.
const maxState = 8 << 20

// State is what the events of an aggregate came to, without knowing what they mean: the last value of each field that they
// told, fields of objects within objects, too. The zero value is before the first event.
type State struct {
	Fields map[string]any // as encoding/json has them, numbers as json.Number
	Silent int64          // events whose data is no object: they add nothing

	grown int // bytes of data that came since the size was last looked at
}

// Add adds an event. Errors: eventstore.ErrTooLarge.
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
		return fmt.Errorf("%w: the fields up to event %d come to more than %d bytes", eventstore.ErrTooLarge, e.Seq, maxState)
	}
	return nil
}

// merge replaces values by later ones, and merges objects.
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
