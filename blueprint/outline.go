package blueprint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/table"
)

// Outline is what of a design two versions are compared by. Where it is read from a form that does not have all of it, what
// is not known is empty.
type Outline struct {
	Name     string           `json:"name"`
	Indexes  []string         `json:"indexes"`
	Entities []OutlineEntity  `json:"entities"`
	Patterns []OutlinePattern `json:"patterns"`
	Partial  bool             `json:"partial,omitempty"` // read from a form that tells no types, limits and conditions
}

// OutlineEntity is a kind of item.
type OutlineEntity struct {
	Name, PK, SK       string
	Indexes            []table.IndexInfo
	Key, Attributes    []table.AttributeInfo
	Expires, Immutable bool
	MaxBytes           int
}

// OutlinePattern is what is asked.
type OutlinePattern struct {
	ID, Question, Operation, Entity, Index, PK, Condition string
}

// ErrOutline is returned for what is not the JSON of a design.
var ErrOutline = errors.New("blueprint: not the JSON of a design")

// maxOutline bounds what is read, in bytes.
const maxOutline = 64 << 20

// ReadOutline reads the JSON of a design. Errors: ErrOutline.
func ReadOutline(r io.Reader) (*Outline, error) {
	var o Outline
	if err := json.NewDecoder(io.LimitReader(r, maxOutline)).Decode(&o); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutline, err)
	}
	if o.Name == "" || len(o.Entities) == 0 {
		return nil, fmt.Errorf("%w: it has no name or no entities; write one with `onefold design --format json`", ErrOutline)
	}
	for i, e := range o.Entities {
		if e.Name == "" {
			return nil, fmt.Errorf("%w: entity %d has no name", ErrOutline, i+1)
		}
	}
	return &o, nil
}

// OutlineOf is the outline of a schema.
func OutlineOf(s *table.Schema) *Outline {
	o := &Outline{Name: s.Name(), Indexes: s.Indexes()}
	for _, e := range s.Entities() {
		o.Entities = append(o.Entities, OutlineEntity{
			Name: e.Name, PK: e.PK, SK: e.SK, Indexes: e.Indexes, Key: e.Key, Attributes: e.Attributes,
			Expires: e.Expires, Immutable: e.Immutable, MaxBytes: e.MaxBytes,
		})
	}
	for _, p := range s.Patterns() {
		o.Patterns = append(o.Patterns, OutlinePattern{
			ID: p.ID, Question: p.Question, Operation: p.Operation, Entity: p.Entity, Index: p.Index, PK: p.PK, Condition: p.Condition,
		})
	}
	return o
}
