package infra

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// role is a role for using a table.
type role string

const (
	reader role = "reader" // reads with the patterns, without private entities
	writer role = "writer" // takes in facts
	worker role = "worker" // reads changes and writes derived items
	keeper role = "keeper" // everything but the table itself
)

var roles = map[role]func(*table.Schema) []Statement{
	reader: func(s *table.Schema) []Statement { return slices.Concat(Describing(), Reading(s)) },
	writer: func(s *table.Schema) []Statement { return slices.Concat(Describing(), Ingesting(s)) },
	worker: func(s *table.Schema) []Statement {
		return slices.Concat(Describing(), Reading(s), Folding(s), Streaming())
	},
	keeper: func(s *table.Schema) []Statement {
		return slices.Concat(Describing(), reading(s, true), Writing(s), Erasing(s), Streaming())
	},
}

// Roles returns the names of the roles. A reader uses the read patterns, except those of private
// entities. A writer takes in facts. A worker reads changes and writes derived items. A keeper
// reads and writes everything: it serves the dashboard, maintains and erases.
func Roles() []string {
	var names []string
	for _, r := range slices.Sorted(maps.Keys(roles)) {
		names = append(names, string(r))
	}
	return names
}

// Role returns the permissions of a role. Errors: ErrOptions for an unknown role.
func Role(s *table.Schema, name string) ([]Statement, error) {
	if statements := roles[role(name)]; statements != nil {
		return statements(s), nil
	}
	return nil, fmt.Errorf("%w: there is no role %q; there are %s", ErrOptions, name, strings.Join(Roles(), ", "))
}
