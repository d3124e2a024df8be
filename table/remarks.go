package table

import (
	"errors"
	"fmt"
	"slices"
)

// Remarks are what documents say of a schema that does not follow from it. They are a part of a schema; several are one.
type Remarks struct {
	Callers   []Caller
	Gaps      []Gap
	Decisions []Decision
}

// Caller is who asks: a command, a route, a fold, a job.
type Caller struct {
	Name     string
	Patterns []string // their IDs
}

// Gap is a question that the schema cannot answer, and what it would need for that.
type Gap struct {
	Question, Needs string
}

// Decision is a choice that somebody may question, and where its reasons are: Link is relative to the folder of documents.
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

// Remarks returns all remarks on the schema. Each caller is there once, in the order in which they were given.
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

// checkRemarks refuses remarks that say nothing, or on patterns that are not there: documents rot there first.
func (s *Schema) checkRemarks() []error {
	var problems []error
	for _, c := range s.remarks.Callers {
		if c.Name == "" || len(c.Patterns) == 0 {
			problems = append(problems, fmt.Errorf("remarks: caller %q of patterns %q: it has a name and patterns", c.Name, c.Patterns))
		}
		for _, id := range c.Patterns {
			if !slices.ContainsFunc(s.patterns, func(p *pattern) bool { return p.id == id }) {
				problems = append(problems, fmt.Errorf("remarks: caller %q asks pattern %q, which the schema does not have", c.Name, id))
			}
		}
	}
	for _, g := range s.remarks.Gaps {
		if g.Question == "" || g.Needs == "" {
			problems = append(problems, fmt.Errorf("remarks: gap %q: it says what is not answered, and what that needs", g.Question))
		}
	}
	for _, d := range s.remarks.Decisions {
		if d.Title == "" || d.Link == "" {
			problems = append(problems, errors.New("remarks: a decision has a title and a link"))
		}
	}
	return problems
}

// NamedTiers are the tiers of an ExpiryOrder.
type NamedTiers struct {
	Name string
	Tiers
}

// Orders are the schema's expiry orders, each once.
func (s *Schema) Orders() []NamedTiers {
	var all []NamedTiers
	for _, o := range s.orders {
		if !slices.ContainsFunc(all, func(have NamedTiers) bool { return have.Name == o.name }) {
			all = append(all, NamedTiers{o.name, o.tiers})
		}
	}
	return all
}
