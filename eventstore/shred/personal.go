package shred

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/onefold/onefold/eventstore"
)

// Personal declares the personal fields of an event type whose payloads are JSON objects. A path
// names a field by the names that lead to it, such as address.street; * stands for each element of
// an array or field of an object. If events are about several people, declare one Personal for
// each.
type Personal struct {
	Event    string   // event type
	Subject  string   // path of the person's ID, a text or number; it is stored unencrypted, so do not use an address
	Fields   []string // paths of personal fields
	Metadata []string // personal entries of the envelope's metadata
}

// rule is a compiled Personal.
type rule struct {
	subject  []string
	fields   [][]string
	metadata []string
}

func (p *Personal) compile() (rule, error) {
	declared := eventstore.PersonalRule(*p)
	if err := declared.Check(); err != nil {
		return rule{}, err
	}
	r := rule{subject: strings.Split(p.Subject, "."), metadata: p.Metadata}
	for _, f := range p.Fields {
		r.fields = append(r.fields, strings.Split(f, "."))
	}
	return r, nil
}

// Of derives the declaration from struct tags of the payload's Go type: `personal:"subject"` on the
// field with the person's ID, `personal:"yes"` on personal fields, including everything in them.
// Names are those of encoding/json. Errors: eventstore.ErrInvalid.
func Of[T any](eventType string) (Personal, error) {
	p := Personal{Event: eventType}
	if err := p.read(reflect.TypeFor[T](), nil, nil); err != nil {
		return p, err
	}
	_, err := p.compile()
	return p, err
}

// read adds the fields of a type at a path. within lists the enclosing types, to stop at recursive
// ones.
func (p *Personal) read(t reflect.Type, path []string, within []reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if slices.Contains(within, t) {
		return nil
	}
	within = append(slices.Clone(within), t)
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return p.read(t.Elem(), append(slices.Clone(path), "*"), within)
	case reflect.Struct:
	default:
		return nil
	}
	for i := range t.NumField() {
		if err := p.field(t.Field(i), path, within); err != nil {
			return err
		}
	}
	return nil
}

func (p *Personal) field(f reflect.StructField, path []string, within []reflect.Type) error {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if !f.IsExported() && !f.Anonymous || name == "-" {
		return nil
	}
	at := slices.Clone(path)
	if name == "" && !f.Anonymous {
		name = f.Name
	}
	if name != "" {
		at = append(at, name)
	}
	switch tag := f.Tag.Get("personal"); tag {
	case "":
		return p.read(f.Type, at, within)
	case "yes":
		p.Fields = append(p.Fields, strings.Join(at, "."))
	case "subject":
		if p.Subject != "" {
			return fmt.Errorf("%w: event type %q has two subjects; declare each separately", eventstore.ErrInvalid, p.Event)
		}
		p.Subject = strings.Join(at, ".")
	default:
		return fmt.Errorf(`%w: the tag personal:%q of %s is neither "subject" nor "yes"`, eventstore.ErrInvalid, tag, f.Name)
	}
	return nil
}
