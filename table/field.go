package table

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table/internal/codec"
)

// A Field is one attribute of T, with values of type V. It makes conditions and changes for Patch,
// so that these can neither name an unknown attribute nor use a value of the wrong type.
type Field[T, V any] struct{ core field }

// field does the work of a Field, which checks the types. Values are passed as pointers.
type field struct {
	of *entity
	codec.Field
	err error
}

// FieldOf returns the attribute that at points to, for example FieldOf(Sites, func(s *Site) *string
// { return &s.Name }). Key fields are not attributes. Errors are reported where the field is used.
func FieldOf[V, T, K any](e *Entity[T, K], at func(*T) *V) Field[T, V] {
	v := new(T)
	return Field[T, V]{e.core.fieldAt(v, func() any { return at(v) })}
}

// fieldAt returns the attribute of the item v that at points to.
func (e *entity) fieldAt(v any, at func() any) field {
	f := field{of: e, err: e.err}
	if f.err != nil {
		return f
	}
	rv, p := reflect.ValueOf(v).Elem(), reflect.ValueOf(at())
	for _, sf := range e.stored {
		if fv := codec.At(rv, sf.Index); fv.Type() == p.Type().Elem() && fv.Addr().UnsafePointer() == p.UnsafePointer() {
			f.Field = sf
			return f
		}
	}
	f.err = fmt.Errorf("the field does not point to an attribute of %s: it is part of the key, not stored, or inside another value", e.name)
	return f
}

func (f *field) encode(v any) (types.AttributeValue, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Encode(&codec.Encoder{}, reflect.ValueOf(v).Elem())
}

func (f *field) name() expression.NameBuilder { return expression.NameNoDotSplit(f.Name) }

// An operator compares an attribute with values.
type operator func(expression.NameBuilder, []expression.ValueBuilder) expression.ConditionBuilder

func equal(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	return n.Equal(x[0])
}

func notEqual(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	return n.NotEqual(x[0])
}

func less(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	return n.LessThan(x[0])
}

func atMost(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	return n.LessThanEqual(x[0])
}

func greater(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	return n.GreaterThan(x[0])
}

func atLeast(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	return n.GreaterThanEqual(x[0])
}

func between(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	return n.Between(x[0], x[1])
}

func oneOf(n expression.NameBuilder, x []expression.ValueBuilder) expression.ConditionBuilder {
	more := make([]expression.OperandBuilder, len(x)-1)
	for i := range more {
		more[i] = x[i+1]
	}
	return n.In(x[0], more...)
}

// compare makes a condition on the field and values.
func (f *field) compare(op operator, vs ...any) Cond {
	values := make([]expression.ValueBuilder, len(vs))
	for i, v := range vs {
		av, err := f.encode(v)
		if err != nil {
			return Cond{of: f.of, err: err}
		}
		values[i] = expression.Value(av)
	}
	return Cond{builder: op(f.name(), values), of: f.of}
}

// Eq holds if the attribute has the value.
func (f Field[T, V]) Eq(v V) Cond { return f.core.compare(equal, &v) }

// Ne holds if the attribute has another value or is missing.
func (f Field[T, V]) Ne(v V) Cond { return f.core.compare(notEqual, &v) }

// Lt holds if the attribute is less than the value. For a missing attribute it does not hold.
func (f Field[T, V]) Lt(v V) Cond { return f.core.compare(less, &v) }

// Le holds if the attribute is at most the value.
func (f Field[T, V]) Le(v V) Cond { return f.core.compare(atMost, &v) }

// Gt holds if the attribute is greater than the value.
func (f Field[T, V]) Gt(v V) Cond { return f.core.compare(greater, &v) }

// Ge holds if the attribute is at least the value.
func (f Field[T, V]) Ge(v V) Cond { return f.core.compare(atLeast, &v) }

// Between holds if the attribute is between the two values, both included.
func (f Field[T, V]) Between(lo, hi V) Cond { return f.core.compare(between, &lo, &hi) }

