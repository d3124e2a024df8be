package eventschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Incompatible is the error of a schema that may refuse events which another one accepts.
type Incompatible struct {
	Changes []Change // at most 10
}

// Change is a place in a schema that refuses more than before.
type Change struct {
	Path    string // JSON Pointer in the new schema, with references replaced by what they refer to
	Message string
}

func (e *Incompatible) Error() string {
	return fmt.Sprintf("%s: at %q: %s", ErrIncompatible.Error(), e.Changes[0].Path, e.Changes[0].Message)
}

func (e *Incompatible) Unwrap() error { return ErrIncompatible }

// Replaces checks that the schema accepts every event that an old one accepts. It is careful: if it
// cannot tell, as after most changes of patterns and of conditions such as oneOf, that is an error.
// Errors: *Incompatible.
func (s *Schema) Replaces(old *Schema) error {
	left := maxComparisons
	c := comparison{left: &left}
	if c.accepts(old.expanded, s.expanded, ""); len(c.changes) > 0 {
		return &Incompatible{c.changes[:min(len(c.changes), maxViolations)]}
	}
	return nil
}

// comparison collects the places where a new schema may refuse what an old one accepts.
type comparison struct {
	changes []Change
	left    *int // comparisons that may still be made
}

// maxComparisons bounds the time: alternatives are compared with each other.
const maxComparisons = 100_000

func (c *comparison) add(at, format string, args ...any) {
	c.changes = append(c.changes, Change{at, fmt.Sprintf(format, args...)})
}

// object returns the assertions of a schema: none for true.
func object(of any) (assertions map[string]any, isFalse bool) {
	m, ok := of.(map[string]any)
	if !ok {
		return map[string]any{}, of == false
	}
	assertions = maps.Clone(m)
	maps.DeleteFunc(assertions, func(keyword string, _ any) bool { return annotation(keyword) })
	return assertions, false
}

// holds reports whether new accepts all that old accepts.
func (c *comparison) holds(old, new any) bool {
	part := comparison{left: c.left}
	part.accepts(old, new, "")
	return len(part.changes) == 0
}

// accepts adds the places where new may refuse what old accepts.
func (c *comparison) accepts(old, new any, at string) {
	if *c.left--; *c.left < 0 {
		c.add(at, "the schemas have too many alternatives to compare")
		return
	}
	o, never := object(old)
	n, nothing := object(new)
	switch {
	case never || !nothing && reflect.DeepEqual(o, n):
		return
	case nothing:
		c.add(at, "nothing is valid here any more")
		return
	}
	for _, keyword := range []string{"unevaluatedItems", "unevaluatedProperties"} {
		if _, has := n[keyword]; has { // depends on all other keywords
			c.add(at+"/"+keyword, "a schema with %s cannot be changed", keyword)
			return
		}
	}
	for _, keyword := range slices.Sorted(maps.Keys(n)) {
		c.keyword(keyword, o, n, at)
	}
}

// same are keywords that must not change, with those that they depend on.
var same = map[string][]string{
	"multipleOf": nil, "pattern": nil, "not": nil, "oneOf": nil, "contains": {"minContains", "maxContains"}, "minContains": {"contains"}, "maxContains": {"contains"},
	"propertyNames": nil, "patternProperties": nil, "dependentSchemas": nil, "dependentRequired": nil, "dependencies": nil, "prefixItems": nil,
	"if": {"then", "else"}, "then": {"if"}, "else": {"if"},
}

// keyword compares a keyword of the new schema.
func (c *comparison) keyword(keyword string, o, n map[string]any, at string) {
	here := at + "/" + keyword
	switch keyword {
	case "type":
		c.types(o, n, here)
	case "enum", "const":
		if !within(values(o), values(map[string]any{keyword: n[keyword]})) {
			c.add(here, "values that were valid are not listed")
		}
	case "required":
		for _, name := range texts(n[keyword]) {
			if !slices.Contains(texts(o[keyword]), name) {
				c.add(here, "%q was not required", name)
			}
		}
	case "properties", "additionalProperties":
		c.properties(keyword, o, n, here)
	case "items":
		if !reflect.DeepEqual(o["prefixItems"], n["prefixItems"]) {
			c.add(here, "items cannot change together with prefixItems")
			return
		}
		c.accepts(schemaOf(o, keyword), n[keyword], here)
	case "allOf":
		c.all(o, n, here)
	case "anyOf":
		c.any(o, n, here)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		c.bound(keyword, -1, o, n, here)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		c.bound(keyword, 1, o, n, here)
	case "uniqueItems":
		if n[keyword] == true && o[keyword] != true {
			c.add(here, "items did not have to be unique")
		}
	default:
		depends, known := same[keyword]
		for _, k := range append(depends, keyword) {
			if known && !reflect.DeepEqual(o[k], n[k]) {
				c.add(here, "%s has changed, or is new: it may refuse what was valid", keyword)
				return
			}
		}
	}
}

