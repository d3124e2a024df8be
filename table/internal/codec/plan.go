// Package codec knows how Go structs are items: which attributes they have, and how each is written and read. Plans are
// made once per type, so that nothing is looked up while items are encoded. It is the kit's own.
package codec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Plan is what is known of a struct type: its attributes with the codec of each. It is made once per type.
type Plan struct {
	Type   reflect.Type
	Fields []Field
}

// Field is one attribute of a struct. Fields of embedded structs count as the struct's own.
type Field struct {
	Name      string
	Index     []int
	Type      reflect.Type
	OmitEmpty bool
	Form      string // the tag's, such as unixtime
	codec     *codec
}

// Field returns the attribute of a name, nil if there is none.
func (p *Plan) Field(name string) *Field {
	for i := range p.Fields {
		if p.Fields[i].Name == name {
			return &p.Fields[i]
		}
	}
	return nil
}

// Names returns the names of all attributes.
func (p *Plan) Names() []string {
	names := make([]string, len(p.Fields))
	for i, f := range p.Fields {
		names[i] = f.Name
	}
	return names
}

// A Compiler makes the plans of the types of one entity. It remembers types, so that a type may contain itself.
type Compiler struct {
	codecs   map[reflect.Type]*codec
	Problems []error // what cannot be stored, with the reason
}

// NewCompiler returns one that knows no types.
func NewCompiler() *Compiler {
	return &Compiler{codecs: map[reflect.Type]*codec{}}
}

func (c *Compiler) fail(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Errorf(format, args...))
}

// Plan reads the fields of a struct type. What counts is the attribute's name, not the Go name: of fields with one name
// the less deeply embedded is the attribute.
func (c *Compiler) Plan(t reflect.Type) *Plan {
	p := &Plan{Type: t}
	c.walk(p, t, nil)
	return p
}

// walk adds the fields of t, which stands at index in the plan's type.
func (c *Compiler) walk(p *Plan, t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(slices.Clone(index), i)
		tag := parseTag(sf)
		switch {
		case tag.name == "-":
		case tag.unknown != "":
			c.fail("type %s: field %s: unknown tag option %q", t, sf.Name, tag.unknown)
		case sf.Anonymous && !tag.named && sf.Type.Kind() == reflect.Pointer:
			c.fail("type %s: field %s: embed the value itself, not a pointer to it", t, sf.Name)
		case sf.Anonymous && !tag.named && flattened(sf.Type):
			c.walk(p, sf.Type, at)
		case sf.IsExported():
			c.add(p, Field{Name: tag.name, Index: at, Type: sf.Type, OmitEmpty: tag.omitEmpty, Form: tag.form, codec: c.tagged(t, sf, tag)})
		}
	}
}

func (c *Compiler) add(p *Plan, f Field) {
	same := p.Field(f.Name)
	switch {
	case same == nil:
		p.Fields = append(p.Fields, f)
	case len(same.Index) == len(f.Index):
		c.fail("type %s: two fields are called %q", p.Type, f.Name)
	case len(same.Index) > len(f.Index):
		*same = f
	}
}

// flattened reports whether the fields of an embedded value of this type stand for themselves.
func flattened(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != timeType && !custom(t)
}

// fieldTag is the meaning of a `dynamodbav` tag.
type fieldTag struct {
	name      string // the attribute's name; "-" for none
	named     bool   // the tag gives the name
	omitEmpty bool
	form      string // unixtime, unixms, stringset, numberset, binaryset or ""
	unknown   string
}

func parseTag(sf reflect.StructField) fieldTag {
	parts := strings.Split(sf.Tag.Get("dynamodbav"), ",")
	tag := fieldTag{name: parts[0], named: parts[0] != ""}
	if !tag.named {
		tag.name = sf.Name
	}
	for _, option := range parts[1:] {
		switch option {
		case "omitempty":
			tag.omitEmpty = true
		case "unixtime", "unixms", "stringset", "numberset", "binaryset":
			tag.form = option
		default:
			tag.unknown = option
		}
	}
	return tag
}

// tagged is the codec of a field: of its type, unless the tag asks for another form.
func (c *Compiler) tagged(t reflect.Type, sf reflect.StructField, tag fieldTag) *codec {
	switch tag.form {
	case "":
		return c.codec(sf.Type)
	case "unixtime", "unixms":
		if sf.Type == timeType {
			return unixCodec(tag.form == "unixms")
		}
	default:
		if set := setCodec(sf.Type, tag.form); set != nil {
			return set
		}
	}
	c.fail("type %s: field %s: tag option %q does not fit a %s", t, sf.Name, tag.form, sf.Type)
	return c.codec(sf.Type)
}
