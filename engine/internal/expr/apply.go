package expr

import (
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// Errors of updates that do not fit the item.
var (
	errNoAttribute = &Error{Reason: "The provided expression refers to an attribute that does not exist in the item"}
	errNoParent    = &Error{Reason: "The document path provided in the update expression is invalid for update"}
)

// ErrWrongType is returned if an operand of an update has a type that its operator does not
// support.
var ErrWrongType = &Error{Reason: "An operand in the update expression has an incorrect data type"}

// evaluate returns the right-hand side of a SET.
func (u *Update) evaluate(n *node, old item.Item) (types.AttributeValue, error) {
	switch n.op {
	case opPath:
		if av := lookup(old, u.paths[n.number]); av != nil {
			return av, nil
		}
		return nil, errNoAttribute
	case opValue:
		return u.values[n.number], nil
	case opIfNotExists:
		if av := lookup(old, u.paths[n.args[0].number]); av != nil {
			return av, nil
		}
		return u.evaluate(n.args[1], old)
	}
	a, err := u.evaluate(n.args[0], old)
	if err != nil {
		return nil, err
	}
	b, err := u.evaluate(n.args[1], old)
	if err != nil {
		return nil, err
	}
	if n.op == opListAppend {
		return concat(a, b)
	}
	return sum(a, b, n.op == opMinus)
}

func concat(a, b types.AttributeValue) (types.AttributeValue, error) {
	x, okX := a.(*types.AttributeValueMemberL)
	y, okY := b.(*types.AttributeValueMemberL)
	if !okX || !okY {
		return nil, ErrWrongType
	}
	return &types.AttributeValueMemberL{Value: slices.Concat(x.Value, y.Value)}, nil
}

// sum adds or subtracts two numbers. Results out of range or with more than 38 digits are errors;
// they are never rounded.
func sum(a, b types.AttributeValue, minus bool) (types.AttributeValue, error) {
	x, okX := a.(*types.AttributeValueMemberN)
	y, okY := b.(*types.AttributeValueMemberN)
	if !okX || !okY {
		return nil, ErrWrongType
	}
	m, errM := item.ParseNumber(x.Value)
	n, errN := item.ParseNumber(y.Value)
	if err := errors.Join(errM, errN); err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	if minus {
		n = n.Neg()
	}
	r, err := m.Add(n)
	if err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	return &types.AttributeValueMemberN{Value: r.String()}, nil
}

// addTo implements ADD: it adds a number to a number or members to a set. If old is nil, the result
// is av.
func addTo(old, av types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return av, nil
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberN:
		return sum(old, av, false)
	case *types.AttributeValueMemberSS:
		if o, ok := old.(*types.AttributeValueMemberSS); ok {
			return &types.AttributeValueMemberSS{Value: union(o.Value, v.Value, func(s string) string { return s })}, nil
		}
	case *types.AttributeValueMemberNS:
		if o, ok := old.(*types.AttributeValueMemberNS); ok {
			return &types.AttributeValueMemberNS{Value: union(o.Value, v.Value, func(s string) string { return s })}, nil
		}
	case *types.AttributeValueMemberBS:
		if o, ok := old.(*types.AttributeValueMemberBS); ok {
			return &types.AttributeValueMemberBS{Value: union(o.Value, v.Value, func(b []byte) string { return string(b) })}, nil
		}
	}
	return nil, ErrWrongType
}

