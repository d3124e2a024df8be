// Package codec maps Go structs to items: it determines the attributes of a struct and how each is
// encoded and decoded. Plans are made once per type, so that encoding an item needs no lookups.
package codec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Plan lists the attributes of a struct type with their codecs. It is made once per type.
type Plan struct {
	Type   reflect.Type
	Fields []Field
}

// Field is one attribute of a struct. Fields of embedded structs count as fields of the struct
// itself.
type Field struct {
	Name      string
	Index     []int
	Type      reflect.Type
	OmitEmpty bool
	Form      string // form from the tag, such as unixtime
	codec     *codec
}

// Field returns the attribute with the given name, or nil.
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

// A Compiler makes the plans for the types of one entity. It remembers types, so that a type may
// contain itself.
type Compiler struct {
	codecs   map[reflect.Type]*codec
	Problems []error // why some types or fields cannot be stored
}

// NewCompiler returns a Compiler that has seen no types.
func NewCompiler() *Compiler {
	return &Compiler{codecs: map[reflect.Type]*codec{}}
}

func (c *Compiler) fail(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Errorf(format, args...))
}

// Plan returns the plan of a struct type. Fields are matched by attribute name, not by Go name:
// among fields with the same name, the least deeply embedded one is the attribute. Problems are
// added to c.Problems.
func (c *Compiler) Plan(t reflect.Type) *Plan {
	p := &Plan{Type: t}
	c.walk(p, t, nil)
	return p
}

// walk adds the fields of t, which is at index in the plan's type.
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

// flattened reports whether the fields of an embedded value of this type become attributes of the
// outer struct.
func flattened(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != timeType && !custom(t)
}

// fieldTag is a parsed `dynamodbav` tag.
type fieldTag struct {
	name      string // name of the attribute, "-" for none
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

// tagged returns the codec of a field: that of its type, unless the tag asks for another form.
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
