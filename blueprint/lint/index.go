package lint

import (
	"fmt"
	"regexp"

	"github.com/onefold/onefold/table"
)

// eachIndex calls look for every index of every entity.
func (s *schema) eachIndex(look func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string)) []Finding {
	var all []Finding
	for i := range s.entities {
		e := &s.entities[i]
		for j := range e.Indexes {
			x := &e.Indexes[j]
			if what, fix := look(e, x); what != "" {
				all = append(all, Finding{Entity: e.Name, Index: x.Name, What: what, Fix: fix})
			}
		}
	}
	return all
}

func duplicateIndexes(s *schema) []Finding {
	return s.eachIndex(func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string) {
		if shape(x.PK) != shape(e.PK) {
			return "", ""
		}
		return fmt.Sprintf("%s is also the partition key of the table, so the index is equally hot and every write costs twice", x.PK),
			"use the table's sort key, in time order, instead of the index"
	})
}

func unusedIndexes(s *schema) []Finding {
	return s.eachIndex(func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string) {
		for _, p := range s.patterns {
			if p.Entity == e.Name && p.Index == x.Name {
				return "", ""
			}
		}
		return "no pattern queries it, but every write pays for it", "declare the pattern that queries it, or remove the entity from the index"
	})
}

// stateful matches names of attributes that change during an item's life and are used for lists of
// open items.
var stateful = regexp.MustCompile(`(?i)(status|state|severity|priority|level)$`)

func growingIndexes(s *schema) []Finding {
	return s.eachIndex(func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string) {
		if x.Conditional || e.Expires || len(variables(e.SK)) == 0 { // without variables, a partition has only one such item
			return "", ""
		}
		for _, v := range variables(x.PK) {
			if stateful.MatchString(v) {
				return fmt.Sprintf("every %s stays in the list of its %s forever, even when it is closed", e.Name, v), "give the index a When, so that it has only open items"
			}
		}
		return "", ""
	})
}

var seen = regexp.MustCompile(`(?i)^(last_?(seen|active|heartbeat|contact|used)|heartbeat)`)

func heartbeatIndexes(s *schema) []Finding {
	return s.eachIndex(func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string) {
		for _, a := range e.Attributes {
			if seen.MatchString(a.Name) {
				return fmt.Sprintf("%s is on the item and projected to the index: a heartbeat is two writes, one of them to %s", a.Name, x.PK),
					"store it in a separate item that is on no index"
			}
		}
		return "", ""
	})
}

func hotIndexes(s *schema) []Finding {
	return s.eachIndex(func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string) {
		perSecond, bytes := s.writes(e.Name)
		if units := perSecond * writeUnits(bytes); units > partitionWrites && !sharded(x.PK) {
			return fmt.Sprintf("%.0f units per second are written to the index, possibly all with the same %s; a partition supports %d, beyond which writes to the table are throttled",
				units, x.PK, partitionWrites), "add {shard} to the index's partition key, and query all shards"
		}
		return "", ""
	})
}

// partitionWrites is the sustained write capacity of a partition, in units per second.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
const partitionWrites = 1000

func writeUnits(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

func hotPartitions(s *schema) []Finding {
	var all []Finding
	for i := range s.entities {
		e := &s.entities[i]
		perSecond, bytes := s.writes(e.Name)
		if units := perSecond * writeUnits(bytes); units > partitionWrites && !sharded(e.PK) {
			all = append(all, Finding{Entity: e.Name, What: fmt.Sprintf("%.0f units per second are written, possibly all with the same %s; a partition supports %d", units, e.PK, partitionWrites),
				Fix: "add {shard}, computed from the item's own ID, to the partition key, and query all shards; or derive the item with a fold, which writes once for many changes"})
		}
	}
	return all
}
