package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
)

// maxResult is the maximum size of a result in bytes: about ten thousand tokens of a model's context.
const maxResult = 40 << 10

// result is the answer of a tool. If it is too large, the end of a list is left out.
type result struct {
	fields map[string]any
	list   string // the field with the list that may be cut
	more   string // says how to get the rest, if the list is cut
}

// Fields of results with a list.
const (
	noteField   = "truncated" // says that the list was cut
	cursorField = "cursor"    // for the next part of the list
)

// fit encodes the result, with as much of the list as fits.
func (r *result) fit() ([]byte, error) {
	text, err := json.Marshal(r.fields)
	if err != nil || len(text) <= maxResult {
		return text, err
	}
	list, _ := r.fields[r.list].([]any)
	all := len(list)
	delete(r.fields, cursorField) // it is behind the whole list, and would skip the part that is cut
	for len(text) > maxResult && len(list) > 0 {
		list = list[:len(list)/2]
		r.fields[r.list] = list
		r.fields[noteField] = fmt.Sprintf("Only %d of %d %s fit. %s", len(list), all, r.list, r.more)
		if text, err = json.Marshal(r.fields); err != nil {
			return nil, err
		}
	}
	if len(text) > maxResult || len(list) == 0 {
		return nil, errors.New("too_large: the answer is too large for a result. " + r.more)
	}
	return text, nil
}
