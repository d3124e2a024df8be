package table

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onefold/onefold/table/internal/codec"
)

// pattern does the work of an access pattern. Like entity, it knows Go types only by reflection.
type pattern struct {
	id, question string
	operation    string // Query, GetItem or PutItem
	entity       *entity
	index        string
	desc         bool
	consistent   bool
	fanOut       string
	over         func(in any) []int // numbers of fanOut; nil without one
	filter       func(in any) Cond  // nil for all items
	load         Load

	in       *codec.Plan
	pk       *keyTemplate // over In
	fan      int          // index in pk's parts of the shard; -1: no fan-out
	fanVar   *variable
	prefix   *keyTemplate // over In; either prefix, or from and to
	from, to *keyTemplate
	exact    bool // prefix is a complete key
	pkAttr   string
	skAttr   string
	ownPK    *keyTemplate // the entity's
	ownSK    *keyTemplate
	problems []error
	err      error

	columns *columns // nil for an invalid pattern

	// For documentation. Inputs are pointers.
	explainAny func(*Table, any) ([]Request, error)
	runAny     func(ctx context.Context, t *Table, in any, most int) ([]Item, error)
	example    func(any)
	source     string // where it is defined
	told       string // condition of an Operation, in words
}

// rangeTemplates are the templates that select sort keys.
type rangeTemplates struct{ prefix, from, to string }

func (p *pattern) fail(problems ...error) {
	for _, err := range problems {
		p.problems = append(p.problems, fmt.Errorf("pattern %s (%s): %w", p.id, p.entity.name, err))
	}
}

func (p *pattern) seal() {
	if p.id == "" {
		p.fail(errors.New("the ID is missing"))
	}
	switch {
	case p.entity.err != nil:
		p.err = p.entity.err
	case len(p.problems) > 0:
		p.err = fmt.Errorf("table: %w", errors.Join(p.problems...))
	}
}

// failed adds the pattern to an error.
func (p *pattern) failed(err error) error {
	return fmt.Errorf("table: pattern %s (%s): %w", p.id, p.entity.name, err)
}

// describe binds the templates to the input and checks them against the entity's own.
func (p *pattern) describe(in reflect.Type, pk string, r rangeTemplates) {
	p.fan, p.pkAttr, p.skAttr, p.ownPK, p.ownSK = -1, AttrPK, AttrSK, p.entity.pk, p.entity.sk
	if p.index != "" {
		x := p.entity.index(p.index)
		if x == nil {
			p.fail(fmt.Errorf("the entity is not on index %q", p.index))
			return
		}
		p.pkAttr, p.skAttr, p.ownPK, p.ownSK = x.pkAttr, x.skAttr, x.pk, x.sk
	}
	if p.ownPK == nil || p.ownSK == nil {
		return // reported by the entity
	}
	if in.Kind() != reflect.Struct {
		p.fail(fmt.Errorf("its input %s must be a struct", in))
		return
	}
	c := codec.NewCompiler()
	p.in = c.Plan(in)
	p.fail(c.Problems...)
	p.bindPK(pk)
	p.bindRange(r)
}

func (p *pattern) bindPK(src string) {
	if src == "" {
		src = p.ownPK.src
	}
	plan, fan := p.in, p.fanPart(src)
	if fan != nil { // the shard comes from Over, not from the input: bind it as an integer
		plan = &codec.Plan{Fields: append([]codec.Field{*fan}, p.in.Fields...)}
	}
	k, problems := bindTemplate("PK", src, plan, false)
	p.fail(problems...)
	if len(problems) > 0 {
		return
	}
	if err := k.agrees(p.ownPK, true); err != nil {
		p.fail(fmt.Errorf("PK: %w", err))
	}
	for i, v := range k.vars {
		if v != nil && fan != nil && v.name == p.fanOut {
			p.fan, p.fanVar = i, v
		}
	}
	p.pk = k
}

// fanPart returns a stand-in input field for the fan-out variable.
func (p *pattern) fanPart(src string) *codec.Field {
	if p.fanOut == "" {
		return nil
	}
	t, err := parseTemplate(src)
	if err != nil || !slices.Contains(t.variables(), p.fanOut) {
		p.fail(fmt.Errorf("FanOut %q is not a variable of PK %q", p.fanOut, src))
		return nil
	}
	return &codec.Field{Name: p.fanOut, Type: reflect.TypeFor[int]()}
}

