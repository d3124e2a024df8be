package eventschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventschema"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

func parse(t testing.TB, text string) *eventschema.Schema {
	t.Helper()
	s, err := eventschema.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

const order = `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/order","type":"object","required":["total","lines"],"additionalProperties":false,
	"properties":{"total":{"type":"number","minimum":0},"lines":{"type":"array","items":{"$ref":"#/$defs/line"}},"a/b~c":{"pattern":"^x"}},
	"$defs":{"line":{"type":"object","required":["sku"],"properties":{"sku":{"type":"string","maxLength":5}}}}}`

// An event that does not match says where, and not what its value is.
func TestCheck(t *testing.T) {
	s := parse(t, order)
	for data, want := range map[string]string{
		`{"total":1.5,"lines":[{"sku":"abc"}]}`:                  "",
		`{"total":1.5,"lines":[{"sku":"abc"},{}]}`:               "/lines/1: missing property 'sku'",
		`{"total":-1,"lines":[]}`:                                "/total: it is below the minimum",
		`{"total":"secret","lines":[]}`:                          "/total: got string, want number",
		`{"total":1,"lines":[],"a/b~c":"secret"}`:                "/a~1b~0c: it does not match the pattern ^x",
		`{"total":1,"lines":[{"sku":"secret"}]}`:                 "/lines/0/sku: maxLength: got 6, want 5",
		`{"total":1,"lines":[],"colour":"secret"}`:               ": additional properties 'colour' not allowed",
		`{"total":1e999999999,"lines":[]}`:                       "/total: the number at /total is too long",
		`{"total":1,"lines":[` + strings.Repeat("9", 101) + `]}`: "/lines/0: the number at /lines/0 is too long",
		``:                              ": got null, want object",
		`{"total":`:                     ": it is not JSON",
		strings.Repeat("[", 1000000):    ": more than 64 nested objects and arrays",
		strings.Repeat(`{"a":`, 100000): ": more than 64 nested objects and arrays",
	} {
		err := s.Check([]byte(data))
		have, invalid := "", (*eventschema.Invalid)(nil)
		if errors.As(err, &invalid) {
			have = invalid.Violations[0].Path + ": " + invalid.Violations[0].Message
		}
		if have != want || (err != nil) != errors.Is(err, eventschema.ErrEvent) {
			t.Errorf("%.80s: %q, want %q", data, have, want)
		}
	}
	if err := parse(t, `{"items":{"anyOf":[`+strings.Repeat(`{"const":1},`, 900)+`{}]}}`).Check([]byte("[" + strings.Repeat("0,", 100000) + "0]")); !errors.Is(err, eventschema.ErrEvent) {
		t.Errorf("too much work: %v", err)
	}
}

// What is not a schema, or could take forever, is refused.
func TestParseRefuses(t *testing.T) {
	nested := strings.Repeat(`{"items":`, 40) + "{}" + strings.Repeat("}", 40)
	double := `{"$ref":"#/$defs/a0","$defs":{"z":true`
	for i := range 30 {
		double += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
	}
	for _, text := range []string{
		``, `1`, `"x"`, `[]`, `{`, `{"type":"strange"}`, `{"type":1}`, `{"minLength":-1}`, `{"properties":1}`, `{"properties":{"a":1}}`, `{"required":"a"}`, `{"pattern":"("}`,
		`{"$ref":"#"}`, `{"properties":{"a":{"$ref":"#"}}}`, `{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}`, `{"$ref":"#/$defs/none"}`, `{"$ref":1}`,
		`{"$ref":"https://example.com/schema"}`, `{"$ref":"file:///etc/passwd"}`, `{"$dynamicRef":"#x"}`, `{"items":{"$id":"x"}}`, `{"items":{"$anchor":"x"}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"minimum":1e999999999}`, nested, double + `,"a30":{}}}`,
		`{"anyOf":[` + strings.Repeat("{},", 1000) + `{}]}`, `"` + strings.Repeat("x", 65<<10) + `"`, strings.Repeat("[", 30000),
	} {
		if _, err := eventschema.Parse([]byte(text)); !errors.Is(err, eventschema.ErrSchema) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

// A schema replaces another one if it refuses nothing that was valid.
func TestReplaces(t *testing.T) {
	closed := func(properties string) string {
		return `{"type":"object","additionalProperties":false,"properties":{` + properties + `}}`
	}
	for _, c := range []struct{ old, new, at string }{
		{order, order, ""},
		{`true`, `{}`, ""}, {`{}`, `true`, ""}, {`false`, `{"type":"string"}`, ""}, {`{"type":"string"}`, `{"title":"A text","type":"string","description":"…"}`, ""},
		{`{"type":"integer"}`, `{"type":"number"}`, ""}, {`{"type":"string"}`, `{"type":["string","null"]}`, ""}, {`{"const":3}`, `{"type":"integer"}`, ""},
		{`{"enum":["a"]}`, `{"enum":["a","b"]}`, ""}, {`{"const":"a"}`, `{"enum":["a","b"]}`, ""}, {`{"minimum":1,"maxLength":4}`, `{"minimum":0,"maxLength":5}`, ""},
		{closed(`"a":{"type":"string"}`), closed(`"a":{"type":"string"},"b":{"type":"number"}`), ""},
		{closed(`"a":{"type":"string"}`), `{"type":"object","additionalProperties":{"type":"string"}}`, ""}, {`{"required":["a","b"]}`, `{"required":["a"]}`, ""},
		{`{"type":"string"}`, `{"anyOf":[{"type":"number"},{"type":"string"}]}`, ""}, {`{"allOf":[{"minimum":3},{"maximum":9}]}`, `{"allOf":[{"minimum":2}]}`, ""},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"null"},{"type":"string"},{"type":"number"}]}`, ""},

		{`{}`, `{"type":"object"}`, "/type"}, {`{"type":"number"}`, `{"type":"integer"}`, "/type"}, {`{"type":"string"}`, `false`, ""}, {`{"enum":["a","b"]}`, `{"enum":["a"]}`, "/enum"},
		{`{"enum":["a"]}`, `{"enum":["a"],"const":"b"}`, "/const"}, {`{"required":["a"]}`, `{"required":["a","b"]}`, "/required"},
		{`{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, "/properties/a/type"},
		{closed(`"a":{"type":"string"}`), closed(`"b":{}`), "/additionalProperties"}, {closed(`"a":{"maxLength":3}`), closed(`"a":{"maxLength":2}`), "/properties/a/maxLength"},
		{`{"items":{"type":"string"}}`, `{"items":{"type":"number"}}`, "/items/type"}, {`{}`, `{"pattern":"x"}`, "/pattern"}, {`{"pattern":"x"}`, `{"pattern":"y"}`, "/pattern"},
		{`{"if":{"const":1},"then":{"type":"number"}}`, `{"if":{"const":2},"then":{"type":"number"}}`, "/if"}, {`{"uniqueItems":false}`, `{"uniqueItems":true}`, "/uniqueItems"},
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"unevaluatedProperties":false}`, "/unevaluatedProperties"},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"}]}`, "/anyOf"},
		{`{"contains":{"const":1},"minContains":0}`, `{"contains":{"const":1}}`, "/contains"}, {`{"prefixItems":[true],"items":{"type":"string"}}`, `{"items":{"type":"string"}}`, "/items"},
		{`{"patternProperties":{"^a":{}},"additionalProperties":false}`, `{"additionalProperties":false}`, "/additionalProperties"},
	} {
		err := parse(t, c.new).Replaces(parse(t, c.old))
		at, refused := "", (*eventschema.Incompatible)(nil)
		if errors.As(err, &refused) {
			at = refused.Changes[0].Path
		}
		if at != c.at || (err == nil) != (c.at == "" && c.new != "false") {
			t.Errorf("%s after %s: %v, want %q", c.new, c.old, err, c.at)
		}
	}
}

