package blueprint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// DynamoDB's limits.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	LargestItem = 400 << 10 // bytes
	MostIndexes = 20        // default quota of global secondary indexes per table
)

// Limit shows how close the design comes to a limit.
type Limit struct {
	What  string  `json:"what"`
	Is    string  `json:"is"`
	Limit string  `json:"limit"`
	Share float64 `json:"share"` // of the limit; above 1 it would be exceeded
	Note  string  `json:"note,omitempty"`
}

// Limits compares the design with DynamoDB's limits, closest first.
func (d *Design) Limits() []Limit {
	all := []Limit{{
		What: "indexes of the table", Is: fmt.Sprint(len(d.Indexes)), Limit: fmt.Sprint(MostIndexes), Share: float64(len(d.Indexes)) / MostIndexes,
	}}
	for i := range d.Entities {
		all = append(all, d.Entities[i].sizeLimit(d))
	}
	all = append(all, d.heatLimits()...)
	slices.SortStableFunc(all, func(a, b Limit) int { return cmp.Compare(b.Share, a.Share) })
	return all
}

// sizeLimit uses the largest known size of an item, from examples and declared loads.
func (e *Entity) sizeLimit(d *Design) Limit {
	size := e.ExampleBytes()
	for i := range d.Patterns {
		if p := &d.Patterns[i]; p.Entity == e.Name {
			size = max(size, p.Load.ItemBytes)
		}
	}
	l := Limit{What: "item of " + e.Name, Is: bytesText(size), Limit: bytesText(LargestItem), Share: float64(size) / LargestItem}
	if e.MaxBytes > 0 {
		l.Limit, l.Share, l.Note = bytesText(e.MaxBytes), float64(size)/float64(e.MaxBytes), "larger items are rejected when written"
	}
	return l
}

// heatLimits adds up the declared loads of all patterns for each type of partition, as if they all
// used one partition.
func (d *Design) heatLimits() []Limit {
	type kind struct{ index, pk string }
	var order []kind
	heat, asked := map[kind]Heat{}, map[kind][]string{}
	for i := range d.Patterns {
		p := &d.Patterns[i]
		k := kind{p.Index, p.PK}
		if !slices.Contains(order, k) {
			order = append(order, k)
		}
		h := heat[k]
		h.Reads, h.Writes = h.Reads+p.Heat.Reads, h.Writes+p.Heat.Writes
		heat[k], asked[k] = h, append(asked[k], p.ID)
	}
	var all []Limit
	for _, k := range order {
		h, where := heat[k], "partition "
		if h.Reads+h.Writes == 0 {
			continue
		}
		if k.index != "" {
			where += "of " + k.index + " "
		}
		all = append(all, Limit{
			What: where + k.pk, Is: Units{Read: h.Reads, Write: h.Writes}.String() + " units/s",
			Limit: fmt.Sprintf("%d read, %d write", PartitionReads, PartitionWrites),
			Share: max(h.Reads/PartitionReads, h.Writes/PartitionWrites), Note: "if all calls of " + strings.Join(asked[k], ", ") + " use one key",
		})
	}
	return all
}

func bytesText(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// Growth describes how an entity's items affect the size of their partition.
type Growth struct {
	Entity string
	PK     string
	How    string
}

// Growths reports for each entity whether its partitions stay small. Tables without local indexes
// have no size limit for item collections: a large partition is split by sort key, which takes
// minutes if writes go to one end.
func (d *Design) Growths() []Growth {
	var all []Growth
	for i := range d.Entities {
		e := &d.Entities[i]
		g := Growth{Entity: e.Name, PK: e.PK, How: "one item per partition"}
		switch {
		case len(variables(e.SK)) == 0:
		case e.Expires:
			g.How = "items that have not expired"
		default:
			g.How = "without limit, unless the application deletes items"
			if e.Immutable {
				g.How = "without limit: facts are kept forever"
			}
		}
		if f := &e.Growth; f.Writes > 0 {
			g.How += fmt.Sprintf("; each fact adds %.2g items and %.2g writes of %s each", f.Items, f.Writes, bytesText(f.Bytes))
		}
		all = append(all, g)
	}
	return all
}

// Unqueryable lists attributes by which an entity's items cannot be found, because they are not part of
// any key.
type Unqueryable struct {
	Entity     string
	By         []string // variables of the table's and indexes' keys, by which items can be found
	Attributes []string
}

// Unqueryable returns for each entity the attributes by which its items cannot be found without reading
// all items of a key.
func (d *Design) Unqueryable() []Unqueryable {
	var all []Unqueryable
	for i := range d.Entities {
		e := &d.Entities[i]
		u := Unqueryable{Entity: e.Name, By: variables(e.PK, e.SK)}
		for _, x := range e.Indexes {
			for _, name := range variables(x.PK, x.SK) {
				if !slices.Contains(u.By, name) {
					u.By = append(u.By, name)
				}
			}
		}
		for _, a := range e.Attributes {
			if !slices.Contains(u.By, a.Name) && scalar(a.Type) {
				u.Attributes = append(u.Attributes, a.Name)
			}
		}
		all = append(all, u)
	}
	return all
}

// scalar reports whether a Go type is a single value that a key could contain.
func scalar(typ string) bool {
	return !strings.HasPrefix(typ, "[]") && !strings.HasPrefix(typ, "map[") && !strings.HasPrefix(typ, "*") && typ != "bool"
}

// keepText formats a retention; zero means forever.
func keepText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "for ever"
	case d >= 365*day && d%(365*day) == 0:
		return plural(int(d/(365*day)), "year")
	case d >= day && d%day == 0:
		return plural(int(d/day), "day")
	case d >= time.Hour && d%time.Hour == 0:
		return plural(int(d/time.Hour), "hour")
	}
	return d.String()
}
