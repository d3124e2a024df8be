package dimension

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// leaves returns the texts in a struct, by the path of their fields.
func leaves(v reflect.Value, all map[*string]string, path string) map[*string]string {
	for i := range v.NumField() {
		f, name := v.Field(i), path+"."+v.Type().Field(i).Name
		if f.Kind() == reflect.Struct {
			leaves(f, all, name)
		} else {
			all[f.Addr().Interface().(*string)] = name
		}
	}
	return all
}

// Each text of Traits is the text of one dimension, and each reported text reaches its trait.
func TestTraitsAreDeclared(t *testing.T) {
	var traits Traits
	left := leaves(reflect.ValueOf(&traits).Elem(), map[*string]string{}, "Traits")
	columns := map[byte]bool{}
	for _, d := range TraitDefs {
		of := d.Of(&traits)
		if _, ok := left[of]; !ok || d.Meaning == "" || d.Column == 0 || columns[d.Column] {
			t.Errorf("%s: another dimension has its text or its column, or it has no column or meaning", d.Name)
		}
		delete(left, of)
		columns[d.Column] = true
	}
	for _, field := range left {
		t.Errorf("no dimension is declared for %s", field)
	}
}

func TestReported(t *testing.T) {
	var r Reported
	left := leaves(reflect.ValueOf(&r).Elem(), map[*string]string{}, "Reported")
	for _, d := range TraitDefs {
		if d.Sent == nil {
			continue
		}
		delete(left, d.Sent(&r))
		r = Reported{}
		*d.Sent(&r) = string(d.Name)
		if traits := (Traits{Client: r.Client()}); *d.Of(&traits) != string(d.Name) {
			t.Errorf("%s is not in Reported.Client", d.Name)
		}
	}
	for _, field := range left {
		t.Errorf("no dimension is declared for %s", field)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Reported]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		i := slices.IndexFunc(TraitDefs, func(d Def) bool { return string(d.Name) == name })
		if i < 0 || f.Tag.Get("maxLength") != strconv.Itoa(TraitDefs[i].MaxSent) {
			t.Errorf("%s: the name or limit in the tag is not the declared one", f.Name)
		}
	}
}

// The fields of Client have the names of dimensions in JSON, a limit, and are replaced by Map.
func TestClient(t *testing.T) {
	var c Client
	n := 0
	c.Map(func(string) string { n++; return "x" })
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Client]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains(Names, Name(name)) || f.Tag.Get("maxLength") == "" {
			t.Errorf("%s has no JSON name of a dimension, or no maximum length", f.Name)
		}
		if reflect.ValueOf(c).FieldByIndex(f.Index).String() != "x" {
			t.Errorf("Map does not replace %s", f.Name)
		}
		n--
	}
	if n != 0 {
		t.Error("Map replaces a text twice")
	}
}
