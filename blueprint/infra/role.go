package infra

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// role is who may do what with a table.
type role string

const (
	reader role = "reader" // asks the patterns
	writer role = "writer" // and stores facts, and looks after what is no fact
	worker role = "worker" // and reads changes, and writes what is derived
	keeper role = "keeper" // and changes and deletes facts: what erasure takes
)

var roles = map[role]func(*table.Schema) []Statement{
	reader: func(s *table.Schema) []Statement { return slices.Concat(Describing(), Reading(s)) },
	writer: func(s *table.Schema) []Statement {
		return slices.Concat(Describing(), Reading(s), Writing(s), AppendOnly(s))
	},
	worker: func(s *table.Schema) []Statement {
		return slices.Concat(Describing(), Reading(s), Writing(s), AppendOnly(s), Streaming())
	},
	keeper: func(s *table.Schema) []Statement {
		return slices.Concat(Describing(), Reading(s), Writing(s), Erasing(s), Streaming())
	},
}

// Roles are the names of the roles: a reader asks the patterns; a writer stores facts, too, and looks after what is no fact;
// a worker reads changes, too, and writes what is derived; a keeper changes and deletes facts, too, as erasure does.
func Roles() []string {
	var names []string
	for _, r := range slices.Sorted(maps.Keys(roles)) {
		names = append(names, string(r))
	}
	return names
}

// Role returns what a role may. Errors: ErrOptions for one that there is not.
func Role(s *table.Schema, name string) ([]Statement, error) {
	if statements := roles[role(name)]; statements != nil {
		return statements(s), nil
	}
	return nil, fmt.Errorf("%w: there is no role %q; there are %s", ErrOptions, name, strings.Join(Roles(), ", "))
}
