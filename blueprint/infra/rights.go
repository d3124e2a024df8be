package infra

import (
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// rightsOf selects the rights of a role in an entity.
type rightsOf func(*table.EntityInfo) *table.Rights

func ofIngest(e *table.EntityInfo) *table.Rights { return &e.Access.Ingest }
func ofFold(e *table.EntityInfo) *table.Rights   { return &e.Access.Fold }

// Ingesting returns the permissions for taking in facts: putting facts and what arrives with them,
// and reading what is needed to check them. Nothing is updated or deleted unless an entity says so.
func Ingesting(s *table.Schema) []Statement {
	return slices.Concat(lookups(s, ofIngest), parts(s, ofIngest), changes(s, ofIngest), protected(s, ofIngest))
}

// Folding returns the permissions for writing derived items, in addition to Reading.
func Folding(s *table.Schema) []Statement {
	return slices.Concat(states(s, ofFold), changes(s, ofFold), protected(s, ofFold))
}

// partition is the form of a partition key, with the entities whose items have such keys.
type partition struct {
	key      string // for StringLike
	entities []table.EntityInfo
}

// partitions returns the forms of partition keys of a schema, sorted.
func partitions(s *table.Schema) []partition {
	of := map[string][]table.EntityInfo{}
	for _, e := range s.Entities() {
		for _, key := range leadingKeys(e.PK, e.PKWords) {
			of[key] = append(of[key], e)
		}
	}
	var all []partition
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, partition{key, of[key]})
	}
	return all
}

// has reports whether some entity of the partition has a right.
func (p *partition) has(role rightsOf, right func(*table.Rights) bool) bool {
	return slices.ContainsFunc(p.entities, func(e table.EntityInfo) bool { return right(role(&e)) })
}

// keysWith returns the partitions in which a role has a right.
func keysWith(s *table.Schema, role rightsOf, right func(*table.Rights) bool) map[string]bool {
	keys := map[string]bool{}
	for _, p := range partitions(s) {
		if p.has(role, right) {
			keys[p.key] = true
		}
	}
	return keys
}

