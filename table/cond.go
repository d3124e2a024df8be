package table

import (
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// A Cond is a condition on attributes: made by the methods of a Field, joined by And, Or and Not.
type Cond struct {
	builder expression.ConditionBuilder
	err     error
}

// And holds when all conditions hold.
func And(first Cond, more ...Cond) Cond {
	for _, c := range more {
		first = Cond{expression.And(first.builder, c.builder), errors.Join(first.err, c.err)}
	}
	return first
}

// Or holds when one of the conditions holds.
func Or(first Cond, more ...Cond) Cond {
	for _, c := range more {
		first = Cond{expression.Or(first.builder, c.builder), errors.Join(first.err, c.err)}
	}
	return first
}

// Not holds when the condition does not.
func Not(c Cond) Cond {
	return Cond{expression.Not(c.builder), c.err}
}

// A filter is a condition as a Query carries it.
type filter struct {
	text   *string
	names  map[string]string
	values Item
}

func (c Cond) filter() (*filter, error) {
	if c.err != nil {
		return nil, c.err
	}
	if !c.builder.IsSet() {
		return nil, nil
	}
	x, err := expression.NewBuilder().WithFilter(c.builder).Build()
	if err != nil {
		return nil, err
	}
	return &filter{x.Filter(), x.Names(), x.Values()}, nil
}

// add puts the filter into a request; a nil filter adds nothing.
func (f *filter) add(in *dynamodb.QueryInput) {
	if f == nil {
		return
	}
	in.FilterExpression = f.text
	in.ExpressionAttributeNames = f.names
	maps.Copy(in.ExpressionAttributeValues, f.values)
}