// maker makes schemas and values at random, from few names, so that they often fit.
type maker struct{ *rand.Rand }

func (m maker) pick(of ...any) any { return of[m.IntN(len(of))] }

func (m maker) value(depth int) any {
	switch n := m.IntN(8); {
	case n < 2 && depth > 0:
		list := make([]any, m.IntN(3))
		for i := range list {
			list[i] = m.value(depth - 1)
		}
		return list
	case n < 5 && depth > 0:
		object := map[string]any{}
		for range m.IntN(4) {
			object[m.pick("a", "b", "c").(string)] = m.value(depth - 1)
		}
		return object
	}
	return m.pick(nil, true, "", "a", "ab", "abc", 0, 1, 2, 1.5, -1)
}

func (m maker) schema(depth int) any {
	if m.IntN(8) == 0 {
		return m.IntN(4) > 0
	}
	s := map[string]any{}
	for range m.IntN(4) {
		keyword := m.pick("type", "enum", "const", "required", "minimum", "maximum", "minLength", "maxLength", "minProperties", "maxItems", "pattern", "uniqueItems",
			"properties", "additionalProperties", "items", "prefixItems", "patternProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "contains", "minContains", "exclusiveMinimum").(string)
		switch keyword {
		case "type":
			s[keyword] = m.pick("object", "array", "string", "number", "integer", "null", "boolean", []any{"string", "null"}, []any{"integer", "object"})
		case "enum":
			s[keyword] = []any{m.value(1), "a", m.IntN(3)}
		case "const":
			s[keyword] = m.value(1)
		case "required":
			s[keyword] = m.pick([]any{"a"}, []any{"b"}, []any{"a", "b"})
		case "pattern":
			s[keyword] = m.pick("a", "^ab")
		case "uniqueItems":
			s[keyword] = m.IntN(2) == 0
		case "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minProperties", "maxItems", "minContains":
			s[keyword] = m.IntN(4)
		default:
			if depth > 0 {
				s[keyword] = m.applicator(keyword, depth-1)
			}
		}
	}
	return s
}

func (m maker) applicator(keyword string, depth int) any {
	switch keyword {
	case "properties":
		return map[string]any{m.pick("a", "b").(string): m.schema(depth), m.pick("b", "c").(string): m.schema(depth)}
	case "patternProperties":
		return map[string]any{m.pick("a", "^b").(string): m.schema(depth)}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return []any{m.schema(depth), m.schema(depth)}
	}
	return m.schema(depth)
}

// changed returns a copy of a schema with a random change somewhere.
func (m maker) changed(of any) any {
	from, ok := of.(map[string]any)
	if !ok || m.IntN(4) == 0 {
		other, ok := m.schema(1).(map[string]any)
		if !ok || from == nil {
			return m.schema(1)
		}
		to := map[string]any{}
		for keyword, v := range from {
			if m.IntN(4) > 0 {
				to[keyword] = v
			}
		}
		for keyword, v := range other {
			to[keyword] = v
		}
		return to
	}
	to := map[string]any{}
	for keyword, v := range from {
		switch v := v.(type) {
		case map[string]any:
			if keyword == "properties" {
				to[keyword] = map[string]any{"a": m.changed(v["a"]), "b": v["b"], "c": v["c"]}
				for name, s := range to[keyword].(map[string]any) {
					if s == nil {
						delete(to[keyword].(map[string]any), name)
					}
				}
				continue
			}
			if keyword != "patternProperties" && keyword != "const" {
				to[keyword] = m.changed(v)
				continue
			}
		case []any:
			if len(v) == 2 && strings.HasSuffix(keyword, "Of") {
				to[keyword] = []any{v[1], m.changed(v[0])}
				continue
			}
		}
		to[keyword] = of.(map[string]any)[keyword]
	}
	return to
}

// Whatever the schemas are: an event that the old one accepts is accepted by one that replaces it.
func TestReplacesAgainstEvents(t *testing.T) {
	replaced := 0
	for seed := range seeds.Each(t, 20) {
		m := maker{rand.New(rand.NewPCG(seed, 5))}
		for range 300 {
			before := m.schema(2)
			text, _ := json.Marshal(before)
			changed, _ := json.Marshal(m.changed(before))
			old, err := eventschema.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			now, err := eventschema.Parse(changed)
			if err != nil {
				t.Fatalf("%s: %v", changed, err)
			}
			if now.Replaces(old) != nil {
				continue
			}
			if string(text) != string(changed) {
				replaced++
			}
			for range 60 {
				data, _ := json.Marshal(m.value(3))
				if old.Check(data) == nil && now.Check(data) != nil {
					t.Fatalf("%s is valid with %s, and not with %s: %v", data, text, changed, now.Check(data))
				}
			}
		}
	}
	if replaced == 0 {
		t.Error("no schema replaces another one")
	}
}

type placed struct {
	Total float64  `json:"total" jsonschema:"in euro"`
	Note  string   `json:"note,omitempty"`
	Lines []string `json:"lines,omitempty"`
}

// Schemas of Go types take what is encoded from them. With another optional field, the schema still
// replaces the first one.
func TestOf(t *testing.T) {
	s, err := eventschema.Of(reflect.TypeFor[placed]())
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(placed{Total: 3})
	for text, valid := range map[string]bool{string(data): true, `{"total":3,"note":"x","lines":["a"]}`: true, `{}`: false, `{"total":3,"more":1}`: false, `{"total":"3"}`: false} {
		if err := s.Check([]byte(text)); (err == nil) != valid {
			t.Errorf("%s: %v", text, err)
		}
	}
	more, err := eventschema.Of(reflect.TypeFor[struct {
		placed
		Currency string `json:"currency,omitempty"`
	}]())
	if err != nil {
		t.Fatal(err)
	}
	if err := more.Replaces(s); err != nil {
		t.Errorf("%s after %s: %v", more.Text(), s.Text(), err)
	}
	if _, err := eventschema.Of(reflect.TypeFor[func()]()); !errors.Is(err, eventschema.ErrSchema) {
		t.Errorf("a function: %v", err)
	}
}

// A stored schema can only be replaced by a compatible one. A new version need not be compatible.
// Events are checked against the version that they name.
func TestStore(t *testing.T) {
	db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	tbl := table.New(db, "onefold", table.Options{Clock: func() time.Time { return now }})
	if err := table.MustSchema("test", eventschema.Tables).Ensure(t.Context(), db, "onefold"); err != nil {
		t.Fatal(err)
	}
	put := func(version int, text string, changed bool, want error) {
		t.Helper()
		got, err := eventschema.Put(t.Context(), tbl, eventschema.Key{EventType: "Placed", Version: version}, parse(t, text))
		if got != changed || !errors.Is(err, want) {
			t.Errorf("version %d: %v, %v; want %v, %v", version, got, err, changed, want)
		}
	}
	c, other := eventschema.NewChecker(tbl), eventschema.NewChecker(tbl)
	check := func(c *eventschema.Checker, want error, version int, data string) {
		t.Helper()
		err := c.Check(t.Context(), []eventstore.NewEvent{{Type: "Other", Payload: []byte("1")}, {Type: "Placed", Schema: version, Payload: []byte(data)}})
		refused := (*eventschema.Refused)(nil)
		if !errors.Is(err, want) || want != nil && (!errors.As(err, &refused) || refused.Index != 1) {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
	check(other, nil, 0, `1`)
	put(1, `{"type":"integer"}`, true, nil)
	put(1, `{ "type": "integer" }`, false, nil)
	put(1, `{"type":"string"}`, false, eventschema.ErrIncompatible)
	put(0, `{}`, false, eventschema.ErrSchema)
	check(c, nil, 0, `1`)
	check(c, eventschema.ErrEvent, 1, `"x"`)
	check(c, eventschema.ErrNotFound, 2, `"x"`)
	put(2, `{"type":"string"}`, true, nil)
	check(c, nil, 2, `"x"`)
	check(c, nil, 1, `2`)
	put(1, `{"type":"number"}`, true, nil)
	check(other, nil, 1, `"x"`) // it remembers that there was none
	now = now.Add(3 * time.Second)
	check(other, eventschema.ErrEvent, 1, `"x"`)
	check(c, nil, 1, `1.5`)
	for version := 3; version <= 100; version++ {
		put(version, `true`, true, nil)
	}
	put(100, `true`, false, nil)
	put(99, `{}`, true, nil)
	put(101, `true`, false, eventschema.ErrSchema)
	if _, err := eventschema.Versions(t.Context(), tbl, "Other"); !errors.Is(err, eventschema.ErrNotFound) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(order), []byte(`{"total":1,"lines":[]}`))
	f.Add([]byte(`{"$ref":"#/$defs/~0","$defs":{"~":true}}`), []byte(`[1e5]`))
	f.Fuzz(func(t *testing.T, text, data []byte) {
		s, err := eventschema.Parse(text)
		if err != nil {
			return
		}
		_ = s.Check(data)
		if err := s.Replaces(s); err != nil {
			t.Errorf("it does not replace itself: %v", err)
		}
		if again, err := eventschema.Parse(s.Text()); err != nil || again.Replaces(s) != nil {
			t.Errorf("it cannot be read back: %v", err)
		}
	})
}