// lookups allows a role to read partitions with entities that it reads.
func lookups(s *table.Schema, role rightsOf) []Statement {
	keys := keysWith(s, role, func(r *table.Rights) bool { return whole(r.Reads) })
	if len(keys) == 0 {
		return nil
	}
	return []Statement{allow("Look", []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:ConditionCheckItem"}, keys, "what arrives is checked")}
}

// parts allows a role to read single attributes of items. IAM learns them from the projection of a
// request; one without a projection reads all.
func parts(s *table.Schema, role rightsOf) []Statement {
	var all []Statement
	for _, p := range partitions(s) {
		names := map[string]bool{}
		for _, e := range p.entities {
			if r := role(&e); r.Reads != nil && !whole(r.Reads) {
				add(names, r.Reads)
				add(names, table.Fields{table.AttrPK, table.AttrSK, table.AttrEntity, table.AttrTTL})
			}
		}
		if len(names) == 0 {
			continue
		}
		st := allow("Look"+sid(strings.ToLower(p.key)), []string{"dynamodb:GetItem"}, map[string]bool{p.key: true}, "only these attributes, and not those beside them")
		st.Condition["ForAllValues:StringEquals"] = map[string][]string{attributesKey: slices.Sorted(maps.Keys(names))}
		st.Condition["StringEquals"] = map[string][]string{selectKey: {"SPECIFIC_ATTRIBUTES"}}
		all = append(all, st)
	}
	return all
}

// states allows a role to read the items that it merges with what is new.
func states(s *table.Schema, role rightsOf) []Statement {
	keys := keysWith(s, role, func(r *table.Rights) bool { return r.Puts != nil })
	if len(keys) == 0 {
		return nil
	}
	return []Statement{allow("ReadStates", []string{"dynamodb:GetItem", "dynamodb:BatchGetItem"}, keys, "states are read before they are merged")}
}

// changes allows the puts, updates and deletions of a role. Where the role writes only some of the
// entities of a partition, it is limited to their attributes.
func changes(s *table.Schema, role rightsOf) []Statement {
	all := slices.Concat(
		written(s, role, "Put", "dynamodb:PutItem", func(r *table.Rights) table.Fields { return r.Puts }),
		written(s, role, "Update", "dynamodb:UpdateItem", func(r *table.Rights) table.Fields { return r.Updates }),
	)
	if keys := keysWith(s, role, func(r *table.Rights) bool { return r.Deletes != nil }); len(keys) > 0 {
		all = append(all, allow("Delete", []string{"dynamodb:DeleteItem"}, keys, "what no longer holds is removed"))
	}
	return all
}

// written returns a statement for each set of attributes.
func written(s *table.Schema, role rightsOf, name, action string, fields func(*table.Rights) table.Fields) []Statement {
	keys := map[string]map[string]bool{} // partition keys by their attributes
	for _, p := range partitions(s) {
		names, some, all := map[string]bool{}, false, true
		for _, e := range p.entities {
			f := fields(role(&e))
			some, all = some || f != nil, all && whole(f)
			addStored(names, &e, f)
		}
		if !some {
			continue
		}
		set := ""
		if !all {
			set = strings.Join(slices.Sorted(maps.Keys(names)), " ")
		}
		if keys[set] == nil {
			keys[set] = map[string]bool{}
		}
		keys[set][p.key] = true
	}
	var all []Statement
	for _, set := range slices.Sorted(maps.Keys(keys)) {
		if set == "" {
			all = append(all, allow(name, []string{action}, keys[set], "nothing else is in these partitions"))
			continue
		}
		first := slices.Sorted(maps.Keys(keys[set]))[0]
		st := allow(name+sid(strings.ToLower(first)), []string{action}, keys[set], "only the attributes of items that the role writes")
		st.Condition["ForAllValues:StringEquals"] = map[string][]string{attributesKey: strings.Fields(set)}
		all = append(all, st)
	}
	return all
}

// addStored adds the attributes of an entity that fields name, and those by which an item is found.
func addStored(names map[string]bool, e *table.EntityInfo, f table.Fields) {
	if f == nil {
		return
	}
	add(names, table.Fields{table.AttrPK, table.AttrSK, table.AttrEntity})
	if !whole(f) {
		add(names, f)
		add(names, table.Fields{table.AttrTTL}) // a patch is conditional on an item that has not expired
		return
	}
	if e.Access.Fold.Puts != nil {
		add(names, table.Fields{table.AttrFoldVersion, table.AttrFoldMarks, table.AttrTTL})
	}
	if e.Expires {
		add(names, table.Fields{table.AttrTTL})
	}
	for _, x := range e.Indexes {
		add(names, table.Fields{x.Name + "pk", x.Name + "sk"})
	}
	for _, a := range e.Attributes {
		names[a.Name] = true
	}
}

// whole reports whether fields include all attributes of an entity.
func whole(f table.Fields) bool { return slices.Contains(f, table.Whole[0]) }

func add(names map[string]bool, f table.Fields) {
	for _, name := range f {
		names[name] = true
	}
}

// protected denies changes in partitions with facts in which the role neither updates nor deletes
// anything. The patterns of other statements may match them as well, because a star also stands
// for #. BatchWriteItem knows no conditions, so it can only replace and delete.
func protected(s *table.Schema, role rightsOf) []Statement {
	denied := map[string]bool{}
	for _, p := range partitions(s) {
		if slices.ContainsFunc(p.entities, isFact) && !p.has(role, func(r *table.Rights) bool { return r.Updates != nil || r.Deletes != nil }) {
			denied[p.key] = true
		}
	}
	if len(denied) == 0 {
		return nil
	}
	return []Statement{{
		Sid: "AppendOnly", Effect: "Deny", Action: []string{"dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"}, Resource: []Resource{{}},
		Condition: map[string]map[string][]string{"ForAnyValue:StringLike": {leadingKeysKey: slices.Sorted(maps.Keys(denied))}},
		why:       "facts are neither changed nor deleted",
	}}
}

// isFact reports whether the items of an entity are facts: they are immutable, or they arrive and
// nothing derives them.
func isFact(e table.EntityInfo) bool {
	return e.Immutable || e.Access.Ingest.Puts != nil && e.Access.Fold.Puts == nil
}
