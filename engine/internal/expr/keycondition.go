package expr

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// SortOp is a comparison with a key attribute.
type SortOp byte

// The comparisons allowed in key conditions.
const (
	EQ SortOp = iota + 1
	LT
	LE
	GT
	GE
	BETWEEN
	BEGINSWITH
)

// SortCondition is a condition on one key attribute.
type SortCondition struct {
	Op SortOp
	Lo types.AttributeValue // the operand; for BETWEEN the lower bound, inclusive
	Hi types.AttributeValue // for BETWEEN the upper bound, inclusive; otherwise nil
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

// KeyTest is a condition on one attribute in a key condition.
type KeyTest struct {
	Name string
	SortCondition
}

// KeyCondition is a bound key condition.
type KeyCondition struct {
	tests []KeyTest
	err   error
}

// KeyCondition parses and binds a KeyConditionExpression. Errors are of type *Error. Whether the
// expression is a valid key condition is left to Check, because DynamoDB reports unused names and
// values first.
func (p *Parser) KeyCondition(src string, with *Bindings) (*KeyCondition, error) {
	c, err := p.Condition(KeyConditionExpression, src, with)
	if err != nil {
		return nil, err
	}
	k := &KeyCondition{}
	k.err = k.collect(&c.binding, c.tree.root)
	return k, nil
}

// Check rejects expressions that are not key conditions: operators not in SortOp, two conditions on
// one attribute, or operands other than an attribute and values. Resolve makes the same check.
func (k *KeyCondition) Check() error { return k.err }

// Tests returns the conditions in the order of the text, for a key of several attributes. They are
// valid if Check succeeds.
func (k *KeyCondition) Tests() []KeyTest { return k.tests }

// Resolve matches the condition with a key. Every partition attribute must be compared for
// equality. Sort attributes may have conditions, from the first one on, all of which except the
// last must be equalities. Resolve returns the values of the partition attributes and the
// conditions on the sort attributes. A nil k contains no condition.
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

// collect collects the conditions under a node.
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

// keyTest converts a comparison, BETWEEN or begins_with to a test of the attribute it names.
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

// sortOp returns the comparison for an operator, reversed if the value came first.
func sortOp(o op, turned bool) SortOp {
	if turned {
		o = map[op]op{opEQ: opEQ, opLT: opGT, opLE: opGE, opGT: opLT, opGE: opLE}[o]
	}
	return map[op]SortOp{opEQ: EQ, opLT: LT, opLE: LE, opGT: GT, opGE: GE, opBetween: BETWEEN, opBeginsWith: BEGINSWITH}[o]
}
