package expr

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// SortOp is a comparison of a key attribute.
type SortOp byte

// The comparisons that a key condition may make.
const (
	EQ SortOp = iota + 1
	LT
	LE
	GT
	GE
	BETWEEN
	BEGINSWITH
)

// SortCondition is what a key condition asks of one key attribute.
type SortCondition struct {
	Op SortOp
	Lo types.AttributeValue // the operand; of BETWEEN the lower bound, which is in the range
	Hi types.AttributeValue // of BETWEEN the upper bound, which is in the range; otherwise nil
}

// Holds reports whether a key value satisfies the condition.
func (c *SortCondition) Holds(av types.AttributeValue) bool {
	switch c.Op {
	case EQ:
		return equal(av, c.Lo)
	case BETWEEN:
		return ordered(opGE, av, c.Lo) && ordered(opLE, av, c.Hi)
	case BEGINSWITH:
		return beginsWith(av, c.Lo)
	}
	return ordered(sortOps[c.Op], av, c.Lo)
}

var sortOps = map[SortOp]op{LT: opLT, LE: opLE, GT: opGT, GE: opGE}

// KeyTest is one condition of a key condition, on one attribute.
type KeyTest struct {
	Name string
	SortCondition
}

// KeyCondition is a bound key condition.
type KeyCondition struct {
	tests []KeyTest
	err   error
}

// KeyCondition parses and binds a KeyConditionExpression. Errors are *Error. That the expression fits a key at all is
// for Check, because DynamoDB refuses unused names and values before it.
func (p *Parser) KeyCondition(src string, with *Bindings) (*KeyCondition, error) {
	c, err := p.Condition(KeyConditionExpression, src, with)
	if err != nil {
		return nil, err
	}
	k := &KeyCondition{}
	k.err = k.collect(&c.binding, c.tree.root)
	return k, nil
}

// Check refuses a condition that no key could answer: other operators than those of SortOp, two conditions on one
// attribute, operands that are not one attribute and values. Resolve makes the same check.
func (k *KeyCondition) Check() error { return k.err }

// Tests returns the conditions in the order of the text, for a key of several attributes. They are valid when Check is.
func (k *KeyCondition) Tests() []KeyTest { return k.tests }

// Resolve matches the condition with a key: every partition attribute is to be equal to something, and the sort
// attributes, if any, are to have conditions from the first on, all of which but the last are equalities. It returns the
// values of the partition attributes and the conditions on the first sort attributes. A nil k has no condition at all.
func (k *KeyCondition) Resolve(hash, rng []string) (values []types.AttributeValue, sorts []*SortCondition, err error) {
	if k == nil {
		return nil, nil, refuse("", "Conditions can be of length 1 or 2 only")
	}
	if k.err != nil {
		return nil, nil, k.err
	}
	if n := len(hash) + len(rng); len(k.tests) > n {
		return nil, nil, refuse("", "The number of query conditions (%d) exceeds the number of key attributes defined in the schema (%d)", len(k.tests), n)
	}
	for _, name := range hash {
		test := k.test(name)
		if test == nil {
			return nil, nil, refuse("", "Query condition missed key schema element: %s", name)
		}
		if test.Op != EQ {
			return nil, nil, refuse("", "Query key condition not supported")
		}
		values = append(values, test.Lo)
	}
	for _, name := range rng[:len(k.tests)-len(hash)] {
		test := k.test(name)
		if test == nil {
			return nil, nil, refuse("", "Query condition missed key schema element: %s", name)
		}
		if n := len(sorts); n > 0 && sorts[n-1].Op != EQ {
			return nil, nil, refuse("", "Query key condition not supported")
		}
		sorts = append(sorts, &test.SortCondition)
	}
	return values, sorts, nil
}

func (k *KeyCondition) test(name string) *KeyTest {
	for i := range k.tests {
		if k.tests[i].Name == name {
			return &k.tests[i]
		}
	}
	return nil
}

// collect finds the conditions under a node.
func (k *KeyCondition) collect(c *binding, n *node) error {
	switch n.op {
	case opOr, opNot, opIn, opNE:
		return refuse("", "Invalid operator used in KeyConditionExpression: %s", operators[n.op])
	case opExists, opNotExists, opType, opContains:
		return refuse("", "Invalid operator used in KeyConditionExpression: %s", n.name)
	case opAnd:
		for _, a := range n.args {
			if err := k.collect(c, a); err != nil {
				return err
			}
		}
		return nil
	}
	t, err := keyTest(c, n)
	if err != nil {
		return err
	}
	if k.test(t.Name) != nil {
		return refuse(KeyConditionExpression, "KeyConditionExpressions must only contain one condition per key")
	}
	k.tests = append(k.tests, t)
	return nil
}

// keyTest turns a comparison, a BETWEEN or a begins_with into a test of the one attribute that it names.
func keyTest(c *binding, n *node) (KeyTest, error) {
	if (n.op == opBetween || n.op == opBeginsWith) && n.args[0].op != opPath && n.args[0].op != opSize {
		return KeyTest{}, refuse("", "Invalid condition in KeyConditionExpression: %s operator must have the key attribute as its "+
			"first operand", first(n.name, operators[n.op]))
	}
	t, at := KeyTest{}, -1
	var values []types.AttributeValue
	for i, a := range n.args {
		switch a.op {
		case opPath:
			p := c.paths[a.number]
			if at >= 0 {
				return t, refuse("", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
			}
			if len(p) > 1 {
				return t, refuse("", "KeyConditionExpressions cannot have conditions on nested attributes")
			}
			t.Name, at = p.root(), i
		case opValue:
			values = append(values, c.values[a.number])
		default:
			return t, refuse("", "KeyConditionExpressions cannot contain nested operations")
		}
	}
	if at < 0 {
		return t, refuse("", "Invalid condition in KeyConditionExpression: No key attribute specified")
	}
	t.Op, t.Lo = sortOp(n.op, at > 0), values[0]
	if t.Op == BETWEEN {
		t.Hi = values[1]
	}
	return t, nil
}

// sortOp returns the comparison of an operator, turned around when the value stood first.
func sortOp(o op, turned bool) SortOp {
	if turned {
		o = map[op]op{opEQ: opEQ, opLT: opGT, opLE: opGE, opGT: opLT, opGE: opLE}[o]
	}
	return map[op]SortOp{opEQ: EQ, opLT: LT, opLE: LE, opGT: GT, opGE: GE, opBetween: BETWEEN, opBeginsWith: BEGINSWITH}[o]
}
