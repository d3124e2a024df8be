package table

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/onefold/onefold/table/internal/codec"
)

// An ExampleRow is an item made up for documentation: a Go value whose fields are set by the names
// of their attributes.
type ExampleRow struct {
	entity *entity
	v      reflect.Value // *T
}

// ExampleRow returns a zero row of an entity. Errors: ErrNotFound if the schema has no such entity.
func (s *Schema) ExampleRow(entity string) (*ExampleRow, error) {
	for _, e := range s.entities {
		if e.name == entity && e.err == nil {
			return &ExampleRow{e, reflect.New(e.plan.Type)}, nil
		}
	}
	return nil, fmt.Errorf("table: schema %s: entity %q: %w", s.name, entity, ErrNotFound)
}

// Entity returns the name of the row's entity.
func (r *ExampleRow) Entity() string { return r.entity.name }

// Each calls fill for every attribute, including those of the key, with its name, whether it may be
// absent, and the value to set.
func (r *ExampleRow) Each(fill func(name string, optional bool, v reflect.Value)) {
	for _, f := range r.entity.plan.Fields {
		fill(f.Name, f.OmitEmpty, codec.At(r.v.Elem(), f.Index))
	}
}

// Complete applies the entity's own Example.
func (r *ExampleRow) Complete() {
	if r.entity.example != nil {
		r.entity.example(r.v.Interface())
	}
}

// Item returns the row as it would be stored, including index keys and ttl.
func (r *ExampleRow) Item() (Item, error) { return r.entity.encode(r.v.Interface(), nil) }

// An ExampleUse is an access pattern with an input, to show a request and its response in
// documentation.
type ExampleUse struct {
	pattern *pattern
	in      any // *In
}

// ExampleUse returns a pattern with an input that finds row, which must be of the pattern's entity.
// Variables in key templates get the row's values, and a range ends right after them. A pattern
// that writes gets the row itself. Errors: ErrNotFound.
func (s *Schema) ExampleUse(patternID string, row *ExampleRow) (*ExampleUse, error) {
	for _, p := range s.patterns {
		if p.id != patternID || p.entity != row.entity || p.err != nil {
			continue
		}
		u := &ExampleUse{pattern: p, in: row.v.Interface()}
		if p.in != nil {
			in := reflect.New(p.in.Type)
			u.in = in.Interface()
			p.fillExample(in.Elem(), row.v.Elem())
		}
		if p.example != nil {
			p.example(u.in)
		}
		return u, nil
	}
	return nil, fmt.Errorf("table: schema %s: pattern %q of %s: %w", s.name, patternID, row.entity.name, ErrNotFound)
}

// Input returns a pointer to the pattern's input.
func (u *ExampleUse) Input() any { return u.in }

// Explain returns the first requests of the pattern.
func (u *ExampleUse) Explain(t *Table) ([]Request, error) { return u.pattern.explainAny(t, u.in) }

// Run runs the pattern. It returns at most the given number of items, as stored; a write returns
// none.
func (u *ExampleUse) Run(ctx context.Context, t *Table, most int) ([]Item, error) {
	return u.pattern.runAny(ctx, t, u.in, most)
}

// fillExample sets the fields of an input so that it finds row: first by name, then by the position
// of their variables.
func (p *pattern) fillExample(in, row reflect.Value) {
	for _, f := range p.in.Fields {
		if own := p.entity.plan.Field(f.Name); own != nil {
			setExample(codec.At(in, f.Index), codec.At(row, own.Index), "")
		}
	}
	p.fillTemplate(in, row, p.pk, p.ownPK, false)
	p.fillTemplate(in, row, p.prefix, p.ownSK, false)
	p.fillTemplate(in, row, p.from, p.ownSK, false)
	p.fillTemplate(in, row, p.to, p.ownSK, true)
}

func (p *pattern) fillTemplate(in, row reflect.Value, mine, own *keyTemplate, behind bool) {
	if mine == nil {
		return
	}
	theirs, last := own.bySegment(), -1
	vars := mine.bySegment()
	for i, v := range vars {
		if v != nil {
			last = i
		}
	}
	for i, v := range vars {
		if v == nil || theirs[i] == nil || v.name == p.fanOut {
			continue
		}
		f := p.entity.plan.Field(theirs[i].name)
		if f == nil {
			continue
		}
		at := codec.At(in, v.index)
		if setExample(at, codec.At(row, f.Index), theirs[i].layout); behind && i == last {
			moveBehind(at, v)
		}
	}
}

// setExample sets a field of an input to a row's value, if the types allow it.
func setExample(to, from reflect.Value, layout string) {
	at, isTime := from.Interface().(time.Time)
	switch {
	case isTime && to.Kind() == reflect.String && layout != "":
		to.SetString(at.UTC().Format(layout))
	case from.Kind() == to.Kind() && from.CanConvert(to.Type()):
		to.Set(from.Convert(to.Type()))
	}
}

// moveBehind moves the end of a range past a value. For text it leaves the end open.
func moveBehind(v reflect.Value, of *variable) {
	switch of.kind {
	case timeVariable:
		v.Set(reflect.ValueOf(nextTime(v.Interface().(time.Time), of.layout)))
	case intVariable:
		v.SetInt(v.Int() + 1)
	case uintVariable:
		v.SetUint(v.Uint() + 1)
	default:
		v.SetZero()
	}
}

// nextTime returns the next time that differs in the given layout.
func nextTime(at time.Time, layout string) time.Time {
	switch {
	case strings.Contains(layout, "000"):
		return at.Add(time.Millisecond)
	case strings.Contains(layout, "05"):
		return at.Add(time.Second)
	case strings.Contains(layout, "04"):
		return at.Add(time.Minute)
	case strings.Contains(layout, "15"):
		return at.Add(time.Hour)
	case strings.Contains(layout, "02"):
		return at.AddDate(0, 0, 1)
	}
	return at.AddDate(0, 1, 0)
}
