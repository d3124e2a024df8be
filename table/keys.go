package table

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/table/internal/codec"
)

var timeType = reflect.TypeFor[time.Time]()

// A keyTemplate is a template bound to the fields of a struct type. It converts between keys and
// values.
type keyTemplate struct {
	template
	vars []*variable // parallel to parts; nil for a literal
}

type variableKind int

const (
	stringVariable variableKind = iota
	intVariable
	uintVariable
	timeVariable
)

// variable is a field of a struct used in a template.
type variable struct {
	name   string
	index  []int
	kind   variableKind
	width  int    // of a zero-padded integer; 0: no padding
	layout string // for a time
}

// bindTemplate binds the variables of a template to the fields of a struct. sorted means that the
// text is a sort key, in which integers must be padded. It returns all problems found.
func bindTemplate(what, src string, fields *codec.Plan, sorted bool) (*keyTemplate, []error) {
	t, err := parseTemplate(src)
	if err != nil {
		return nil, []error{fmt.Errorf("%s: %w", what, err)}
	}
	k := &keyTemplate{template: t, vars: make([]*variable, len(t.parts))}
	var problems []error
	for i, p := range t.parts {
		if p.name == "" {
			continue
		}
		f := fields.Field(p.name)
		if f == nil {
			problems = append(problems, fmt.Errorf("%s: template %q: unknown field {%s}; known: %s",
				what, src, p.name, strings.Join(fields.Names(), ", ")))
			continue
		}
		v, err := newVariable(p, f, sorted)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: template %q: %w", what, src, err))
			continue
		}
		k.vars[i] = v
	}
	return k, problems
}

func newVariable(p templatePart, f *codec.Field, sorted bool) (*variable, error) {
	v := &variable{name: p.name, index: f.Index}
	switch kind := f.Type.Kind(); {
	case f.Type == timeType:
		v.kind, v.layout = timeVariable, codec.TimeLayouts[p.format]
		if v.layout == "" {
			return nil, fmt.Errorf("time {%s} needs a fixed-width format: {%s:ms}, or one of s, minute, hour, day, month", p.name, p.name)
		}
	case kind == reflect.String:
		if p.format != "" {
			return nil, fmt.Errorf("{%s:%s}: a string has no format", p.name, p.format)
		}
	case kind >= reflect.Int && kind <= reflect.Int64, kind >= reflect.Uint && kind <= reflect.Uint64:
		v.kind = intVariable
		if kind >= reflect.Uint {
			v.kind = uintVariable
		}
		return v, v.setWidth(p, sorted)
	default:
		return nil, fmt.Errorf("{%s} is a %s: key variables are strings, integers and times", p.name, f.Type)
	}
	return v, nil
}

func (v *variable) setWidth(p templatePart, sorted bool) error {
	if p.format == "" {
		if sorted {
			return fmt.Errorf("integer {%s} is not padded, so 10 would sort before 9: write {%s:012}", p.name, p.name)
		}
		return nil
	}
	width, err := strconv.Atoi(p.format)
	if err != nil || p.format[0] != '0' || width < 1 || width > 20 {
		return fmt.Errorf("{%s:%s}: the format of an integer is 0 and a width of 1 to 20, like {%s:012}", p.name, p.format, p.name)
	}
	v.width = width
	return nil
}

// appendTo appends the key of the struct rv. missing is the first empty variable, in which case the
// key is incomplete.
func (k *keyTemplate) appendTo(dst []byte, rv reflect.Value) (key []byte, missing string, err error) {
	return k.appendParts(dst, rv, len(k.parts))
}

// appendParts appends the first n parts.
func (k *keyTemplate) appendParts(dst []byte, rv reflect.Value, n int) ([]byte, string, error) {
	if n > k.optional && k.vars[k.optional+1].zero(rv) {
		n = k.optional
	}
	for i := range n {
		v := k.vars[i]
		if v == nil {
			dst = append(dst, k.parts[i].lit...)
			continue
		}
		before := len(dst)
		var err error
		if dst, err = v.appendTo(dst, codec.At(rv, v.index)); err != nil {
			return dst, "", err
		}
		if len(dst) == before {
			return dst, v.name, nil
		}
	}
	return dst, "", nil
}

func (v *variable) zero(rv reflect.Value) bool {
	return codec.At(rv, v.index).IsZero()
}

