package expr

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// Eval reports whether an item satisfies the condition. A nil item does not exist. A missing path
// is equal to nothing and unequal to everything, and values of different types are not ordered;
// neither is an error.
func (c *Condition) Eval(it item.Item) (bool, error) {
	return c.holds(c.tree.root, it), nil
}

func (c *binding) holds(n *node, it item.Item) bool {
	switch n.op {
	case opAnd:
		for _, a := range n.args {
			if !c.holds(a, it) {
				return false
			}
		}
		return true
	case opOr:
		for _, a := range n.args {
			if c.holds(a, it) {
				return true
			}
		}
		return false
	case opNot:
		return !c.holds(n.args[0], it)
	case opExists:
		return lookup(it, c.paths[n.args[0].number]) != nil
	case opNotExists:
		return lookup(it, c.paths[n.args[0].number]) == nil
	}
	return c.compares(n, it)
}

func (c *binding) compares(n *node, it item.Item) bool {
	left := c.operand(n.args[0], it)
	switch n.op {
	case opIn:
		return left != nil && slices.ContainsFunc(n.args[1:], func(a *node) bool { return equal(left, c.operand(a, it)) })
	case opBetween:
		lo, hi := c.operand(n.args[1], it), c.operand(n.args[2], it)
		return ordered(opGE, left, lo) && ordered(opLE, left, hi)
	}
	right := c.operand(n.args[1], it)
	switch n.op {
	case opEQ:
		return equal(left, right)
	case opNE:
		return !equal(left, right)
	case opType:
		s, ok := right.(*types.AttributeValueMemberS)
		return ok && left != nil && item.TypeName(left) == s.Value
	case opBeginsWith:
		return beginsWith(left, right)
	case opContains:
		return contains(left, right)
	}
	return ordered(n.op, left, right)
}

// operand returns the value of an operand, or nil if it has none.
func (c *binding) operand(n *node, it item.Item) types.AttributeValue {
	switch n.op {
	case opPath:
		return lookup(it, c.paths[n.number])
	case opValue:
		return c.values[n.number]
	case opSize:
		return sizeOf(c.operand(n.args[0], it))
	}
	return nil
}

func equal(a, b types.AttributeValue) bool { return a != nil && b != nil && item.Equal(a, b) }

func ordered(o op, a, b types.AttributeValue) bool {
	order, ok := item.Compare(a, b)
	if !ok {
		return false
	}
	switch o {
	case opLT:
		return order < 0
	case opLE:
		return order <= 0
	case opGT:
		return order > 0
	}
	return order >= 0
}

func beginsWith(av, prefix types.AttributeValue) bool {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		p, ok := prefix.(*types.AttributeValueMemberS)
		return ok && strings.HasPrefix(v.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := prefix.(*types.AttributeValueMemberB)
		return ok && bytes.HasPrefix(v.Value, p.Value)
	}
	return false
}

// contains reports whether a string or binary contains another, or a set or list has a member.
func contains(av, part types.AttributeValue) bool {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		p, ok := part.(*types.AttributeValueMemberS)
		return ok && strings.Contains(v.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := part.(*types.AttributeValueMemberB)
		return ok && bytes.Contains(v.Value, p.Value)
	case *types.AttributeValueMemberSS:
		p, ok := part.(*types.AttributeValueMemberS)
		return ok && slices.Contains(v.Value, p.Value)
	case *types.AttributeValueMemberNS:
		p, ok := part.(*types.AttributeValueMemberN)
		return ok && slices.ContainsFunc(v.Value, func(s string) bool { return item.CompareNumbers(s, p.Value) == 0 })
	case *types.AttributeValueMemberBS:
		p, ok := part.(*types.AttributeValueMemberB)
		return ok && slices.ContainsFunc(v.Value, func(b []byte) bool { return bytes.Equal(b, p.Value) })
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return equal(e, part) })
	}
	return false
}

// sizeOf implements the function size: the number of UTF-16 units of a string, which is how
// DynamoDB counts characters, the bytes of a binary, or the elements of a container. It returns nil
// for numbers, booleans and NULL.
func sizeOf(av types.AttributeValue) types.AttributeValue {
	n := 0
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		n = utf16Len(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberSS:
		n = len(v.Value)
	case *types.AttributeValueMemberNS:
		n = len(v.Value)
	case *types.AttributeValueMemberBS:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		n = len(v.Value)
	case *types.AttributeValueMemberM:
		n = len(v.Value)
	default:
		return nil
	}
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

func utf16Len(s string) int {
	n := utf8.RuneCountInString(s)
	for i := 0; i < len(s); i++ {
		if s[i] >= 0xf0 { // a character beyond the basic plane, which takes two units
			n++
		}
	}
	return n
}
