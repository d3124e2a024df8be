package table

import (
	"fmt"
	"reflect"
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

// plan reads the fields of a struct type. Of fields with one name the less deeply embedded counts, as in Go.
func (c *compiler) plan(t reflect.Type) *structPlan {
	p := &structPlan{typ: t}
	depth := map[string]int{}
	for _, sf := range reflect.VisibleFields(t) {
		tag, skip := c.fieldTag(t, sf)
		if skip {
			continue
		}
		if at, ok := depth[tag.name]; ok {
			if at == len(sf.Index) {
				c.fail("type %s: two fields are called %q", t, tag.name)
			}
			if at <= len(sf.Index) {
				continue
			}
			p.remove(tag.name)
		}
		depth[tag.name] = len(sf.Index)
		p.fields = append(p.fields, structField{
			name: tag.name, index: sf.Index, typ: sf.Type, omitEmpty: tag.omitEmpty, codec: c.tagged(t, sf, tag),
		})
	}
	return p
}

func (p *structPlan) remove(name string) {
	for i := range p.fields {
		if p.fields[i].name == name {
			p.fields = append(p.fields[:i], p.fields[i+1:]...)
			return
		}
	}
}

// fieldTag reads a field's tag and says whether the field is no attribute of its own.
func (c *compiler) fieldTag(t reflect.Type, sf reflect.StructField) (tag fieldTag, skip bool) {
	tag = parseTag(sf)
	if tag.unknown != "" {
		c.fail("type %s: field %s: unknown tag option %q", t, sf.Name, tag.unknown)
	}
	if promoted(t, sf.Index) {
		return tag, true
	}
	if sf.Anonymous && !tag.named {
		if sf.Type.Kind() == reflect.Pointer && sf.Type.Elem().Kind() == reflect.Struct {
			c.fail("type %s: field %s: embed the struct itself, not a pointer to it", t, sf.Name)
			return tag, true
		}
		if flattened(sf.Type) {
			return tag, true
		}
	}
	return tag, !sf.IsExported() || tag.name == "-"
}

// flattened reports whether the fields of an embedded value of this type stand for themselves.
func flattened(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != timeType && !custom(t)
}

// promoted reports whether a field belongs to an embedded struct that is an attribute as a whole, or none at all.
func promoted(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		sf := t.FieldByIndex(index[:i])
		tag := parseTag(sf)
		if tag.named || tag.name == "-" || !flattened(sf.Type) {
			return true
		}
	}
	return false
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
