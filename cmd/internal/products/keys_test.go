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

// open are the variables of partition keys that name nobody, whatever they are: whoever runs the products named them, or these did
// so themselves. A variable that is new in a key stays hidden until it is put here.
var open = []string{"siteId", "site", "shard", "fleetId", "connectivity", "profileId", "status", "severity", "type", "eventType", "scope", "group", "fold", "name", "version", "month"}

// keyTemplates are those of all partition keys that products write, with the words of those that begin with a variable.
func keyTemplates() (all []string) {
	all = append(all, "PROJECTION#{name}#{version}#{type}#{id}") // of read models, whose entities are made when a projection is
	for _, s := range []*table.Schema{products.Schema, shred.Schema, projection.Schema} {
		for _, e := range s.Entities() {
			if e.PKWords == nil {
				all = append(all, e.PK)
			}
			for _, word := range e.PKWords {
				all = append(all, word+"#{"+strings.ToLower(word)+"Id}") // of rules, the one such entity
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

// words are those of a key of a template with all that may be left out, and how many behind the first come before one that hides.
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

// What may be seen of keys follows from the schemas: no less, and nothing that an entity to come adds unless it is said here.
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

// A key as it is shown is still one that its template makes, and nothing of what hides is in it.
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