// deleteFrom implements DELETE: it removes members from a set. If none are left, the result is nil.
func deleteFrom(old, av types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return nil, nil
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberSS:
		if o, ok := old.(*types.AttributeValueMemberSS); ok {
			if rest := without(o.Value, v.Value, func(s string) string { return s }); len(rest) > 0 {
				return &types.AttributeValueMemberSS{Value: rest}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberNS:
		if o, ok := old.(*types.AttributeValueMemberNS); ok {
			if rest := without(o.Value, v.Value, func(s string) string { return s }); len(rest) > 0 {
				return &types.AttributeValueMemberNS{Value: rest}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberBS:
		if o, ok := old.(*types.AttributeValueMemberBS); ok {
			if rest := without(o.Value, v.Value, func(b []byte) string { return string(b) }); len(rest) > 0 {
				return &types.AttributeValueMemberBS{Value: rest}, nil
			}
			return nil, nil
		}
	}
	return nil, ErrWrongType
}

// union returns the members of a followed by those of b that are not in a. key makes members
// comparable; it works for numbers because equal normalized numbers have equal texts.
func union[T any](a, b []T, key func(T) string) []T {
	return slices.Concat(a, without(b, a, key))
}

// without returns the members of a that are not in b.
func without[T any](a, b []T, key func(T) string) []T {
	off := make(map[string]bool, len(b))
	for _, m := range b {
		off[key(m)] = true
	}
	var rest []T
	for _, m := range a {
		if !off[key(m)] {
			rest = append(rest, m)
		}
	}
	return rest
}

// change is a new value for a path, or nil to remove it.
type change struct {
	path  path
	value types.AttributeValue
}

// applyChanges returns a modified copy of a map. The changes must be sorted, agree in their first
// depth steps, and not contain each other's paths.
func applyChanges(m item.Item, changes []change, depth int) (item.Item, error) {
	out := maps.Clone(m)
	if out == nil {
		out = make(item.Item, len(changes))
	}
	for len(changes) > 0 {
		group := sameStep(changes, depth)
		changes = changes[len(group):]
		name := group[0].path[depth].name
		av, err := applyTo(m[name], group, depth+1)
		if err != nil {
			return nil, err
		}
		if av == nil {
			delete(out, name)
		} else {
			out[name] = av
		}
	}
	return out, nil
}

// sameStep returns the leading changes that agree in the step at depth.
func sameStep(changes []change, depth int) []change {
	n := 1
	for n < len(changes) && changes[n].path[depth] == changes[0].path[depth] {
		n++
	}
	return changes[:n]
}

// applyTo returns the value at a path after the changes at or below it, or nil if it is removed.
func applyTo(av types.AttributeValue, group []change, depth int) (types.AttributeValue, error) {
	first := group[0]
	if len(first.path) == depth {
		if first.value != nil && depth > 1 && depth-1+levels(first.value) > item.MaxNesting {
			return nil, &Error{Reason: item.ErrNesting.Error()}
		}
		return first.value, nil
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberM:
		if first.path[depth].isIndex() {
			return nil, errNoParent
		}
		m, err := applyChanges(v.Value, group, depth)
		return &types.AttributeValueMemberM{Value: m}, err
	case *types.AttributeValueMemberL:
		if !first.path[depth].isIndex() {
			return nil, errNoParent
		}
		l, err := applyToList(v.Value, group, depth)
		return &types.AttributeValueMemberL{Value: l}, err
	}
	return nil, errNoParent
}

// applyToList applies changes to a list. Indexes refer to the list before any change. An index past
// the end appends, and removed elements leave no gap.
func applyToList(l []types.AttributeValue, changes []change, depth int) ([]types.AttributeValue, error) {
	out := slices.Clone(l)
	for len(changes) > 0 {
		group := sameStep(changes, depth)
		changes = changes[len(group):]
		i := group[0].path[depth].index
		var old types.AttributeValue
		if i < len(l) {
			old = l[i]
		}
		av, err := applyTo(old, group, depth+1)
		if err != nil {
			return nil, err
		}
		if i < len(l) {
			out[i] = av
		} else if av != nil {
			out = append(out, av)
		}
	}
	return slices.DeleteFunc(out, func(av types.AttributeValue) bool { return av == nil }), nil
}

// levels returns the nesting depth of a value: 1 for a scalar.
func levels(av types.AttributeValue) int {
	deepest := 0
	switch v := av.(type) {
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			deepest = max(deepest, levels(e))
		}
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			deepest = max(deepest, levels(e))
		}
	}
	return deepest + 1
}
