package blueprint

import (
	"regexp"
	"slices"
	"strings"
)

// This file writes the sections that are derived from the design besides entities and patterns.

// relations draws the entities with the variables of their keys, and their relations.
func (m *markdown) relations() {
	m.heading("Entities and relations")
	m.line("```mermaid\nerDiagram")
	for _, r := range m.d.Relations() {
		m.line("  %s %s %s : %q", mermaidName(r.One), edges[r.Kind], mermaidName(r.Many), strings.Join(r.By, ", "))
	}
	for i := range m.d.Entities {
		e := &m.d.Entities[i]
		m.line("  %s {", mermaidName(e.Name))
		for _, a := range e.Key {
			m.line("    %s %s PK", TypeWord(a.Type), a.Name)
		}
		for _, a := range e.Attributes {
			for _, x := range e.Indexes {
				if slices.Contains(variables(x.PK, x.SK), a.Name) {
					m.line("    %s %s \"%s\"", TypeWord(a.Type), a.Name, x.Name)
				}
			}
		}
		m.line("  }")
	}
	m.line("```")
}

// edges are the lines of Mermaid; references are dashed.
var edges = map[string]string{Contains: "||--o{", Extends: "||--o|", Refers: "||..o{"}

var notName = regexp.MustCompile(`[^A-Za-z0-9]+`)

func mermaidName(s string) string { return notName.ReplaceAllString(s, "_") }

// TypeWord returns the word for a Go type as stored in an attribute.
func TypeWord(goType string) string {
	switch {
	case goType == "time.Time":
		return "time"
	case strings.HasPrefix(goType, "[]byte"), strings.HasPrefix(goType, "[]uint8"):
		return "binary"
	case strings.HasPrefix(goType, "[]"):
		return "list"
	case strings.HasPrefix(goType, "map["):
		return "map"
	case goType == "bool":
		return "bool"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"), strings.HasPrefix(goType, "float"):
		return "number"
	}
	return "string"
}

// overload lists the entities in an index with their keys.
func (m *markdown) overload(index string) {
	if index == "" {
		return
	}
	m.line("\nEntities on `%s`, and patterns that query them:\n", index)
	var rows [][]string
	for _, p := range m.d.Overload(index) {
		whole := "every item"
		if p.Sparse {
			whole = "some (sparse)"
		}
		rows = append(rows, []string{code(p.PK), code(p.SK), code(p.Entity), whole, strings.Join(p.Patterns, ", ")})
	}
	m.table([]string{index + "pk", index + "sk", "entity", "which", "patterns"}, rows)
}

func (m *markdown) lifecycle() {
	var expire []string
	for i := range m.d.Entities {
		if m.d.Entities[i].Expires {
			expire = append(expire, m.d.Entities[i].Name)
		}
	}
	if len(expire) == 0 {
		return
	}
	m.heading("Lifecycle")
	for _, t := range m.d.Tiers {
		var rows [][]string
		for i, tier := range t.Tiers {
			next := ""
			if i+1 < len(t.Tiers) {
				next = t.Tiers[i+1].Name
			}
			rows = append(rows, []string{tier.Name, tier.BucketText(), tier.KeepText(), next})
		}
		m.line("Tiers of %s. A coarser tier is rolled up before the finer tier expires:\n", t.Name)
		m.table([]string{"tier", "an item covers", "kept for", "rolled up into"}, rows)
		m.line("")
	}
	m.line("Entities whose items expire: %s. Reads do not return expired items, even before they are deleted.", codes(expire))
}

func (m *markdown) flows() {
	if len(m.d.Flows) == 0 {
		return
	}
	m.heading("Readers of the change stream")
	m.line("```mermaid\nflowchart LR")
	for _, f := range m.d.Flows {
		for _, from := range f.From {
			m.line("  %s[%q] --> %s([%q])", mermaidName(from), from, "fold_"+mermaidName(f.Name), f.Name)
		}
		if f.Into != "" {
			m.line("  %s --> %s[%q]", "fold_"+mermaidName(f.Name), mermaidName(f.Into), f.Into)
		}
	}
	m.line("```\n")
	var rows [][]string
	for _, f := range m.d.Flows {
		into := code(f.Into)
		if into == "" {
			into = "nothing (observer)"
		}
		rows = append(rows, []string{f.Name, codes(f.From), into})
	}
	m.table([]string{"fold", "reads changes of", "writes"}, rows)
}

func (m *markdown) gaps() {
	m.heading("What this design cannot answer")
	if len(m.d.Gaps) > 0 {
		var rows [][]string
		for _, g := range m.d.Gaps {
			rows = append(rows, []string{g.Question, g.Needs})
		}
		m.table([]string{"question", "requires"}, rows)
		m.line("")
	}
	m.line("Items of an entity can be queried by the variables of its keys. A query by another attribute needs an index key that begins")
	m.line("with the attribute, or a filter, which reads and pays for all items that match the key.\n")
	var rows [][]string
	for _, u := range m.d.Unqueryable() {
		rows = append(rows, []string{code(u.Entity), strings.Join(u.By, ", "), strings.Join(u.Attributes, ", ")})
	}
	m.table([]string{"entity", "queried by", "not queried by"}, rows)
}

func (m *markdown) limits() {
	m.heading("Limits and headroom")
	var rows [][]string
	for _, l := range m.d.Limits() {
		rows = append(rows, []string{code(l.What), l.Is, l.Limit, Percent(l.Share), l.Note})
	}
	m.table([]string{"what", "value", "limit", "share of the limit", ""}, rows)
	m.line("\nGrowth of item collections, which have no maximum size in a table without local indexes:\n")
	rows = nil
	for _, g := range m.d.Growths() {
		rows = append(rows, []string{code(g.PK), code(g.Entity), g.How})
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return compareText(a[0], b[0]) })
	m.table([]string{"partition", "entity", "growth"}, rows)
}

func (m *markdown) decisions() {
	if len(m.d.Decisions) == 0 {
		return
	}
	m.heading("Decisions")
	for _, c := range m.d.Decisions {
		m.line("- [%s](%s)", c.Title, c.Link)
	}
}