// appendTo appends one value. It appends nothing for an empty string or a zero time.
func (v *variable) appendTo(dst []byte, f reflect.Value) ([]byte, error) {
	switch v.kind {
	case stringVariable:
		s := f.String()
		if strings.IndexByte(s, '#') >= 0 {
			return dst, fmt.Errorf("%w: %s = %q", ErrKeyValue, v.name, s)
		}
		return append(dst, s...), nil
	case intVariable:
		return v.appendInt(dst, f.Int())
	case uintVariable:
		return v.appendPadded(dst, strconv.AppendUint(nil, f.Uint(), 10))
	}
	t := *f.Addr().Interface().(*time.Time)
	if t.IsZero() {
		return dst, nil
	}
	if !codec.YearFits(t) {
		return dst, fmt.Errorf("%w: %s = %v: the year has more than four digits", ErrKeyFormat, v.name, t)
	}
	if v.layout == codec.MSLayout {
		return codec.AppendMS(dst, t), nil
	}
	return t.UTC().AppendFormat(dst, v.layout), nil
}

func (v *variable) appendInt(dst []byte, n int64) ([]byte, error) {
	if v.width == 0 {
		return strconv.AppendInt(dst, n, 10), nil
	}
	if n < 0 {
		return dst, fmt.Errorf("%w: %s = %d is negative and would sort wrongly", ErrKeyFormat, v.name, n)
	}
	var text [20]byte
	return v.appendPadded(dst, strconv.AppendInt(text[:0], n, 10))
}

func (v *variable) appendPadded(dst, text []byte) ([]byte, error) {
	if v.width > 0 && len(text) > v.width {
		return dst, fmt.Errorf("%w: %s = %s has more than %d digits", ErrKeyFormat, v.name, text, v.width)
	}
	for range v.width - len(text) {
		dst = append(dst, '0')
	}
	return append(dst, text...), nil
}

// parse sets the variables of the struct rv from a key.
func (k *keyTemplate) parse(key string, rv reflect.Value) error {
	rest, n := key, len(k.parts)
	for i := 0; i < n; i++ {
		if i == k.optional && rest == "" {
			return nil
		}
		v := k.vars[i]
		if v == nil {
			text, ok := strings.CutPrefix(rest, k.parts[i].lit)
			if !ok {
				return fmt.Errorf("%w: key %q does not match %q", ErrKeyFormat, key, k.src)
			}
			rest = text
			continue
		}
		end := k.valueEnd(rest, i)
		if end <= 0 {
			return fmt.Errorf("%w: key %q does not match %q", ErrKeyFormat, key, k.src)
		}
		if err := v.set(rest[:end], codec.At(rv, v.index)); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		rest = rest[end:]
	}
	if rest != "" {
		return fmt.Errorf("%w: key %q does not match %q", ErrKeyFormat, key, k.src)
	}
	return nil
}

// valueEnd returns the end in rest of the value of the variable at part i: where the following
// literal begins.
func (k *keyTemplate) valueEnd(rest string, i int) int {
	if i+1 == len(k.parts) {
		return len(rest)
	}
	end := strings.Index(rest, k.parts[i+1].lit)
	if end < 0 && i+1 == k.optional {
		return len(rest)
	}
	return end
}

func (v *variable) set(text string, f reflect.Value) error {
	switch v.kind {
	case stringVariable:
		if strings.IndexByte(text, '#') >= 0 {
			return fmt.Errorf("%w: %s = %q", ErrKeyValue, v.name, text)
		}
		f.SetString(text)
	case intVariable:
		n, err := strconv.ParseInt(text, 10, f.Type().Bits())
		if err != nil {
			return fmt.Errorf("%w: %s = %q is not an integer", ErrKeyFormat, v.name, text)
		}
		f.SetInt(n)
	case uintVariable:
		n, err := strconv.ParseUint(text, 10, f.Type().Bits())
		if err != nil {
			return fmt.Errorf("%w: %s = %q is not an integer", ErrKeyFormat, v.name, text)
		}
		f.SetUint(n)
	case timeVariable:
		t, err := v.parseTime(text)
		if err != nil {
			return err
		}
		*f.Addr().Interface().(*time.Time) = t
	}
	return nil
}

func (v *variable) parseTime(text string) (time.Time, error) {
	if v.layout == codec.MSLayout {
		if t, ok := codec.ParseMS(text); ok {
			return t, nil
		}
	}
	t, err := time.Parse(v.layout, text)
	if err != nil {
		return t, fmt.Errorf("%w: %s = %q is not a time like %s", ErrKeyFormat, v.name, text, v.layout)
	}
	return t.UTC(), nil
}
