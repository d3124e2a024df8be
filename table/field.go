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
type Field[T, V any] struct {
	of    *entity
	field codec.Field
	err   error
}

// FieldOf returns the attribute that at points to, for example FieldOf(Sites, func(s *Site) *string
// { return &s.Name }). Key fields are not attributes. Errors are reported where the field is used.
func FieldOf[V, T, K any](e *Entity[T, K], at func(*T) *V) Field[T, V] {
	f := Field[T, V]{of: e.core, err: e.core.err}
	if f.err != nil {
		return f
	}
	v := new(T)
	rv, p := reflect.ValueOf(v).Elem(), reflect.ValueOf(at(v))
	for _, sf := range e.core.stored {
		if fv := codec.At(rv, sf.Index); fv.Type() == p.Type().Elem() && fv.Addr().UnsafePointer() == p.UnsafePointer() {
			f.field = sf
			return f
		}
	}
	f.err = fmt.Errorf("the field does not point to an attribute of %s: it is part of the key, not stored, or inside another value", e.core.name)
	return f
}

func (f Field[T, V]) encode(v V) (types.AttributeValue, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.field.Encode(&codec.Encoder{}, reflect.ValueOf(&v).Elem())
}

func (f Field[T, V]) name() expression.NameBuilder {
	return expression.NameNoDotSplit(f.field.Name)
}

// compare makes a condition on the field and values.
func (f Field[T, V]) compare(build func(...expression.ValueBuilder) expression.ConditionBuilder, vs ...V) Cond {
	values := make([]expression.ValueBuilder, len(vs))
	for i, v := range vs {
		av, err := f.encode(v)
		if err != nil {
			return Cond{of: f.of, err: err}
		}
		values[i] = expression.Value(av)
	}
	return Cond{builder: build(values...), of: f.of}
}

// Eq holds if the attribute has the value.
func (f Field[T, V]) Eq(v V) Cond {
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder { return f.name().Equal(x[0]) }, v)
}

// Ne holds if the attribute has another value or is missing.
func (f Field[T, V]) Ne(v V) Cond {
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder { return f.name().NotEqual(x[0]) }, v)
}

// Lt holds if the attribute is less than the value. For a missing attribute it does not hold.
func (f Field[T, V]) Lt(v V) Cond {
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder { return f.name().LessThan(x[0]) }, v)
}

// Le holds if the attribute is at most the value.
func (f Field[T, V]) Le(v V) Cond {
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder { return f.name().LessThanEqual(x[0]) }, v)
}

// Gt holds if the attribute is greater than the value.
func (f Field[T, V]) Gt(v V) Cond {
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder { return f.name().GreaterThan(x[0]) }, v)
}

// Ge holds if the attribute is at least the value.
func (f Field[T, V]) Ge(v V) Cond {
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder { return f.name().GreaterThanEqual(x[0]) }, v)
}

// Between holds if the attribute is between the two values, both included.
func (f Field[T, V]) Between(lo, hi V) Cond {
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder { return f.name().Between(x[0], x[1]) }, lo, hi)
}

// In holds if the attribute is one of the values, of which there must be 1 to 100.
func (f Field[T, V]) In(vs ...V) Cond {
	if len(vs) == 0 || len(vs) > 100 {
		return Cond{of: f.of, err: fmt.Errorf("In takes 1 to 100 values, not %d", len(vs))}
	}
	return f.compare(func(x ...expression.ValueBuilder) expression.ConditionBuilder {
		more := make([]expression.OperandBuilder, len(x)-1)
		for i := range more {
			more[i] = x[i+1]
		}
		return f.name().In(x[0], more...)
	}, vs...)
}

// Exists holds if the item has the attribute.
func (f Field[T, V]) Exists() Cond {
	return Cond{builder: f.name().AttributeExists(), of: f.of, err: f.err}
}

// Missing holds if the item does not have the attribute.
func (f Field[T, V]) Missing() Cond {
	return Cond{builder: f.name().AttributeNotExists(), of: f.of, err: f.err}
}

// BeginsWith holds if a text attribute begins with prefix.
func BeginsWith[T any, V ~string](f Field[T, V], prefix string) Cond {
	return Cond{builder: f.name().BeginsWith(prefix), of: f.of, err: f.err}
}

// A Change is one part of a Patch of T.
type Change[T any] struct {
	name   string
	update func(expression.UpdateBuilder) expression.UpdateBuilder
	apply  func(*T) // sets the new value in an item; nil if the value is not known beforehand
	cond   Cond
	err    error
}

// Set sets the attribute. An empty value of a field with omitempty removes it.
func (f Field[T, V]) Set(v V) Change[T] {
	value := reflect.ValueOf(&v).Elem()
	if f.err == nil && f.field.OmitEmpty && codec.Empty(value) {
		return f.Remove()
	}
	av, err := f.encode(v)
	return Change[T]{
		name: f.field.Name, err: err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder {
			return u.Set(f.name(), expression.Value(av))
		},
		apply: func(t *T) { codec.At(reflect.ValueOf(t).Elem(), f.field.Index).Set(value) },
	}
}

// Remove removes the attribute, which is then read as the zero value.
func (f Field[T, V]) Remove() Change[T] {
	return Change[T]{
		name: f.field.Name, err: f.err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder { return u.Remove(f.name()) },
		apply:  func(t *T) { codec.At(reflect.ValueOf(t).Elem(), f.field.Index).SetZero() },
	}
}

// Number is a type whose values can be added.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Add adds delta to a number; a missing number counts as 0. It is not idempotent: a retried Patch
// adds twice. Exact counts need a fold.
func Add[T any, V Number](f Field[T, V], delta V) Change[T] {
	av, err := f.encode(delta)
	return Change[T]{
		name: f.field.Name, err: err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder {
			return u.Add(f.name(), expression.Value(av))
		},
	}
}

// Append appends elements to a list; a missing list counts as empty. It is not idempotent.
func Append[T, E any](f Field[T, []E], elements ...E) Change[T] {
	av, err := f.encode(elements)
	if _, list := av.(*types.AttributeValueMemberL); err == nil && !list {
		err = errors.New("Append needs elements and a field that is stored as a list")
	}
	return Change[T]{
		name: f.field.Name, err: err,
		update: func(u expression.UpdateBuilder) expression.UpdateBuilder {
			old := f.name().IfNotExists(expression.Value(&types.AttributeValueMemberL{}))
			return u.Set(f.name(), expression.ListAppend(old, expression.Value(av)))
		},
	}
}

// If makes a patch conditional. Patch returns ErrCondition if the condition does not hold.
func If[T any](c Cond) Change[T] { return Change[T]{cond: c, err: c.err} }
