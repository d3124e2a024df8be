package eventschema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// draft is the only version of JSON Schema, and the default.
const draft = "https://json-schema.org/draft/2020-12/schema"

// Keywords whose values are schemas.
var (
	ofSchema  = []string{"additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	ofSchemas = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	ofNamed   = []string{"properties", "patternProperties", "dependentSchemas"}
)

// refused are keywords that would make references dynamic, or resolve them elsewhere.
var refused = []string{"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$anchor", "$vocabulary", "dependencies"}

// expansion replaces references by what they refer to.
type expansion struct {
	root  any
	nodes int // subschemas so far
	depth int // of the current one
}

// expand returns a schema without references, definitions and $id, and the number of its subschemas.
// Errors: ErrSchema.
func expand(document any) (expanded any, nodes int, err error) {
	x := expansion{root: document}
	if root, ok := document.(map[string]any); ok {
		if of, given := root["$schema"]; given && of != draft && of != draft+"#" {
			return nil, 0, fmt.Errorf("%w: $schema: use %s", ErrSchema, draft)
		}
	}
	expanded, err = x.schema(document, "", nil)
	return expanded, x.nodes, err
}

func (x *expansion) schema(of any, at string, within []string) (any, error) {
	if x.nodes++; x.nodes > maxNodes {
		return nil, fmt.Errorf("%w: more than %d subschemas, with references replaced by what they refer to", ErrSchema, maxNodes)
	}
	x.depth++
	defer func() { x.depth-- }()
	from, ok := of.(map[string]any)
	if !ok {
		if _, ok := of.(bool); ok {
			return of, nil
		}
		return nil, fmt.Errorf("%w: %q is neither an object nor true or false", ErrSchema, at)
	}
	if x.depth > maxDepth {
		return nil, fmt.Errorf("%w: more than %d nested subschemas", ErrSchema, maxDepth)
	}
	to := make(map[string]any, len(from))
	for keyword, value := range from {
		var err error
		here := at + "/" + escape(keyword)
		switch {
		case slices.Contains(refused, keyword) || keyword == "$id" && at != "" || keyword == "$schema" && at != "":
			return nil, fmt.Errorf("%w: %q: leave %s out", ErrSchema, here, keyword)
		case keyword == "$id" || keyword == "$schema" || keyword == "$defs" || keyword == "definitions" || keyword == "$ref" || keyword == "contentSchema":
			continue
		case slices.Contains(ofSchema, keyword):
			value, err = x.schema(value, here, within)
		case slices.Contains(ofSchemas, keyword):
			value, err = x.list(value, here, within)
		case slices.Contains(ofNamed, keyword):
			value, err = x.named(value, here, within)
		}
		if err != nil {
			return nil, err
		}
		to[keyword] = value
	}
	if ref, ok := from["$ref"]; ok {
		return x.reference(ref, to, at, within)
	}
	return to, nil
}

func (x *expansion) list(of any, at string, within []string) (any, error) {
	from, ok := of.([]any)
	if !ok {
		return of, nil // the compiler says what is wrong
	}
	to := make([]any, len(from))
	for i := range from {
		var err error
		if to[i], err = x.schema(from[i], at+"/"+strconv.Itoa(i), within); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func (x *expansion) named(of any, at string, within []string) (any, error) {
	from, ok := of.(map[string]any)
	if !ok {
		return of, nil
	}
	to := make(map[string]any, len(from))
	for name, value := range from {
		var err error
		if to[name], err = x.schema(value, at+"/"+escape(name), within); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// reference returns a schema with what a reference refers to: alone, or in allOf beside its other
// keywords.
func (x *expansion) reference(ref any, beside map[string]any, at string, within []string) (any, error) {
	text, ok := ref.(string)
	if !ok || text != "#" && !strings.HasPrefix(text, "#/") {
		return nil, fmt.Errorf("%w: %q: refer within the schema, with #/$defs/…", ErrSchema, at+"/$ref")
	}
	if slices.Contains(within, text) || text == "#" {
		return nil, fmt.Errorf("%w: %q: %s refers to itself; use a schema of bounded depth", ErrSchema, at+"/$ref", text)
	}
	target, err := x.find(text)
	if err != nil {
		return nil, err
	}
	target, err = x.schema(target, at+"/$ref", append(slices.Clip(within), text))
	if err != nil {
		return nil, err
	}
	for keyword := range beside {
		if !annotation(keyword) {
			all, _ := beside["allOf"].([]any)
			beside["allOf"] = append(slices.Clip(all), target)
			return beside, nil
		}
	}
	return target, nil
}

// find follows a JSON Pointer.
func (x *expansion) find(pointer string) (any, error) {
	at := x.root
	for name := range strings.SplitSeq(pointer[len("#/"):], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		var next any
		switch of := at.(type) {
		case map[string]any:
			next = of[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(of) {
				next = of[i]
			}
		}
		if at = next; at == nil {
			return nil, fmt.Errorf("%w: there is nothing at %s", ErrSchema, pointer)
		}
	}
	return at, nil
}

// annotation reports whether a keyword has no effect on what is valid.
func annotation(keyword string) bool {
	return slices.Contains([]string{"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly", "format", "contentEncoding", "contentMediaType"}, keyword)
}