// In holds if the attribute is one of the values, of which there must be 1 to 100.
func (f Field[T, V]) In(vs ...V) Cond {
	if len(vs) == 0 || len(vs) > 100 {
		return Cond{of: f.core.of, err: fmt.Errorf("In takes 1 to 100 values, not %d", len(vs))}
	}
	values := make([]any, len(vs))
	for i := range vs {
		values[i] = &vs[i]
	}
	return f.core.compare(oneOf, values...)
}

// Exists holds if the item has the attribute.
func (f Field[T, V]) Exists() Cond { return f.core.on(f.core.name().AttributeExists()) }

// Missing holds if the item does not have the attribute.
func (f Field[T, V]) Missing() Cond { return f.core.on(f.core.name().AttributeNotExists()) }

// BeginsWith holds if a text attribute begins with prefix.
func BeginsWith[T any, V ~string](f Field[T, V], prefix string) Cond {
	return f.core.on(f.core.name().BeginsWith(prefix))
}

// on makes a condition of the field.
func (f *field) on(c expression.ConditionBuilder) Cond { return Cond{builder: c, of: f.of, err: f.err} }

// A Change is one part of a Patch of T.
type Change[T any] struct{ core change }

// change is a Change whose item is passed as a pointer.
type change struct {
	name   string
	update func(expression.UpdateBuilder) expression.UpdateBuilder // nil for a condition
	apply  func(item any)                                          // sets the new value in an item; nil if the value is not known beforehand
	cond   Cond
	err    error
}

func untyped[T any](changes []Change[T]) []change {
	cores := make([]change, len(changes))
	for i := range changes {
		cores[i] = changes[i].core
	}
	return cores
}

// Set sets the attribute. An empty value of a field with omitempty removes it.
func (f Field[T, V]) Set(v V) Change[T] { return Change[T]{f.core.set(&v)} }

func (f *field) set(v any) change {
	value := reflect.ValueOf(v).Elem()
	if f.err == nil && f.OmitEmpty && codec.Empty(value) {
		return f.remove()
	}
	av, err := f.encode(v)
	return change{
		name: f.Name, err: err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder {
			return u.Set(f.name(), expression.Value(av))
		},
		apply: func(item any) { codec.At(reflect.ValueOf(item).Elem(), f.Index).Set(value) },
	}
}

// Remove removes the attribute, which is then read as the zero value.
func (f Field[T, V]) Remove() Change[T] { return Change[T]{f.core.remove()} }

func (f *field) remove() change {
	return change{
		name: f.Name, err: f.err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder { return u.Remove(f.name()) },
		apply:  func(item any) { codec.At(reflect.ValueOf(item).Elem(), f.Index).SetZero() },
	}
}

// Number is a type whose values can be added.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Add adds delta to a number; a missing number counts as 0. It is not idempotent: a retried Patch
// adds twice. Exact counts need a fold.
func Add[T any, V Number](f Field[T, V], delta V) Change[T] { return Change[T]{f.core.add(&delta)} }

func (f *field) add(delta any) change {
	av, err := f.encode(delta)
	return change{
		name: f.Name, err: err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder {
			return u.Add(f.name(), expression.Value(av))
		},
	}
}

// Append appends elements to a list; a missing list counts as empty. It is not idempotent.
func Append[T, E any](f Field[T, []E], elements ...E) Change[T] {
	return Change[T]{f.core.appendTo(&elements)}
}

func (f *field) appendTo(elements any) change {
	av, err := f.encode(elements)
	if _, list := av.(*types.AttributeValueMemberL); err == nil && !list {
		err = errors.New("Append needs elements and a field that is stored as a list")
	}
	return change{
		name: f.Name, err: err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder {
			old := f.name().IfNotExists(expression.Value(&types.AttributeValueMemberL{}))
			return u.Set(f.name(), expression.ListAppend(old, expression.Value(av)))
		},
	}
}

// If makes a patch conditional. Patch returns ErrCondition if the condition does not hold.
func If[T any](c Cond) Change[T] { return Change[T]{change{cond: c, err: c.err}} }
