package expr

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// Condition is a bound condition or filter. It is immutable and safe for concurrent use.
type Condition struct{ binding }

// Condition parses and binds a ConditionExpression or FilterExpression. Errors are of type *Error.
func (p *Parser) Condition(kind Kind, src string, with *Bindings) (*Condition, error) {
	t, err := p.parse(conditions, kind, src)
	if err != nil {
		return nil, err
	}
	f := &t.flaws
	if flaw := first(f.depth, f.parens, f.function, f.misused, f.reserved); flaw != "" {
		return nil, &Error{Kind: kind, Reason: flaw}
	}
	c := &Condition{newBinding(kind, t)}
	if err := c.bindCondition(t.root, with); err != nil {
		return nil, err
	}
	return c, nil
}

// Names returns the distinct top-level attributes that the condition reads, in order of appearance.
func (c *Condition) Names() []string { return roots(c.paths) }

// NestedNames returns those of Names that the condition accesses with '.' or '[]', which is not
// allowed for key attributes.
func (c *Condition) NestedNames() []string { return nestedRoots(c.paths) }

// bindCondition resolves and checks conditions in the order of the text, because DynamoDB reports
// the first that fails.
func (c *binding) bindCondition(n *node, with *Bindings) error {
	switch n.op {
	case opAnd, opOr, opNot:
		for _, a := range n.args {
			if err := c.bindCondition(a, with); err != nil {
				return err
			}
		}
		return nil
	}
	if err := c.resolve(n, with); err != nil {
		return err
	}
	if err := c.checkOperands(n); err != nil {
		return err
	}
	if err := c.checkDistinct(n); err != nil {
		return err
	}
	return c.checkTypes(n)
}

// checkDistinct rejects two operands with the same path.
func (c *binding) checkDistinct(n *node) error {
	for _, a := range n.args {
		if err := c.checkDistinct(a); err != nil {
			return err
		}
	}
	if len(n.args) != 2 || n.op == opIn || n.args[0].op != opPath || n.args[1].op != opPath {
		return nil
	}
	p, q := c.paths[n.args[0].number], c.paths[n.args[1].number]
	if !slices.Equal(p, q) {
		return nil
	}
	name := n.name
	if name == "" {
		name = operators[n.op]
	}
	return refuse(c.kind, "The first operand must be distinct from the remaining operands for this operator or function; "+
		"operator: %s, first operand: %s", name, p)
}

func (c *binding) checkTypes(n *node) error {
	for _, a := range n.args {
		if err := c.checkTypes(a); err != nil {
			return err
		}
	}
	switch n.op {
	case opExists, opNotExists:
		return c.needsPath(n)
	case opBeginsWith:
		for _, a := range n.args {
			if t := c.typeOf(a); t != "" && t != "S" && t != "B" {
				return c.wrongOperand(n.name, t)
			}
		}
	case opType:
		return c.checkTypeName(n)
	case opSize:
		if t := c.typeOf(n.args[0]); t == "N" || t == "BOOL" || t == "NULL" {
			return c.wrongOperand(n.name, t)
		}
	case opBetween, opLT, opLE, opGT, opGE:
		for _, a := range n.args {
			if t := c.typeOf(a); t != "" && t != "S" && t != "N" && t != "B" {
				return c.wrongOperand(operators[n.op], t)
			}
		}
		return c.checkBounds(n)
	}
	return nil
}

// typeNames are the types known to attribute_type, in the order in which DynamoDB lists them.
var typeNames = []string{"B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"}

func (c *binding) checkTypeName(n *node) error {
	name := n.args[1]
	if name.op != opValue {
		t := c.typeOf(name)
		if t == "" {
			t = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
		}
		return c.wrongOperand(n.name, t)
	}
	s, ok := c.values[name.number].(*types.AttributeValueMemberS)
	if !ok {
		return c.wrongOperand(n.name, c.typeOf(name))
	}
	if !slices.Contains(typeNames, s.Value) {
		return refuse(c.kind, "Invalid attribute type name found; type: %s, valid types: {%s}", s.Value, strings.Join(typeNames, ","))
	}
	return nil
}

// checkBounds rejects a BETWEEN whose bounds have different types or the wrong order.
func (c *binding) checkBounds(n *node) error {
	if n.op != opBetween || n.args[1].op != opValue || n.args[2].op != opValue {
		return nil
	}
	lo, hi := c.values[n.args[1].number], c.values[n.args[2].number]
	bounds := func(rule string) error {
		return refuse(c.kind, "The BETWEEN operator requires %s; lower bound operand: AttributeValue: %s, upper bound operand: "+
			"AttributeValue: %s", rule, printed(lo), printed(hi))
	}
	if item.TypeName(lo) != item.TypeName(hi) {
		return bounds("same data type for lower and upper bounds")
	}
	if order, ok := item.Compare(lo, hi); ok && order > 0 {
		return bounds("upper bound to be greater than or equal to lower bound")
	}
	return nil
}

// printed formats a value as in DynamoDB's message about bounds: {S:text}.
func printed(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return "{S:" + v.Value + "}"
	case *types.AttributeValueMemberN:
		return "{N:" + v.Value + "}"
	case *types.AttributeValueMemberB:
		return "{B:" + base64.StdEncoding.EncodeToString(v.Value) + "}"
	}
	return "{" + item.TypeName(av) + "}"
}
