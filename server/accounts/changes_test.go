package accounts_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onefold/onefold/server/accounts"
)

// settings are flat, so that a naive diff is a loop.
type settings map[string]any

func randomSettings(r *rand.Rand) settings {
	s := settings{}
	for i := range r.IntN(8) {
		name := fmt.Sprintf("f%d", r.IntN(10))
		switch r.IntN(6) {
		case 0:
			s[name] = r.IntN(2) == 0
		case 1:
			s[name] = r.IntN(3)
		case 2:
			s[name] = []string{"a", "b", "c"}[:r.IntN(4)]
		case 3:
			s[name] = nil
		case 4:
			s[name] = fmt.Sprint("<text> & ", r.IntN(3))
		case 5:
			s[[]string{"password", "apiToken", "ownerEmail"}[i%3]] = fmt.Sprint("canary", r.IntN(3))
		}
	}
	return s
}

// plain formats a value as the record does, in the naive way.
func plain(t *testing.T, v any) string {
	t.Helper()
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	must(t, err)
	if s := string(text); s != "null" && s != "[]" {
		return s
	}
	return ""
}

func TestChangesOfRandomSettings(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		before, after := randomSettings(r), randomSettings(r)
		want := map[string]accounts.Change{}
		for _, s := range []settings{before, after} {
			for name := range s {
				c := accounts.Change{Field: name, Before: plain(t, before[name]), After: plain(t, after[name])}
				if c.Before == c.After {
					continue
				}
				if !strings.HasPrefix(name, "f") {
					c = accounts.Change{Field: name, Hidden: true}
				}
				want[name] = c
			}
		}
		e := accounts.Entry{Action: "x"}
		must(t, e.Change(before, after))
		for i, c := range e.Changes {
			if want[c.Field] != c || i > 0 && e.Changes[i-1].Field >= c.Field {
				t.Errorf("%v to %v: %+v, want %+v", before, after, c, want[c.Field])
			}
		}
		if len(e.Changes) != len(want) || e.Omitted != 0 {
			t.Fatalf("%v to %v: %+v, want %+v", before, after, e.Changes, want)
		}
	}
}

type nested struct {
	Name    string   `json:"name" audit:"hide"`
	List    []member `json:"list,omitempty"`
	Deep    *nested  `json:"deep,omitempty"`
	Webhook string   `json:"url,omitempty" audit:"hide"`
}

type member struct {
	Role  string `json:"role"`
	Email string `json:"email,omitempty"`
}

func TestChangesHideWhatIsSecretOrPersonal(t *testing.T) {
	const canary = "canary"
	for what, c := range map[string]struct {
		before, after any
		want          string
	}{
		"made":                 {nil, nested{Name: canary, List: []member{{Role: "owner"}}}, `[{"field":"list","after":"[{\"role\":\"owner\"}]"},{"field":"name","hidden":true}]`},
		"deleted":              {nested{Name: canary}, nil, `[{"field":"name","hidden":true}]`},
		"the same":             {nested{Name: canary}, nested{Name: canary}, `null`},
		"a pointer":            {&nested{Name: canary}, &nested{Name: "b"}, `[{"field":"name","hidden":true}]`},
		"deep":                 {nested{Deep: &nested{Webhook: canary}}, nested{Deep: &nested{Webhook: canary + "2"}}, `[{"field":"deep.url","hidden":true}]`},
		"in a list":            {nested{}, nested{List: []member{{Email: canary}}}, `[{"field":"list","hidden":true}]`},
		"of a name that tells": {map[string]any{"a": map[string]any{"clientSecret": canary}}, map[string]any{"a": map[string]any{"clientSecret": 1}}, `[{"field":"a.clientSecret","hidden":true}]`},
		"an object below one":  {nil, map[string]any{"tokens": map[string]any{"x": canary}}, `[{"field":"tokens","hidden":true}]`},
		"a big number":         {nil, map[string]any{"n": json.Number("12345678901234567890")}, `[{"field":"n","after":"12345678901234567890"}]`},
		"an object for a text": {map[string]any{"x": "text"}, map[string]any{"x": map[string]any{"y": 1}}, `[{"field":"x","before":"text","after":"{\"y\":1}"}]`},
	} {
		e := accounts.Entry{Action: "x"}
		must(t, e.Change(c.before, c.after))
		text, err := json.Marshal(e.Changes)
		must(t, err)
		if string(text) != c.want || strings.Contains(string(text), canary) {
			t.Errorf("%s: %s, want %s", what, text, c.want)
		}
	}
}

func TestChangesAreBounded(t *testing.T) {
	after := map[string]any{strings.Repeat("long", 100): "1"}
	for i := range 40 {
		after[fmt.Sprintf("f%02d", i)] = strings.Repeat("ü", i*20)
	}
	e := accounts.Entry{Action: "x"}
	must(t, e.Change(nil, after))
	size := 0
	for _, c := range e.Changes {
		size += len(c.Field) + len(c.Before) + len(c.After)
		if !utf8.ValidString(c.After) || len(c.After) > 1024 || len(c.Field) > 128 || c.Cut != (len(c.After) >= 1023) {
			t.Errorf("%s: %d bytes, cut %v", c.Field, len(c.After), c.Cut)
		}
	}
	if size > 4096 || e.Omitted == 0 || len(e.Changes)+e.Omitted != len(after)-1 { // f00 is empty
		t.Errorf("%d bytes, %d fields and %d omitted of %d", size, len(e.Changes), e.Omitted, len(after))
	}
	e = accounts.Entry{Action: "x"}
	must(t, e.Change(nil, map[string]string{"f": strings.Repeat("ü", 2000)}))
	if len(e.Changes) != 1 || !e.Changes[0].Cut || len(e.Changes[0].After) != 1024 {
		t.Errorf("%+v", e)
	}
	if err := e.Change(nil, make(chan int)); err == nil {
		t.Error("a channel has no JSON")
	}
}
