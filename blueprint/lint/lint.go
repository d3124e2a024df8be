// Package lint checks a schema for known problems on DynamoDB: hot keys, indexes that cost twice,
// items that overwrite each other or never expire. Each finding states the problem and a remedy.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

// Finding is a problem in a schema, or one that its owner has declared acceptable.
type Finding struct {
	Lint    string `json:"lint"`
	Entity  string `json:"entity"`
	Pattern string `json:"pattern,omitempty"`
	Index   string `json:"index,omitempty"`
	What    string `json:"what"`              // the problem
	Fix     string `json:"fix"`               // the remedy
	Allowed string `json:"allowed,omitempty"` // why it is acceptable, from the entity's definition; empty if it is not
}

// String formats the finding on one line.
func (f Finding) String() string {
	at := f.Entity
	if f.Pattern != "" {
		at += ", pattern " + f.Pattern
	}
	if f.Index != "" {
		at += ", index " + f.Index
	}
	return fmt.Sprintf("%s: %s: %s; %s", at, f.Lint, f.What, f.Fix)
}

// Lint is one type of check.
type Lint struct {
	ID   string
	What string // in one sentence
	find func(*schema) []Finding
}

// Lints returns all checks, by ID.
func Lints() []Lint { return slices.Clone(lints) }

var lints = []Lint{
	{"duplicate-index", "An index has the partition key of the table: it costs writes, but the table's sort key answers the same queries.", duplicateIndexes},
	{"fan-out-filter", "A pattern queries every shard and filters out most items: it pays for all shards, however few items it returns.", fanOutFilters},
	{"growing-index", "Items stay on an index by state after they are closed: the list only grows.", growingIndexes},
	{"heartbeat-index", "An item on an index has the time of the last heartbeat: every heartbeat also writes the index.", heartbeatIndexes},
	{"hot-index", "One key of an index gets more writes than a partition supports; an index that cannot keep up throttles the table.", hotIndexes},
	{"hot-partition", "One partition key gets more writes than a partition supports.", hotPartitions},
	{"no-load", "A pattern declares no load: its cost and heat are unknown.", withoutLoads},
	{"time-as-text", "A key contains a time as free text: text of different widths does not sort by time.", timesAsText},
	{"time-only-key", "The key of a fact has only its time: two facts at the same time are stored as one.", timeOnlyKeys},
	{"ttl-from-clock", "Items expire by the writer's clock, not by their own time: late items live too long.", clockExpiry},
	{"two-ids", "Partition and sort key have two IDs of one item: it cannot be read by one of them.", twoIDs},
	{"unused-index", "No pattern queries an index that every write pays for.", unusedIndexes},
}

// Check returns the problems of a schema, including accepted ones, by lint and entity.
func Check(s *table.Schema) []Finding {
	in := newSchema(s)
	var all []Finding
	for _, l := range lints {
		for _, f := range l.find(in) {
			f.Lint = l.ID
			if e := in.entity(f.Entity); e != nil {
				f.Allowed = e.Allow[l.ID]
			}
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Lint, b.Lint), cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Index, b.Index))
	})
	return all
}

// schema is the input of the checks.
type schema struct {
	*table.Schema
	entities []table.EntityInfo
	patterns []table.PatternInfo
}

func newSchema(s *table.Schema) *schema {
	return &schema{Schema: s, entities: s.Entities(), patterns: s.Patterns()}
}

func (s *schema) entity(name string) *table.EntityInfo {
	for i := range s.entities {
		if s.entities[i].Name == name {
			return &s.entities[i]
		}
	}
	return nil
}

// writes returns the number of writes of an entity per second and the size of an item, as declared
// by writing patterns.
func (s *schema) writes(entity string) (perSecond float64, bytes int) {
	for _, p := range s.patterns {
		if p.Entity != entity || p.Operation == "Query" || p.Operation == "GetItem" {
			continue
		}
		perSecond += p.Load.PerSecond * float64(max(p.Load.Items, 1))
		bytes = max(bytes, p.Load.ItemBytes)
	}
	return perSecond, bytes
}
