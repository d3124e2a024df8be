package products_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/internal/redact"
	"github.com/onefold/onefold/table"
)

// open are the variables of partition keys whose values identify nobody: the operator chose them,
// or they are chosen by the products. A new variable of a key stays hidden until it is listed here.
var open = []string{"siteId", "site", "shard", "fleetId", "connectivity", "profileId", "status", "severity", "type", "eventType", "scope", "group", "fold", "name", "version", "month"}

// keyTemplates returns the templates of all partition keys of the products, and the leading words
// of those that begin with a variable.
func keyTemplates() (all []string) {
	all = append(all, "PROJECTION#{name}#{version}#{type}#{id}") // read models define their entities when a projection is created
	for _, s := range []*table.Schema{products.Schema, shred.Schema, projection.Schema} {
		for _, e := range s.Entities() {
			if e.PKWords == nil {
				all = append(all, e.PK)
			}
			for _, word := range e.PKWords {
				all = append(all, word+"#{"+strings.ToLower(word)+"Id}") // rules have the only such entity
			}
			for _, index := range e.Indexes {
				all = append(all, index.PK)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

var variables = regexp.MustCompile(`\{([^}:]+)[^}]*\}`)

// words returns the words of a template's key without optional parts, and the number of words after
// the first that precede a hidden one.
func words(template string) (all []string, clear int) {
	template = strings.NewReplacer("[#", "#", "]", "").Replace(template)
	all = strings.Split(template, "#")
	hidden := slices.IndexFunc(all, func(word string) bool {
		v := variables.FindStringSubmatch(word)
		return v != nil && !slices.Contains(open, v[1])
	})
	if hidden < 0 {
		return all, len(all) - 1
	}
	return all, hidden - 1
}

// The visible parts of keys follow from the schemas. An entity added later shows nothing until it
// is listed here.
func TestWordsThatMayBeSeen(t *testing.T) {
	want := map[string]int{}
	hides := map[string]bool{}
	for _, template := range keyTemplates() {
		all, clear := words(template)
		first, whole := all[0], clear == len(all)-1
		switch {
		case !whole && !hides[first]:
			hides[first], want[first] = true, clear
		case !whole:
			want[first] = min(want[first], clear)
		case !hides[first]:
			want[first] = max(want[first], clear)
		}
	}
	maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
	if got := redact.Products(); !maps.Equal(got, want) {
		t.Errorf("words that are seen %v\n\tby the schemas %v", got, want)
	}
}

// An anonymized key still matches its template, and contains nothing that is hidden.
func TestKeysAsTheyAreShown(t *testing.T) {
	keys := redact.New(redact.Products())
	for _, template := range keyTemplates() {
		key := variables.ReplaceAllStringFunc(strings.NewReplacer("[", "", "]", "").Replace(template), func(v string) string {
			if slices.Contains(open, variables.FindStringSubmatch(v)[1]) {
				return "open"
			}
			return "ann@example.com"
		})
		name := keys.Name(key)
		if strings.Contains(name, "ann") || !heat.Makes(template, name) || strings.Contains(name, "~") && name == keys.Name(key+"x") || name != keys.Name(key) {
			t.Errorf("%s: %s is shown as %s", template, key, name)
		}
		if !strings.Contains(key, "ann") && !strings.HasPrefix(key, "ACCOUNT#") && name != key {
			t.Errorf("%s names nobody, and is shown as %s", key, name)
		}
	}
}
