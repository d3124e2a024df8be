package blueprint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// Relation is a relation between two entities, derived from their keys and attributes.
type Relation struct {
	One  string   `json:"one"`
	Many string   `json:"many"`
	By   []string `json:"by"`   // the common variables, or the attribute
	Kind string   `json:"kind"` // Contains, Extends or Refers
}

// The kinds of relations.
const (
	Contains = "contains" // the key of One is part of the key of Many: one to many
	Extends  = "extends"  // both have the same key variables: one to one
	Refers   = "refers"   // an attribute of Many names One
)

// Relations returns the relations between entities. An entity belongs to the entities whose key
// variables are all part of its own key; only the closest of these are included.
func (d *Design) Relations() []Relation {
	var all []Relation
	for i := range d.Entities {
		e := &d.Entities[i]
		owners := d.owners(i)
		all = append(all, owners...)
		for _, a := range e.Attributes {
			one := d.named(e, a.Name)
			if one != "" && !slices.ContainsFunc(owners, func(r Relation) bool { return r.One == one }) {
				all = append(all, Relation{One: one, Many: e.Name, By: []string{a.Name}, Kind: Refers})
			}
		}
	}
	said := slices.Clone(all)
	return slices.DeleteFunc(all, func(r Relation) bool { return r.Kind == Refers && follows(said, r) })
}

// follows reports whether a reference is implied by an owner: a reading's fleet is that of its
// device.
func follows(all []Relation, r Relation) bool {
	return slices.ContainsFunc(all, func(owns Relation) bool {
		return owns.Kind != Refers && owns.Many == r.Many && slices.ContainsFunc(all, func(o Relation) bool { return o.One == r.One && o.Many == owns.One })
	})
}

// owners returns the relations of the n-th entity to its owners.
func (d *Design) owners(n int) []Relation {
	own := identity(&d.Entities[n])
	if one := d.extended(n); one != "" {
		return []Relation{{One: one, Many: d.Entities[n].Name, By: own, Kind: Extends}}
	}
	var found []Relation
	for i := range d.Entities {
		theirs := identity(&d.Entities[i])
		if i == n || len(theirs) == 0 || when[theirs[len(theirs)-1]] || len(theirs) >= len(own) || !within(theirs, own) {
			continue
		}
		near := func(r Relation) bool { return within(theirs, r.By) }
		if slices.ContainsFunc(found, near) {
			continue
		}
		found = slices.DeleteFunc(found, func(r Relation) bool { return within(r.By, theirs) })
		found = append(found, Relation{One: d.Entities[i].Name, Many: d.Entities[n].Name, By: theirs, Kind: Contains})
	}
	return found
}

// extended returns the entity that the n-th one extends: both have one item per partition, and it
// comes first. It returns "" if there is none.
func (d *Design) extended(n int) string {
	e := &d.Entities[n]
	for i := range n {
		if one := &d.Entities[i]; one.PK == e.PK && len(variables(e.PK)) > 0 && len(variables(one.SK)) == 0 && len(variables(e.SK)) == 0 {
			return one.Name
		}
	}
	return ""
}

// named returns the entity named by an attribute, or "": siteId or site names the entity whose key
// is siteId alone.
func (d *Design) named(e *Entity, attribute string) string {
	for i := range d.Entities {
		id := identity(&d.Entities[i])
		if len(id) == 1 && strings.HasSuffix(id[0], "Id") && d.Entities[i].Name != e.Name && (attribute == id[0] || attribute+"Id" == id[0]) {
			return d.Entities[i].Name
		}
	}
	return ""
}

// when are variables for times. Having the same day, for example, does not relate two entities.
var when = map[string]bool{"day": true, "month": true, "start": true, "minute": true, "at": true}

// identity returns the key variables of an entity without shard numbers, which only spread its
// items.
func identity(e *Entity) []string {
	var names []string
	for _, a := range e.Key {
		if a.Name != "shard" || a.Type == "string" {
			names = append(names, a.Name)
		}
	}
	return names
}

func within(some, of []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(of, name) })
}

var variableName = regexp.MustCompile(`\{([^}:]+)`)

// variables returns the distinct variable names in templates.
func variables(templates ...string) []string {
	var names []string
	for _, m := range variableName.FindAllStringSubmatch(strings.Join(templates, "#"), -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// Placement is the place of an entity in an index or the table.
type Placement struct {
	Entity   string   `json:"entity"`
	PK       string   `json:"pk"`
	SK       string   `json:"sk"`
	Sparse   bool     `json:"sparse,omitempty"` // some items are not there
	Patterns []string `json:"patterns,omitempty"`
}

// Overload returns the entities in an index, or in the table if index is "". They are in the order
// of their partition keys, so that entities with common partitions are adjacent.
func (d *Design) Overload(index string) []Placement {
	var all []Placement
	for i := range d.Entities {
		e := &d.Entities[i]
		p := Placement{Entity: e.Name, PK: e.PK, SK: e.SK}
		if index != "" {
			x := e.Index(index)
			if x == nil {
				continue
			}
			p.PK, p.SK, p.Sparse = x.PK, x.SK, e.Sparse(x)
		}
		for k := range d.Patterns {
			if q := &d.Patterns[k]; q.Entity == e.Name && q.Index == index {
				p.Patterns = append(p.Patterns, q.ID)
			}
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b Placement) int { return compareText(a.PK, b.PK) })
	return all
}

// Index returns the entity's keys in an index, or nil if it is not in the index.
func (e *Entity) Index(name string) *table.IndexInfo {
	for i := range e.Indexes {
		if e.Indexes[i].Name == name {
			return &e.Indexes[i]
		}
	}
	return nil
}

// Sparse reports whether items may be missing in an index, because of a condition or because its
// keys contain an optional attribute.
func (e *Entity) Sparse(x *table.IndexInfo) bool {
	names := variables(x.PK, x.SK)
	return x.Conditional || slices.ContainsFunc(e.Attributes, func(a table.AttributeInfo) bool { return a.Optional && slices.Contains(names, a.Name) })
}