func (p *pattern) bindRange(r rangeTemplates) {
	switch {
	case r.prefix != "" && (r.from != "" || r.to != ""):
		p.fail(errors.New("set Prefix, or From and To, not both"))
	case r.from != "" || r.to != "":
		p.from, p.to = p.bindSK("From", r.from), p.bindSK("To", r.to)
	case r.prefix != "":
		if p.prefix = p.bindSK("Prefix", r.prefix); p.prefix != nil {
			p.checkPrefix()
		}
	default:
		head := p.ownSK.head()
		p.exact = p.ownSK.literal()
		lit := template{src: head, parts: []templatePart{{lit: head}}, optional: 1}
		p.prefix = &keyTemplate{template: lit, vars: make([]*variable, 1)}
	}
}

func (p *pattern) bindSK(what, src string) *keyTemplate {
	if src == "" {
		return nil
	}
	k, problems := bindTemplate(what, src, p.in, true)
	p.fail(problems...)
	if len(problems) > 0 {
		return nil
	}
	if err := k.agrees(p.ownSK, false); err != nil {
		p.fail(fmt.Errorf("%s: %w", what, err))
	}
	return k
}

// checkPrefix determines whether the prefix is a complete key. It rejects prefixes whose last value
// could be the beginning of a longer one: begins_with on VISITOR#{visitorId} finds both visitor ab
// and visitor abc.
func (p *pattern) checkPrefix() {
	if p.exact = p.prefix.agrees(p.ownSK, true) == nil; p.exact {
		return
	}
	if last := p.prefix.vars[len(p.prefix.vars)-1]; last != nil && last.kind == stringVariable {
		p.fail(fmt.Errorf("the template %q of Prefix ends in {%s}, which would also find values that begin with it: end it with '#'",
			p.prefix.src, last.name))
	}
}

// unused reports the fields of the input that no template uses. Callers would set them without
// effect.
func (p *pattern) unused() []error {
	if p.in == nil || p.err != nil || len(p.problems) > 0 {
		return nil
	}
	var used []string
	for _, k := range []*keyTemplate{p.pk, p.prefix, p.from, p.to} {
		if k != nil {
			used = append(used, k.variables()...)
		}
	}
	var problems []error
	for _, name := range p.in.Names() {
		if !slices.Contains(used, name) {
			problems = append(problems, fmt.Errorf("input field %q of %s is in none of its key templates, which have: %s",
				name, p.in.Type, strings.Join(used, ", ")))
		}
	}
	return problems
}

// agrees checks that a pattern's template k can only find keys of the entity's template own: the
// same text and the same types of values in the same places. A partition key template must be
// complete; a sort key template may end early.
func (k *keyTemplate) agrees(own *keyTemplate, whole bool) error {
	mine, theirs := k.segments(), own.segments()
	if len(mine) > len(theirs) || whole && len(mine) < len(theirs) {
		return fmt.Errorf("%q is not of the form of the entity's %q", k.src, own.src)
	}
	for i, s := range mine {
		last := !whole && i == len(mine)-1
		if !s.fits(theirs[i], last) {
			return fmt.Errorf("%q is not of the form of the entity's %q: they part at %q", k.src, own.src, s.String())
		}
	}
	mv, tv := k.bySegment(), own.bySegment()
	for i, v := range mv {
		if v == nil || tv[i] == nil {
			continue
		}
		if err := v.agrees(tv[i], !whole && i == len(mv)-1); err != nil {
			return fmt.Errorf("%q against the entity's %q: %w", k.src, own.src, err)
		}
	}
	return nil
}

// bySegment returns the variables of the segments, nil for a segment without one.
func (k *keyTemplate) bySegment() []*variable {
	vs := make([]*variable, 1)
	for i, p := range k.parts {
		if v := k.vars[i]; v != nil {
			vs[len(vs)-1] = v
		}
		for range strings.Count(p.lit, "#") {
			vs = append(vs, nil)
		}
	}
	return vs
}

// fits reports whether segment s of a pattern only matches text of the entity's segment o. The last
// one may be a prefix.
func (s segment) fits(o segment, last bool) bool {
	switch {
	case s.variable && o.variable:
		return s.before == o.before && (s.after == o.after || last && strings.HasPrefix(o.after, s.after))
	case s.variable:
		return false
	case o.variable:
		return o.matches(s.before) || last && eitherPrefix(s.before, o.before)
	}
	return s.before == o.before || last && strings.HasPrefix(o.before, s.before)
}

func (s segment) String() string {
	if s.variable {
		return s.before + "{…}" + s.after
	}
	return s.before
}

