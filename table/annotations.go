package table

import (
	"errors"
	"fmt"
	"slices"
)

// Remarks are annotations of a schema that cannot be derived from it. They are a part of a schema;
// several are combined.
type Remarks struct {
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

func (r Remarks) addTo(s *Schema) {
	s.remarks.Callers = append(s.remarks.Callers, r.Callers...)
	for _, g := range r.Gaps {
		if !slices.Contains(s.remarks.Gaps, g) {
			s.remarks.Gaps = append(s.remarks.Gaps, g)
		}
	}
	for _, d := range r.Decisions {
		if !slices.Contains(s.remarks.Decisions, d) {
			s.remarks.Decisions = append(s.remarks.Decisions, d)
		}
	}
}

// Remarks returns all annotations of the schema. Each caller appears once, in the order of first
// mention.
func (s *Schema) Remarks() Remarks {
	all := Remarks{Gaps: slices.Clone(s.remarks.Gaps), Decisions: slices.Clone(s.remarks.Decisions)}
	for _, c := range s.remarks.Callers {
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

// checkRemarks rejects annotations that are empty or name unknown patterns, since they become
// outdated first.
func (s *Schema) checkRemarks() []error {
	var problems []error
	for _, c := range s.remarks.Callers {
		if c.Name == "" || len(c.Patterns) == 0 {
			problems = append(problems, fmt.Errorf("remarks: caller %q of patterns %q: set a name and patterns", c.Name, c.Patterns))
		}
		for _, id := range c.Patterns {
			if !slices.ContainsFunc(s.patterns, func(p *pattern) bool { return p.id == id }) {
				problems = append(problems, fmt.Errorf("remarks: caller %q uses pattern %q, which is not in the schema", c.Name, id))
			}
		}
	}
	for _, g := range s.remarks.Gaps {
		if g.Question == "" || g.Needs == "" {
			problems = append(problems, fmt.Errorf("remarks: gap %q: set Question and Needs", g.Question))
		}
	}
	for _, d := range s.remarks.Decisions {
		if d.Title == "" || d.Link == "" {
			problems = append(problems, errors.New("remarks: a decision needs a title and a link"))
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
