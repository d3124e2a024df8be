package blueprint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/table"
)

// Outline is the part of a design that is compared between versions. Fields that its source format
// does not contain are empty.
type Outline struct {
	Name     string           `json:"name"`
	Indexes  []string         `json:"indexes"`
	Entities []OutlineEntity  `json:"entities"`
	Patterns []OutlinePattern `json:"patterns"`
	Partial  bool             `json:"partial,omitempty"` // the source format lacks types, limits and conditions
}

// OutlineEntity is a type of item.
type OutlineEntity struct {
	Name, PK, SK       string
	Indexes            []table.IndexInfo
	Key, Attributes    []table.AttributeInfo
	Expires, Immutable bool
	MaxBytes           int
}

// OutlinePattern is an access pattern.
type OutlinePattern struct {
	ID, Question, Operation, Entity, Index, PK, Condition string
}

// ErrOutline is returned for input that is not the JSON of a design.
var ErrOutline = errors.New("blueprint: not the JSON of a design")

// maxOutline is the maximum input size in bytes.
const maxOutline = 64 << 20

// ReadOutline parses the JSON of a design. Errors: ErrOutline.
func ReadOutline(r io.Reader) (*Outline, error) {
	var o Outline
	if err := json.NewDecoder(io.LimitReader(r, maxOutline)).Decode(&o); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutline, err)
	}
	if o.Name == "" || len(o.Entities) == 0 {
		return nil, fmt.Errorf("%w: the name or the entities are missing; create one with `onefold design --format json`", ErrOutline)
	}
	for i, e := range o.Entities {
		if e.Name == "" {
			return nil, fmt.Errorf("%w: entity %d has no name", ErrOutline, i+1)
		}
	}
	return &o, nil
}

// OutlineOf returns the outline of a schema.
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
