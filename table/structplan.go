package table

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A structPlan is what is known of a struct type: its attributes with the codec of each. It is made once per type.
type structPlan struct {
	typ    reflect.Type
	fields []structField
}

// structField is one attribute of a struct. Fields of embedded structs count as the struct's own.
type structField struct {
	name      string
	index     []int
	typ       reflect.Type
	omitEmpty bool
	form      string // the tag's, such as unixtime
	codec     *codec
}

func (p *structPlan) field(name string) *structField {
	for i := range p.fields {
		if p.fields[i].name == name {
			return &p.fields[i]
		}
	}
	return nil
}

func (p *structPlan) names() []string {
	names := make([]string, len(p.fields))
	for i, f := range p.fields {
		names[i] = f.name
	}
	return names
}

// A compiler makes the plans of the types of one entity. It remembers types, so that a type may contain itself.
type compiler struct {
	codecs   map[reflect.Type]*codec
	problems []error
}

func newCompiler() *compiler {
	return &compiler{codecs: map[reflect.Type]*codec{}}
}

func (c *compiler) fail(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// plan reads the fields of a struct type. What counts is the attribute's name, not the Go name: of fields with one name
// the less deeply embedded is the attribute.
func (c *compiler) plan(t reflect.Type) *structPlan {
	p := &structPlan{typ: t}
	c.walk(p, t, nil)
	return p
}

// walk adds the fields of t, which stands at index in the plan's type.
func (c *compiler) walk(p *structPlan, t reflect.Type, index []int) {
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
			c.add(p, structField{name: tag.name, index: at, typ: sf.Type, omitEmpty: tag.omitEmpty, form: tag.form, codec: c.tagged(t, sf, tag)})
		}
	}
}

func (c *compiler) add(p *structPlan, f structField) {
	same := p.field(f.name)
	switch {
	case same == nil:
		p.fields = append(p.fields, f)
	case len(same.index) == len(f.index):
		c.fail("type %s: two fields are called %q", p.typ, f.name)
	case len(same.index) > len(f.index):
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
func (c *compiler) tagged(t reflect.Type, sf reflect.StructField, tag fieldTag) *codec {
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
