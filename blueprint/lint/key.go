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
				all = append(all, Finding{Entity: e.Name, Index: index, What: fmt.Sprintf("{%s} in %s is text: 14:00:00.500Z sorts before 14:00:00Z, and a range misses its first second", v, template),
					Fix: "make it a time.Time, and write it with a fixed width, such as {" + v + ":ms}"})
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
			all = append(all, Finding{Entity: e.Name, What: fmt.Sprintf("two with the same %s and {%s} have one key: the second is lost, or overwrites the first", e.PK, v),
				Fix: "add what tells them apart, such as the sender's own number or a hash of the content: " + e.SK + "#{disc}"})
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
			all = append(all, Finding{Entity: e.Name, What: fmt.Sprintf("%s and %s are two ids of one item: who knows one cannot read it, and a retry makes another", e.PK, e.SK),
				Fix: "let both be made of {" + pk[0] + "}"})
		}
	}
	return all
}

func fanOutFilters(s *schema) []Finding {
	var all []Finding
	for _, p := range s.patterns {
		if p.FanOut != "" && p.Filtered {
			all = append(all, Finding{Entity: p.Entity, Pattern: p.ID, What: "every shard is asked, at half a unit or one even when it has nothing, and what the filter drops is paid for",
				Fix: "keep the shards few, narrow the range of the sort key, or let a fold keep an item of what is asked for"})
		}
	}
	return all
}

func withoutLoads(s *schema) []Finding {
	var all []Finding
	for _, p := range s.patterns {
		if p.Load == (table.Load{}) {
			all = append(all, Finding{Entity: p.Entity, Pattern: p.ID, What: "no load is declared: neither cost nor heat can be told", Fix: "give it a Load: calls a second, items, and bytes of an item"})
		}
	}
	return all
}
