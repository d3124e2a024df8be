package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Part is a part of a schema: an entity, a pattern, an expiry order, annotations, or another
// schema.
type Part interface {
	addTo(*Schema)
}

// A Schema lists all entities and access patterns of a table. It is the table's contract: it is
// checked when the program starts, and documentation, infrastructure and cost estimates are
// generated from it.
type Schema struct {
	name        string
	entities    []*entity
	patterns    []*pattern
	orders      []expiryOrder
	annotations Annotations
}

// NewSchema combines parts and checks them, individually and against each other. The error joins
// all findings, each of which says what to change. Parts may be given more than once.
func NewSchema(name string, parts ...Part) (*Schema, error) {
	s := &Schema{name: name}
	for _, p := range parts {
		p.addTo(s)
	}
	var problems []error
	for _, e := range s.entities {
		problems = append(problems, e.problems...)
	}
	for _, p := range s.patterns {
		problems = append(problems, p.problems...)
	}
	for _, o := range s.orders {
		if err := o.tiers.Check(); err != nil {
			problems = append(problems, fmt.Errorf("expiry order %s: %w", o.name, err))
		}
	}
	problems = append(problems, s.checkNames()...)
	problems = append(problems, s.checkAnnotations()...)
	problems = append(problems, s.checkCollisions()...)
	if len(problems) > 0 {
		return nil, fmt.Errorf("table: schema %s: %w", name, errors.Join(problems...))
	}
	return s, nil
}

// MustSchema is NewSchema for package variables. It panics on errors, because a program with an
// invalid schema must not start.
func MustSchema(name string, parts ...Part) *Schema {
	s, err := NewSchema(name, parts...)
	if err != nil {
		panic(err)
	}
	return s
}

// Name returns the schema's name.
func (s *Schema) Name() string { return s.name }

func (e *Entity[T, K]) addTo(s *Schema)    { s.addEntity(e.core) }
func (q *Query[In, T, K]) addTo(s *Schema) { s.addPattern(q.core) }

func (s *Schema) addTo(to *Schema) {
	for _, e := range s.entities {
		to.addEntity(e)
	}
	for _, p := range s.patterns {
		to.addPattern(p)
	}
	to.orders = append(to.orders, s.orders...)
	s.annotations.addTo(to)
}

func (s *Schema) addEntity(e *entity) {
	if !slices.Contains(s.entities, e) {
		s.entities = append(s.entities, e)
	}
}

// addPattern adds a pattern and its entity.
func (s *Schema) addPattern(p *pattern) {
	s.addEntity(p.entity)
	if !slices.Contains(s.patterns, p) {
		s.patterns = append(s.patterns, p)
	}
}

func (s *Schema) checkNames() []error {
	var problems []error
	entities, patterns := map[string]bool{}, map[string]bool{}
	for _, e := range s.entities {
		if entities[e.name] {
			problems = append(problems, fmt.Errorf("two entities have the name %q", e.name))
		}
		entities[e.name] = true
	}
	for _, p := range s.patterns {
		if patterns[p.id] {
			problems = append(problems, fmt.Errorf("two patterns have the ID %q", p.id))
		}
		patterns[p.id] = true
	}
	return problems
}

// A placement is a place where items of an entity are stored: the table or an index.
type placement struct {
	entity *entity
	where  string // "" for the table, otherwise the name of the index
	pk, sk *keyTemplate
}

func (s *Schema) placements() []placement {
	var all []placement
	for _, e := range s.entities {
		all = append(all, placement{e, "", e.pk, e.sk})
		for _, x := range e.indexes {
			all = append(all, placement{e, x.name, x.pk, x.sk})
		}
	}
	return slices.DeleteFunc(all, func(p placement) bool { return p.pk == nil || p.sk == nil })
}

// checkCollisions rejects two entities that may share a partition and whose sort keys begin alike:
// a query for one would return the other, and in the table one could overwrite the other.
func (s *Schema) checkCollisions() []error {
	var problems []error
	all := s.placements()
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.where == b.where && a.entity != b.entity && a.collides(b) {
				where := "the table"
				if a.where != "" {
					where = "index " + a.where
				}
				problems = append(problems, fmt.Errorf(
					"entities %s and %s collide on %s: in partition %q sort keys %q, in partition %q sort keys %q: begin one with other text",
					a.entity.name, b.entity.name, where, a.pk.src, a.sk.src, b.pk.src, b.sk.src))
			}
		}
	}
	return problems
}

func (p placement) collides(o placement) bool {
	if !eitherPrefix(p.sk.claim(), o.sk.claim()) {
		return false
	}
	for _, a := range p.pk.variants() {
		for _, b := range o.pk.variants() {
			if a.unifies(&b) {
				return true
			}
		}
	}
	return false
}

// claim returns the text with which all sort keys of the template begin. A complete key is
// terminated with '#', so that STATS and STATSX are different claims, but STATS and STATS#{day}
// collide.
func (t *template) claim() string {
	if head := t.head(); !t.literal() || strings.HasSuffix(head, "#") {
		return head
	}
	return t.head() + "#"
}
