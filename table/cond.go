package table

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// A Cond is a condition on the attributes of an item. The methods of Field make conditions; And, Or
// and Not combine them. The zero Cond always holds.
type Cond struct {
	builder expression.ConditionBuilder
	of      *entity // the entity of its fields; nil: any
	err     error
}

// Absent holds if there is no item with the key.
func Absent() Cond {
	return Cond{builder: expression.Name(AttrPK).AttributeNotExists()}
}

// Present holds if there is an item with the key, even an expired one.
func Present() Cond {
	return Cond{builder: expression.Name(AttrPK).AttributeExists()}
}

// And holds if all conditions hold.
func And(conds ...Cond) Cond { return joined(expression.And, conds) }

// Or holds if at least one of the conditions holds.
func Or(conds ...Cond) Cond { return joined(expression.Or, conds) }

type joiner = func(a, b expression.ConditionBuilder, more ...expression.ConditionBuilder) expression.ConditionBuilder

func joined(join joiner, conds []Cond) Cond {
	var all Cond
	for _, c := range conds {
		switch {
		case !c.builder.IsSet() && c.err == nil:
			continue
		case !all.builder.IsSet():
			all.builder = c.builder
		default:
			all.builder = join(all.builder, c.builder)
		}
		all.err = errors.Join(all.err, c.err)
		if all.of != nil && c.of != nil && all.of != c.of {
			all.err = errors.Join(all.err, fmt.Errorf("a condition combines fields of %s and %s", all.of.name, c.of.name))
		}
		if c.of != nil {
			all.of = c.of
		}
	}
	return all
}

// Not holds if the condition does not.
func Not(c Cond) Cond {
	if c.builder.IsSet() {
		c.builder = expression.Not(c.builder)
	}
	return c
}

// condition is a condition in the form of a request. text is nil if there is none.
type condition struct {
	text   *string
	names  map[string]string
	values Item
}

// join combines conditions into one, which must name only fields of this entity.
func (e *entity) join(conds []Cond) (Cond, error) {
	c := And(conds...)
	if c.err == nil && c.of != nil && c.of != e {
		c.err = fmt.Errorf("a condition names fields of %s", c.of.name)
	}
	return c, c.err
}

func (e *entity) condition(conds []Cond) (condition, error) {
	c, err := e.join(conds)
	if err != nil || !c.builder.IsSet() {
		return condition{}, err
	}
	x, err := expression.NewBuilder().WithCondition(c.builder).Build()
	if err != nil {
		return condition{}, err
	}
	return condition{x.Condition(), x.Names(), x.Values()}, nil
}
