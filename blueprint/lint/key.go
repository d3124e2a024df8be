package lint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/onefold/onefold/table"
)

// variables returns the names of a template's variables, in order.
func variables(template string) []string {
	var names []string
	for rest := template; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			return names
		}
		var name string
		name, rest, _ = strings.Cut(after, "}")
		name, _, _ = strings.Cut(name, ":")
		names = append(names, name)
	}
}

// shape returns a template without the names of its variables.
func shape(template string) string {
	for _, v := range variables(template) {
		template = strings.Replace(template, "{"+v, "{", 1)
	}
	return template
}

func sharded(template string) bool { return strings.Contains(template, "{shard") }

// typeOf returns the Go type of an attribute, or "" if the entity does not have it.
func typeOf(e *table.EntityInfo, name string) string {
	for _, list := range [][]table.AttributeInfo{e.Key, e.Attributes} {
		for _, a := range list {
			if a.Name == name {
				return a.Type
			}
		}
	}
	return ""
}

var timely = regexp.MustCompile(`(?i)(timestamp|datetime|[a-z]time)$|^(time|ts)$|[a-z]At$|^at$`)

func timesAsText(s *schema) []Finding {
	var all []Finding
	look := func(e *table.EntityInfo, index, template string) {
		for _, v := range variables(template) {
			if typeOf(e, v) == "string" && timely.MatchString(v) {
				all = append(all, Finding{Entity: e.Name, Index: index, What: fmt.Sprintf("{%s} in %s is text: 14:00:00.500Z sorts before 14:00:00Z, so a range misses its first second", v, template),
					Fix: "make it a time.Time with a fixed-width format, such as {" + v + ":ms}"})
			}
		}
	}
	for i := range s.entities {
		e := &s.entities[i]
		look(e, "", e.SK)
		for _, x := range e.Indexes {
			look(e, x.Name, x.SK)
		}
	}
	return all
}

func timeOnlyKeys(s *schema) []Finding {
	var all []Finding
	for i := range s.entities {
		e := &s.entities[i]
		names := variables(e.SK)
		if !e.Immutable || len(names) != 1 {
			continue
		}
		if v := names[0]; typeOf(e, v) == "time.Time" || timely.MatchString(v) {
			all = append(all, Finding{Entity: e.Name, What: fmt.Sprintf("two items with the same %s and {%s} have the same key: the second is lost or overwrites the first", e.PK, v),
				Fix: "add a discriminator, such as the sender's sequence number or a hash of the content: " + e.SK + "#{disc}"})
		}
	}
	return all
}

func twoIDs(s *schema) []Finding {
	var all []Finding
	for i := range s.entities {
		e := &s.entities[i]
		pk, sk := variables(e.PK), variables(e.SK)
		if len(pk) == 1 && len(sk) == 1 && pk[0] != sk[0] && shape(e.PK) == shape(e.SK) {
			all = append(all, Finding{Entity: e.Name, What: fmt.Sprintf("%s and %s are two IDs of one item: a caller with only one of them cannot read it, and a retry creates another item", e.PK, e.SK),
				Fix: "compute both from {" + pk[0] + "}"})
		}
	}
	return all
}

func fanOutFilters(s *schema) []Finding {
	var all []Finding
	for _, p := range s.patterns {
		if p.FanOut != "" && p.Filtered {
			all = append(all, Finding{Entity: p.Entity, Pattern: p.ID, What: "every shard is queried, for half a unit or one even if it is empty, and filtered items are paid for",
				Fix: "use few shards, narrow the sort key range, or maintain the result with a fold"})
		}
	}
	return all
}

func withoutLoads(s *schema) []Finding {
	var all []Finding
	for _, p := range s.patterns {
		if p.Load == (table.Load{}) {
			all = append(all, Finding{Entity: p.Entity, Pattern: p.ID, What: "no load is declared, so its cost and heat are unknown", Fix: "set Load: calls per second, items, and bytes per item"})
		}
	}
	return all
}
