package infra

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// Statement is a statement of an IAM policy.
type Statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  []Resource
	Condition map[string]map[string][]string `json:",omitempty"`

	why string // explanation for readers
}

// Resource is the table, its stream, or one of its indexes.
type Resource struct {
	Stream bool
	Index  string
}

// arn returns the resource's ARN.
func (r Resource) arn(table, stream string) string {
	switch {
	case r.Stream:
		return stream
	case r.Index != "":
		return table + "/index/" + r.Index
	}
	return table
}

// Reading returns the permissions for the schema's read patterns only: no scans, and each pattern
// only for partition keys of its form. Private entities are left out.
func Reading(s *table.Schema) []Statement { return reading(s, false) }

func reading(s *table.Schema, private bool) []Statement {
	hidden := map[string]bool{}
	for _, e := range s.Entities() {
		hidden[e.Name] = e.Access.Private && !private
	}
	var reads []table.PatternInfo
	for _, p := range s.Patterns() {
		if (p.Operation == "Query" || p.Operation == "GetItem") && !hidden[p.Entity] {
			reads = append(reads, p)
		}
	}
	return group("Read", reads, func(p *table.PatternInfo) []string { return []string{"dynamodb:" + p.Operation} })
}

// Writing returns the permissions for storing and maintaining everything but facts: items of all
// entities may be put, and items of mutable entities also updated and deleted.
func Writing(s *table.Schema) []Statement {
	put, change := map[string]bool{}, map[string]bool{}
	for _, e := range s.Entities() {
		for _, key := range leadingKeys(e.PK, e.PKWords) {
			put[key] = true
			if !e.Immutable {
				change[key] = true
			}
		}
	}
	return []Statement{
		allow("WriteItems", []string{"dynamodb:PutItem", "dynamodb:ConditionCheckItem", "dynamodb:BatchWriteItem"}, put, "facts and all else are put"),
		allow("ChangeItems", []string{"dynamodb:UpdateItem", "dynamodb:DeleteItem"}, change, "what is no fact is changed and deleted"),
		allow("ReadForWrites", []string{"dynamodb:BatchGetItem", "dynamodb:GetItem"}, put, "states are read before they are merged"),
	}
}

// Erasing returns the permissions that erasure and annotating facts need in addition to Writing:
// updating and deleting facts.
func Erasing(s *table.Schema) []Statement {
	facts := map[string]bool{}
	for _, e := range s.Entities() {
		if e.Immutable {
			for _, key := range leadingKeys(e.PK, e.PKWords) {
				facts[key] = true
			}
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return []Statement{allow("EraseFacts", []string{"dynamodb:UpdateItem", "dynamodb:DeleteItem"}, facts, "facts are erased, and noted on")}
}

// Describing returns the permissions for opening a table, which includes checking that it fits the
// schema.
func Describing() []Statement {
	return []Statement{{
		Sid: "Describe", Effect: "Allow", Resource: []Resource{{}},
		Action: []string{"dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"},
		why:    "a program looks whether the table fits before it begins",
	}}
}

// Streaming returns the permissions for reading the table's changes.
func Streaming() []Statement {
	return []Statement{{
		Sid: "ReadStream", Effect: "Allow", Resource: []Resource{{Stream: true}},
		Action: []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"},
		why:    "changes are folded",
	}}
}

// The condition keys that policies use. IAM has none for sort keys, values and conditions of writes.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
const (
	leadingKeysKey = "dynamodb:LeadingKeys"
	attributesKey  = "dynamodb:Attributes"
	selectKey      = "dynamodb:Select"
)

func allow(name string, actions []string, keys map[string]bool, why string) Statement {
	return Statement{
		Sid: name, Effect: "Allow", Action: actions, Resource: []Resource{{}}, why: why,
		Condition: map[string]map[string][]string{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": slices.Sorted(maps.Keys(keys))}},
	}
}

// group makes one statement per action and index, for all patterns that use it.
func group(name string, patterns []table.PatternInfo, actions func(*table.PatternInfo) []string) []Statement {
	type place struct{ action, index string }
	keys, ids := map[place]map[string]bool{}, map[place][]string{}
	for i := range patterns {
		p := &patterns[i]
		for _, action := range actions(p) {
			at := place{action, p.Index}
			if keys[at] == nil {
				keys[at] = map[string]bool{}
			}
			for _, key := range leadingKeys(p.PK, p.PKWords) {
				keys[at][key] = true
			}
			ids[at] = append(ids[at], p.ID)
		}
	}
	places := slices.SortedFunc(maps.Keys(keys), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.action, b.action))
	})
	var all []Statement
	for _, at := range places {
		one := allow(name+strings.TrimPrefix(at.action, "dynamodb:")+sid(at.index), []string{at.action}, keys[at], "patterns "+strings.Join(ids[at], ", "))
		one.Resource = []Resource{{Index: at.index}}
		all = append(all, one)
	}
	return all
}

// leadingKeys returns the partition keys of a template as patterns for IAM's StringLike. words are
// the allowed values of the variable that it begins with.
func leadingKeys(template string, words []string) (keys []string) {
	if _, rest, ok := strings.Cut(template, "}"); ok && len(words) > 0 {
		for _, word := range words {
			keys = append(keys, leadingKeys(word+rest, nil)...)
		}
		return keys
	}
	whole, tail, optional := strings.Cut(template, "[")
	keys = []string{starred(whole)}
	if optional {
		keys = append(keys, starred(whole+strings.TrimSuffix(tail, "]")))
	}
	return keys
}

// starred replaces each variable of a template with a star.
func starred(template string) string {
	var b strings.Builder
	for rest := template; ; {
		text, after, ok := strings.Cut(rest, "{")
		b.WriteString(text)
		if !ok {
			return b.String()
		}
		b.WriteByte('*')
		_, rest, _ = strings.Cut(after, "}")
	}
}

// sid converts a name to a statement identifier of letters and digits.
func sid(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' && up:
			b.WriteRune(r - 'a' + 'A')
			up = false
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
			up = false
		default:
			up = true
		}
	}
	return b.String()
}

// PolicyDocument is an IAM policy.
type PolicyDocument struct {
	Version   string
	Statement []documentStatement
}

type documentStatement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string `json:",omitempty"`
}

// policyVersion is the version of IAM's policy language.
const policyVersion = "2012-10-17"
