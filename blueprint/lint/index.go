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
		return fmt.Sprintf("%s is the partition key of the table, too, so that the index is as hot, and every write costs twice", x.PK),
			"let the sort key of the table answer it, in time order, and leave the index out"
	})
}

func unusedIndexes(s *schema) []Finding {
	return s.eachIndex(func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string) {
		for _, p := range s.patterns {
			if p.Entity == e.Name && p.Index == x.Name {
				return "", ""
			}
		}
		return "no pattern asks it, and every write pays for it", "declare the pattern that asks it, or take the entity off the index"
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
				return fmt.Sprintf("every %s stays on the list of its %s for ever, when it is over, too", e.Name, v), "give the index a When, so that only open items are on it"
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
				return fmt.Sprintf("%s is on the item, and the index projects it: a heartbeat is two writes, one of them on %s", a.Name, x.PK),
					"keep it in an item of its own that is on no index"
			}
		}
		return "", ""
	})
}

func hotIndexes(s *schema) []Finding {
	return s.eachIndex(func(e *table.EntityInfo, x *table.IndexInfo) (what, fix string) {
		perSecond, bytes := s.writes(e.Name)
		if units := perSecond * writeUnits(bytes); units > partitionWrites && !sharded(x.PK) {
			return fmt.Sprintf("%.0f units a second are written to the index, all of them to one key if they have one %s; a partition takes %d, and then the table is held back",
				units, x.PK, partitionWrites), "put {shard} into the index's partition key, and ask all shards"
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
			all = append(all, Finding{Entity: e.Name, What: fmt.Sprintf("%.0f units a second are written, all of them to one key if they have one %s; a partition takes %d", units, e.PK, partitionWrites),
				Fix: "put {shard} into the partition key, made of the item's own id, and ask all shards; or derive it by a fold, which writes once for many changes"})
		}
	}
	return all
}