// agrees checks that values of v are formatted like those of the entity's variable o. A time at the
// end of a range may be coarser, because its text is then a prefix of the finer one.
func (v *variable) agrees(o *variable, last bool) error {
	integer := func(k variableKind) bool { return k == intVariable || k == uintVariable }
	switch {
	case integer(v.kind) != integer(o.kind):
		return fmt.Errorf("{%s} and {%s} have different kinds: an integer is compared with text", v.name, o.name)
	case v.width != o.width:
		return fmt.Errorf("{%s} and {%s} are padded differently: %d and %d digits", v.name, o.name, v.width, o.width)
	case v.kind == timeVariable && o.kind == timeVariable && v.layout != o.layout:
		if !last || !strings.HasPrefix(strings.TrimSuffix(o.layout, "Z"), strings.TrimSuffix(v.layout, "Z")) || strings.HasSuffix(v.layout, "Z") {
			return fmt.Errorf("{%s} and {%s} are times with different formats", v.name, o.name)
		}
	case v.kind == stringVariable && o.kind == timeVariable && !last:
		return fmt.Errorf("{%s} is text where {%s} is a time", v.name, o.name)
	}
	return nil
}

// partition returns the partition key for the input rv, in shard n.
func (p *pattern) partition(rv reflect.Value, n int) (string, error) {
	var buf [192]byte
	if p.fan < 0 {
		pk, missing, err := p.pk.appendTo(buf[:0], rv)
		return string(pk), p.entity.keyError(missing, err)
	}
	k, parts := p.pk, len(p.pk.parts)
	if p.fan > k.optional && n == 0 {
		parts = k.optional
	}
	key := buf[:0]
	for i := range parts {
		var err error
		switch v := k.vars[i]; {
		case v == nil:
			key = append(key, k.parts[i].lit...)
		case i == p.fan:
			key, err = v.appendInt(key, int64(n))
		default:
			before := len(key)
			if key, err = v.appendTo(key, codec.At(rv, v.index)); err == nil && len(key) == before {
				err = fmt.Errorf("%w: %s", ErrKeyEmpty, v.name)
			}
		}
		if err != nil {
			return "", p.entity.keyError("", err)
		}
	}
	return string(key), nil
}

// A span is a range of sort keys: a single key, those with a prefix, or those in [lo, hi).
type span struct {
	exact     string
	prefix    string
	lo, hi    string // always set, except for exact
	inclusive bool   // hi is included
}

// span returns the range for the input rv.
func (p *pattern) span(rv reflect.Value) (span, error) {
	var buf [192]byte
	if p.prefix != nil {
		text, missing, err := p.prefix.appendTo(buf[:0], rv)
		if err = p.entity.keyError(missing, err); err != nil {
			return span{}, err
		}
		if p.exact {
			return span{exact: string(text)}, nil
		}
		return span{prefix: string(text), lo: string(text), hi: successor(string(text))}, nil
	}
	lo, err := p.end(p.from, rv, false)
	if err != nil {
		return span{}, err
	}
	hi, err := p.end(p.to, rv, true)
	return span{lo: lo, hi: hi}, err
}

// end returns one end of a range. If there is no template, or its last variable is empty, the range
// is open: it ends with all keys that share the preceding text.
func (p *pattern) end(k *keyTemplate, rv reflect.Value, upper bool) (string, error) {
	if k == nil {
		if k = p.from; upper {
			return p.openEnd(k, rv, true)
		}
		return p.openEnd(p.to, rv, false)
	}
	var buf [192]byte
	text, missing, err := k.appendTo(buf[:0], rv)
	if err != nil {
		return "", p.entity.keyError("", err)
	}
	if missing == "" {
		return string(text), nil
	}
	if n := len(k.vars); k.vars[n-1] == nil || k.vars[n-1].name != missing {
		return "", p.entity.keyError(missing, nil)
	}
	return p.openEnd(k, rv, upper)
}

// openEnd returns the first or last key that begins like the keys of k do before its last variable.
func (p *pattern) openEnd(k *keyTemplate, rv reflect.Value, upper bool) (string, error) {
	n := len(k.vars)
	for n > 0 && k.vars[n-1] == nil {
		n--
	}
	var buf [192]byte
	text, missing, err := k.appendParts(buf[:0], rv, max(n-1, 0))
	if err = p.entity.keyError(missing, err); err != nil {
		return "", err
	}
	if upper {
		return successor(string(text)), nil
	}
	return string(text), nil
}

// successor returns the smallest text that sorts after everything beginning with s: s with its last
// character incremented.
func successor(s string) string {
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
		switch {
		case r == 0xD7FF: // surrogates follow, which are not characters
			return s + "\uE000"
		case r < utf8.MaxRune:
			return s + string(r+1)
		}
	}
	return string(utf8.MaxRune)
}
