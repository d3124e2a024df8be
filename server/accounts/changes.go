package accounts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits on what an entry keeps of a change.
const (
	maxChanges = 4 << 10 // bytes of an entry's fields and values together
	maxValue   = 1 << 10 // bytes of a value
	maxField   = 128     // bytes of a field's name
)

// hiddenWords hide the values of a field if its name, in lower case, contains one of them. Other
// fields are hidden by the tag `audit:"hide"`.
var hiddenWords = []string{"password", "passphrase", "secret", "token", "hash", "totp", "recovery", "credential", "csrf", "cookie", "email", "apikey", "authorization", "signature"}

// Change sets the entry's changes from the states before and after: the fields of their JSON that
// differ. nil stands for something that does not exist. Values of secret or personal fields are not
// kept. Fields are kept in the order of their names as long as they fit into 4 KiB; values longer
// than 1 KiB are cut. Errors: those of encoding/json.
func (e *Entry) Change(before, after any) error {
	was, err := fieldsOf(before)
	if err != nil {
		return fmt.Errorf("accounts: encode the state before %s: %w", e.Action, err)
	}
	is, err := fieldsOf(after)
	if err != nil {
		return fmt.Errorf("accounts: encode the state after %s: %w", e.Action, err)
	}
	hidden := map[string]bool{}
	markHidden(reflect.TypeOf(before), hidden, 0)
	markHidden(reflect.TypeOf(after), hidden, 0)
	e.diff(nil, was, is, hidden)
	return nil
}

// fieldsOf converts a value to generic JSON. Numbers keep their text.
func fieldsOf(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return tree, d.Decode(&tree)
}

// markHidden collects the JSON names of fields with the tag `audit:"hide"`, down to the depth that
// API bodies have.
func markHidden(t reflect.Type, hidden map[string]bool, depth int) {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || depth > 8 {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("audit") == "hide" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			hidden[cmp.Or(name, f.Name)] = true
		}
		markHidden(f.Type, hidden, depth+1)
	}
}

// diff adds the differences below a path. Objects are compared field by field, everything else as a
// whole.
func (e *Entry) diff(path []string, before, after any, hidden map[string]bool) {
	was, wasObject := before.(map[string]any)
	is, isObject := after.(map[string]any)
	hide := len(path) > 0 && isHidden(path[len(path)-1], hidden)
	if !hide && (wasObject || isObject) && (wasObject || before == nil) && (isObject || after == nil) {
		names := maps.Clone(was)
		if names == nil {
			names = map[string]any{}
		}
		maps.Copy(names, is)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			e.diff(append(path, name), was[name], is[name], hidden)
		}
		return
	}
	from, to := textOf(before), textOf(after)
	if from == to {
		return
	}
	c := Change{Field: cutAt(strings.Join(path, "."), maxField), Before: cutAt(from, maxValue), After: cutAt(to, maxValue)}
	c.Cut = c.Before != from || c.After != to
	if hide || hasHidden(before, hidden) || hasHidden(after, hidden) {
		c = Change{Field: c.Field, Hidden: true}
	}
	e.add(c)
}

// add adds a change if there is room for it.
func (e *Entry) add(c Change) {
	size := len(c.Field) + len(c.Before) + len(c.After)
	for _, had := range e.Changes {
		size += len(had.Field) + len(had.Before) + len(had.After)
	}
	if e.Omitted > 0 || size > maxChanges {
		e.Omitted++
		return
	}
	e.Changes = append(e.Changes, c)
}

// Hide records that a secret was changed.
func (e *Entry) Hide(field string) { e.add(Change{Field: field, Hidden: true}) }

func isHidden(name string, hidden map[string]bool) bool {
	lower := strings.ToLower(name)
	return hidden[name] || slices.ContainsFunc(hiddenWords, func(word string) bool { return strings.Contains(lower, word) })
}

// hasHidden reports whether a list, which is compared as a whole, contains a hidden field.
func hasHidden(v any, hidden map[string]bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return hasHidden(one, hidden) })
	case map[string]any:
		for name, value := range v {
			if isHidden(name, hidden) && textOf(value) != "" || hasHidden(value, hidden) {
				return true
			}
		}
	}
	return false
}

// textOf returns a value as an entry keeps it. Absent, null and empty values are "".
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	case []any:
		if len(v) == 0 {
			return ""
		}
	case map[string]any:
		if len(v) == 0 {
			return ""
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // unreachable: v was decoded from JSON
		return err.Error()
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// cutAt returns the longest prefix of text with at most n bytes that ends between characters.
func cutAt(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
