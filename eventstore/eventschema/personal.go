package eventschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onefold/onefold/eventstore"
)

// Keywords that declare personal data. They do not change which events are valid.
const (
	// KeywordPersonal is a keyword of a field with personal data. Its value is the path of the person's
	// ID, such as customerId or customer.id.
	KeywordPersonal = "x-personal-data"
	// KeywordMetadata is a keyword of the whole schema. Its value has the path of the person's ID for
	// each entry of the events' metadata that is personal.
	KeywordMetadata = "x-personal-metadata"
)

const keywordPrefix = "x-personal"

// Personal returns what the schema declares personal, as rules for an event type; nil if nothing.
func (s *Schema) Personal(eventType string) []eventstore.PersonalRule {
	rules := slices.Clone(s.personal)
	for i := range rules {
		rules[i].Event = eventType
	}
	return rules
}

// declarations collects the personal fields of a schema.
type declarations struct {
	rules map[string]*eventstore.PersonalRule // by subject
	named map[string]bool                     // paths of all properties
}

// personalIn returns the personal fields that a schema without references declares. A field is
// personal in all events if any alternative says so. Errors: ErrSchema.
func personalIn(expanded any) ([]eventstore.PersonalRule, error) {
	d := declarations{map[string]*eventstore.PersonalRule{}, map[string]bool{}}
	if err := d.schema(expanded, ""); err != nil {
		return nil, err
	}
	var rules []eventstore.PersonalRule
	for _, subject := range slices.Sorted(maps.Keys(d.rules)) {
		r := *d.rules[subject]
		if r.Event = "of the schema"; !d.named[subject] {
			return nil, fmt.Errorf("%w: the path %q of a person's ID leads to no property", ErrSchema, subject)
		}
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSchema, err)
		}
		slices.Sort(r.Fields)
		slices.Sort(r.Metadata)
		r.Fields, r.Metadata = slices.Compact(r.Fields), slices.Compact(r.Metadata)
		rules = append(rules, r)
	}
	return rules, nil
}

func (d *declarations) of(subject string) *eventstore.PersonalRule {
	if d.rules[subject] == nil {
		d.rules[subject] = &eventstore.PersonalRule{Subject: subject}
	}
	return d.rules[subject]
}

// maxPath is the maximum length of a path to personal data in bytes.
const maxPath = 1024

// schema collects the declarations of a schema for the values at a path.
func (d *declarations) schema(of any, path string) error {
	s, ok := of.(map[string]any)
	if !ok {
		return nil
	}
	if err := d.keywords(s, path); err != nil {
		return err
	}
	for name, one := range named(s) {
		if name == "" || name == "*" || strings.Contains(name, ".") || len(path)+len(name) > maxPath {
			if declares(one) {
				return fmt.Errorf("%w: the property %.64q contains personal data: its name must not be empty, * or have dots, and its path may have %d bytes", ErrSchema, name, maxPath)
			}
			continue
		}
		inside := join(path, name)
		d.named[inside] = true
		if err := d.schema(one, inside); err != nil {
			return err
		}
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if err := d.schema(s[keyword], join(path, "*")); err != nil {
			return err
		}
	}
	for _, part := range alternatives(s) {
		if err := d.schema(part, path); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// keywords reads the declarations of one schema, and refuses those that no path can express.
func (d *declarations) keywords(s map[string]any, path string) error {
	for keyword, value := range s {
		subject, isText := value.(string)
		switch {
		case keyword == KeywordPersonal && path != "" && isText:
			r := d.of(subject)
			r.Fields = append(r.Fields, path)
		case keyword == KeywordPersonal:
			return fmt.Errorf("%w: %s is a keyword of a property, with the path of the person's ID, such as customerId", ErrSchema, keyword)
		case keyword == KeywordMetadata:
			if err := d.metadata(value, path); err != nil {
				return err
			}
		case strings.HasPrefix(keyword, keywordPrefix):
			return fmt.Errorf("%w: there is no keyword %s: use %s or %s", ErrSchema, keyword, KeywordPersonal, KeywordMetadata)
		case slices.Contains(pathless, keyword) && declares(value):
			return fmt.Errorf("%w: %s cannot be used in %s: use properties, items or additionalProperties", ErrSchema, KeywordPersonal, keyword)
		case keyword == "additionalProperties" && declares(value) && len(named(s)) > 0:
			return fmt.Errorf("%w: %s cannot be used in additionalProperties of an object that has properties, because these would be encrypted, too", ErrSchema, KeywordPersonal)
		}
	}
	return nil
}

func (d *declarations) metadata(value any, path string) error {
	entries, ok := value.(map[string]any)
	if !ok || path != "" {
		return fmt.Errorf(`%w: %s is a keyword of the whole schema, such as {"ip": "customerId"}`, ErrSchema, KeywordMetadata)
	}
	for name, of := range entries {
		subject, ok := of.(string)
		if !ok || name == "" {
			return fmt.Errorf(`%w: %s has the name of an entry and the path of the person's ID, such as {"ip": "customerId"}`, ErrSchema, KeywordMetadata)
		}
		r := d.of(subject)
		r.Metadata = append(r.Metadata, name)
	}
	return nil
}

// pathless are keywords with schemas for values that no path names, or that are not in the event.
var pathless = []string{"not", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "prefixItems", "patternProperties"}

// alternatives returns the schemas that apply to the same value as a schema.
func alternatives(s map[string]any) (all []any) {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[keyword].([]any)
		all = append(all, list...)
	}
	for _, keyword := range []string{"if", "then", "else"} {
		all = append(all, s[keyword])
	}
	dependent, _ := s["dependentSchemas"].(map[string]any)
	return slices.AppendSeq(all, maps.Values(dependent))
}

// declares reports whether a schema, or a part of it, declares something personal.
func declares(of any) bool {
	switch v := of.(type) {
	case map[string]any:
		for name, part := range v {
			if strings.HasPrefix(name, keywordPrefix) || declares(part) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, declares)
	}
	return false
}