// schemaOf returns the schema of a keyword; the default is true.
func schemaOf(of map[string]any, keyword string) any {
	if s, has := of[keyword]; has {
		return s
	}
	return true
}

func (c *comparison) types(o, n map[string]any, here string) {
	old, now := texts(o["type"]), texts(n["type"])
	if len(old) == 0 {
		if listed := values(o); listed == nil || slices.ContainsFunc(listed, func(v any) bool { return !slices.ContainsFunc(now, func(t string) bool { return isOf(v, t) }) }) {
			c.add(here, "values of all types were valid")
		}
		return
	}
	for _, t := range old {
		if !slices.Contains(now, t) && !(t == "integer" && slices.Contains(now, "number")) {
			c.add(here, "values of type %s were valid", t)
		}
	}
}

// isOf reports whether a value has a type.
func isOf(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		return t == "number" || t == "integer" && ok && r.IsInt()
	case []any:
		return t == "array"
	}
	return t == "object"
}

// texts returns a text or a list of them.
func texts(of any) (all []string) {
	if text, ok := of.(string); ok {
		return []string{text}
	}
	list, _ := of.([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// values returns the values that a schema lists; nil if it lists none.
func values(of map[string]any) []any {
	if v, has := of["const"]; has {
		return []any{v}
	}
	list, _ := of["enum"].([]any)
	return list
}

// within reports whether all values are in a list.
func within(values, list []any) bool {
	if values == nil {
		return false
	}
	return !slices.ContainsFunc(values, func(v any) bool {
		return !slices.ContainsFunc(list, func(l any) bool { return reflect.DeepEqual(v, l) })
	})
}

// properties compares the properties that either schema names, or all others.
func (c *comparison) properties(keyword string, o, n map[string]any, here string) {
	if !reflect.DeepEqual(o["patternProperties"], n["patternProperties"]) || n["patternProperties"] != nil && !reflect.DeepEqual(named(o), named(n)) {
		c.add(here, "properties cannot change together with patternProperties")
		return
	}
	if keyword == "properties" {
		for _, name := range slices.Sorted(maps.Keys(named(n))) {
			old, has := named(o)[name]
			if !has {
				old = schemaOf(o, "additionalProperties")
			}
			c.accepts(old, named(n)[name], here+"/"+escape(name))
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(named(o))) {
		if _, has := named(n)[name]; !has && !c.holds(named(o)[name], n[keyword]) {
			c.add(here, "the property %q was valid", name)
		}
	}
	c.accepts(schemaOf(o, keyword), n[keyword], here)
}

func named(of map[string]any) map[string]any {
	m, _ := of["properties"].(map[string]any)
	return m
}

// all checks that the old schema implies each part of the new one.
func (c *comparison) all(o, n map[string]any, here string) {
	old, _ := o["allOf"].([]any)
	parts, _ := n["allOf"].([]any)
	for i, part := range parts {
		if !slices.ContainsFunc(old, func(of any) bool { return c.holds(of, part) }) {
			c.accepts(o, part, here+"/"+strconv.Itoa(i))
		}
	}
}

// any checks that each alternative of the old schema, or all of it, is one of the new schema.
func (c *comparison) any(o, n map[string]any, here string) {
	alternatives, _ := n["anyOf"].([]any)
	is := func(of any) bool {
		return slices.ContainsFunc(alternatives, func(one any) bool { return c.holds(of, one) })
	}
	old, _ := o["anyOf"].([]any)
	if is(o) || len(old) > 0 && !slices.ContainsFunc(old, func(of any) bool { return !is(of) }) {
		return
	}
	c.add(here, "some alternative that was valid is not among them")
}

// bound compares a bound: sign is 1 for an upper one, and -1 for a lower one.
func (c *comparison) bound(keyword string, sign int, o, n map[string]any, here string) {
	now, ok := rational(n[keyword])
	old, had := rational(o[keyword])
	if ok && (!had || now.Cmp(old)*sign < 0) {
		c.add(here, "it is narrower than before, or new")
	}
}

func rational(of any) (*big.Rat, bool) {
	number, ok := of.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(strings.ToLower(number.String()))
}
