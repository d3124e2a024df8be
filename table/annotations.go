package table

import (
	"errors"
	"fmt"
	"slices"
)

// Annotations describe a schema beyond what can be derived from it. They are a part of a schema;
// several are combined.
type Annotations struct {
	Callers   []Caller
	Gaps      []Gap
	Decisions []Decision
}

// Caller names a user of patterns: a command, a route, a fold or a job.
type Caller struct {
	Name     string
	Patterns []string // pattern IDs
}

// Gap is a question that the schema cannot answer, and what that would require.
type Gap struct {
	Question, Needs string
}

// Decision is a choice that may be questioned, and the document with its reasons. Link is relative
// to the folder of generated documents.
type Decision struct {
	Title, Link string
}

func (r Annotations) addTo(s *Schema) {
	s.annotations.Callers = append(s.annotations.Callers, r.Callers...)
	for _, g := range r.Gaps {
		if !slices.Contains(s.annotations.Gaps, g) {
			s.annotations.Gaps = append(s.annotations.Gaps, g)
		}
	}
	for _, d := range r.Decisions {
		if !slices.Contains(s.annotations.Decisions, d) {
			s.annotations.Decisions = append(s.annotations.Decisions, d)
		}
	}
}

// Annotations returns all annotations of the schema. Each caller appears once, in the order of first
// mention.
func (s *Schema) Annotations() Annotations {
	all := Annotations{Gaps: slices.Clone(s.annotations.Gaps), Decisions: slices.Clone(s.annotations.Decisions)}
	for _, c := range s.annotations.Callers {
		i := slices.IndexFunc(all.Callers, func(have Caller) bool { return have.Name == c.Name })
		if i < 0 {
			all.Callers = append(all.Callers, Caller{Name: c.Name})
			i = len(all.Callers) - 1
		}
		for _, id := range c.Patterns {
			if !slices.Contains(all.Callers[i].Patterns, id) {
				all.Callers[i].Patterns = append(all.Callers[i].Patterns, id)
			}
		}
	}
	return all
}

// checkAnnotations rejects annotations that are empty or name unknown patterns, since they become
// outdated first.
func (s *Schema) checkAnnotations() []error {
	var problems []error
	for _, c := range s.annotations.Callers {
		if c.Name == "" || len(c.Patterns) == 0 {
			problems = append(problems, fmt.Errorf("annotations: caller %q of patterns %q: set a name and patterns", c.Name, c.Patterns))
		}
		for _, id := range c.Patterns {
			if !slices.ContainsFunc(s.patterns, func(p *pattern) bool { return p.id == id }) {
				problems = append(problems, fmt.Errorf("annotations: caller %q uses pattern %q, which is not in the schema", c.Name, id))
			}
		}
	}
	for _, g := range s.annotations.Gaps {
		if g.Question == "" || g.Needs == "" {
			problems = append(problems, fmt.Errorf("annotations: gap %q: set Question and Needs", g.Question))
		}
	}
	for _, d := range s.annotations.Decisions {
		if d.Title == "" || d.Link == "" {
			problems = append(problems, errors.New("annotations: a decision needs a title and a link"))
		}
	}
	return problems
}

// NamedTiers are the tiers of an ExpiryOrder with its name.
type NamedTiers struct {
	Name string
	Tiers
}

// Orders returns the schema's expiry orders, each once.
func (s *Schema) Orders() []NamedTiers {
	var all []NamedTiers
	for _, o := range s.orders {
		if !slices.ContainsFunc(all, func(have NamedTiers) bool { return have.Name == o.name }) {
			all = append(all, NamedTiers{o.name, o.tiers})
		}
	}
	return all
}
