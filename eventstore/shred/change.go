package shred

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/onefold/onefold/eventstore"
)

// errShape means that a value does not match a path.
var errShape = fmt.Errorf("%w: the payload does not match the declared fields", eventstore.ErrInvalid)

// change replaces each value at a path with the result of by, which also gets the value's place. It
// skips null and missing values. Objects on the way are encoded again, with sorted fields. Errors:
// errShape if the path leads through something other than an object or array, which might hide
// personal data.
func change(value json.RawMessage, path []string, at string, by func(at string, value json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0 && at == "":
		return value, nil
	case !json.Valid(value):
		return nil, fmt.Errorf("%w: it is not JSON", errShape)
	case string(value) == "null":
		return value, nil
	case len(path) == 0:
		return by(at, value)
	case value[0] == '{':
		return changeObject(value, path, at, by)
	case value[0] == '[' && path[0] == "*":
		return changeArray(value, path, at, by)
	}
	return nil, fmt.Errorf("%w: %q does not have fields", errShape, at)
}

func changeObject(value json.RawMessage, path []string, at string, by func(string, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil {
		return nil, errors.Join(errShape, err)
	}
	names := path[:1]
	if path[0] == "*" {
		names = slices.Sorted(maps.Keys(fields))
	}
	for _, name := range names {
		v, ok := fields[name]
		if !ok {
			continue
		}
		changed, err := change(v, path[1:], at+"."+strconv.Quote(name), by)
		if err != nil {
			return nil, err
		}
		fields[name] = changed
	}
	return json.Marshal(fields)
}

func changeArray(value json.RawMessage, path []string, at string, by func(string, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil {
		return nil, errors.Join(errShape, err)
	}
	for i := range elements {
		changed, err := change(elements[i], path[1:], at+"."+strconv.Itoa(i), by)
		if err != nil {
			return nil, err
		}
		elements[i] = changed
	}
	return json.Marshal(elements)
}
