package partiql

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// interval is a range of values of a sort key. The zero value contains all.
type interval struct {
	lo, hi         types.AttributeValue // nil: unbounded
	openLo, openHi bool                 // the bound is excluded
}

// interval returns the sort keys that satisfy a condition. It rejects values that the key cannot
// have.
func (p *planner) interval(n *node) (interval, error) {
	args, o := n.args, n.op
	if !args[0].isAttr() { // the value came first
		args = []*node{args[1], args[0]}
		o = map[op]op{opEQ: opEQ, opLT: opGT, opLE: opGE, opGT: opLT, opGE: opLE}[o]
	}
	bound := make([]types.AttributeValue, len(args)-1)
	for i, a := range args[1:] {
		av, err := p.lits.of(a)
		if err != nil {
			return interval{}, err
		}
		if err := p.checkType(av, p.rng); err != nil {
			return interval{}, err
		}
		bound[i] = av
	}
	switch o {
	case opEQ:
		return interval{lo: bound[0], hi: bound[0]}, nil
	case opLT, opLE:
		return interval{hi: bound[0], openHi: o == opLT}, nil
	case opGT, opGE:
		return interval{lo: bound[0], openLo: o == opGT}, nil
	case opBetween:
		return interval{lo: bound[0], hi: bound[1]}, nil
	}
	return interval{lo: bound[0], hi: successor(bound[0]), openHi: true}, nil
}

// successor returns the smallest value greater than all values with the prefix, or nil.
func successor(prefix types.AttributeValue) types.AttributeValue {
	next := func(b []byte) []byte {
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] < 0xff {
				return append(append([]byte(nil), b[:i]...), b[i]+1)
			}
		}
		return nil
	}
	switch v := prefix.(type) {
	case *types.AttributeValueMemberS:
		if b := next([]byte(v.Value)); b != nil {
			return &types.AttributeValueMemberS{Value: string(b)}
		}
	case *types.AttributeValueMemberB:
		if b := next(v.Value); b != nil {
			return &types.AttributeValueMemberB{Value: b}
		}
	}
	return nil
}

// and returns the intersection.
func (a interval) and(b interval) interval {
	if a.lo == nil || b.lo != nil && above(b.lo, b.openLo, a.lo, a.openLo) {
		a.lo, a.openLo = b.lo, b.openLo
	}
	if a.hi == nil || b.hi != nil && above(a.hi, !a.openHi, b.hi, !b.openHi) {
		a.hi, a.openHi = b.hi, b.openHi
	}
	return a
}

// above reports whether bound x is above bound y. behindX and behindY say that a
// bound lies directly after its value, not at it.
func above(x types.AttributeValue, behindX bool, y types.AttributeValue, behindY bool) bool {
	order, ok := item.Compare(x, y)
	return ok && (order > 0 || order == 0 && behindX && !behindY)
}

// empty reports whether the interval contains no value.
func (a interval) empty() bool {
	if a.lo == nil || a.hi == nil {
		return false
	}
	order, ok := item.Compare(a.lo, a.hi)
	return !ok || order > 0 || order == 0 && (a.openLo || a.openHi)
}

// meets reports whether the intervals have a value in common.
func (a interval) meets(b interval) bool { return !a.and(b).empty() }

// checkType rejects values of the wrong type for a key attribute.
func (p *planner) checkType(av types.AttributeValue, k catalog.Key) error {
	if !p.loose && item.TypeName(av) != string(k.Type) {
		return request.Invalid("Key attribute's data type should match its data type in table's schema: Key %s", k.Name)
	}
	return nil
}
