package partiql

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/request"
)

// formula is the text of a condition. Its rank determines where it needs parentheses.
type formula struct {
	text string
	rank rank
}

type rank byte

const (
	rankOr rank = iota
	rankAnd
	rankNot
	rankAtom
)

// maxChoices is the maximum number of operands of IN.
const maxChoices = 100

// maxFormula is DynamoDB's maximum length of an expression in bytes.
const maxFormula = 4096

// within returns the text of a formula, in parentheses if its rank is lower than r.
func (f formula) within(r rank) string {
	if f.rank < r {
		return "(" + f.text + ")"
	}
	return f.text
}

func conjunction(fs ...formula) formula { return combined(" AND ", rankAnd, fs) }
func disjunction(fs ...formula) formula { return combined(" OR ", rankOr, fs) }

func combined(word string, r rank, fs []formula) formula {
	if len(fs) == 1 {
		return fs[0]
	}
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = f.within(r + 1)
	}
	return formula{strings.Join(parts, word), r}
}

func negation(f formula) formula { return formula{"NOT " + f.within(rankNot), rankNot} }

// condition writes a condition.
func (w *writer) condition(n *node) (formula, error) {
	f, err := w.formula(n)
	if err == nil && len(f.text) > maxFormula {
		return f, request.Invalid("Expression size has exceeded the maximum allowed size; expression size: %d", len(f.text))
	}
	return f, err
}

func (w *writer) formula(n *node) (formula, error) {
	switch n.op {
	case opAnd, opOr:
		fs, err := w.conditions(n.args)
		if err != nil {
			return formula{}, err
		}
		if n.op == opAnd {
			return conjunction(fs...), nil
		}
		return disjunction(fs...), nil
	case opNot:
		f, err := w.condition(n.args[0])
		return negation(f), err
	case opIs:
		return w.is(n)
	case opCall:
		if !conditionFunctions[n.text] {
			return formula{}, w.unknown(n)
		}
		text, err := w.call(n)
		return formula{text, rankAtom}, err
	case opEQ, opNE, opLT, opLE, opGT, opGE, opBetween, opIn:
		return w.comparison(n)
	}
	return formula{}, request.Invalid("Unsupported condition in where clause at %s", place(w.lits.src, n.at))
}

func (w *writer) conditions(ns []*node) ([]formula, error) {
	fs := make([]formula, len(ns))
	for i, a := range ns {
		var err error
		if fs[i], err = w.condition(a); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

var operators = map[op]string{opEQ: "=", opNE: "<>", opLT: "<", opLE: "<=", opGT: ">", opGE: ">="}

// comparison writes a comparison of operands, or of conditions with truth values.
func (w *writer) comparison(n *node) (formula, error) {
	for i, a := range n.args {
		if a.isCondition() {
			return w.truth(n, i)
		}
	}
	parts := make([]string, len(n.args))
	for i, a := range n.args {
		var err error
		if parts[i], err = w.operand(a); err != nil {
			return formula{}, err
		}
	}
	switch n.op {
	case opBetween:
		return formula{parts[0] + " BETWEEN " + parts[1] + " AND " + parts[2], rankAtom}, nil
	case opIn:
		if len(parts) == 1 {
			return formula{}, malformed(unexpectedTerm)
		}
		return formula{parts[0] + " IN (" + strings.Join(parts[1:], ",") + ")", rankAtom}, nil
	}
	return formula{parts[0] + operators[n.op] + parts[1], rankAtom}, nil
}

// truth writes a comparison in which argument i is a condition, whose value is true or false.
func (w *writer) truth(n *node, i int) (formula, error) {
	if n.op != opEQ && n.op != opNE && (n.op != opIn || i > 0) {
		name := operators[n.op]
		if n.op == opBetween || n.op == opIn {
			name = map[op]string{opBetween: "BETWEEN", opIn: "IN"}[n.op]
		}
		return formula{}, request.Invalid("Incorrect operand type for operator or function; operator or function: %s, operand type: BOOL", name)
	}
	f, err := w.condition(n.args[i])
	if err != nil {
		return f, err
	}
	others := n.args[1:]
	if i == 1 {
		others = n.args[:1]
	}
	if len(others) > maxChoices {
		return f, request.Invalid("The IN operator is provided with too many operands; number of operands: %d", len(others))
	}
	var either []formula
	for _, o := range others {
		same, err := w.agrees(f, o)
		if err != nil {
			return f, err
		}
		either = append(either, same)
	}
	f = disjunction(either...)
	if n.op == opNE {
		f = negation(f)
	}
	return f, nil
}

// agrees writes that a condition has the same truth value as another expression.
func (w *writer) agrees(f formula, o *node) (formula, error) {
	switch {
	case o.isCondition():
		g, err := w.condition(o)
		return disjunction(conjunction(f, g), conjunction(negation(f), negation(g))), err
	case o.op == opPath:
		p, err := w.path(o.path)
		yes := formula{p + "=" + w.value(&types.AttributeValueMemberBOOL{Value: true}), rankAtom}
		no := formula{p + "=" + w.value(&types.AttributeValueMemberBOOL{Value: false}), rankAtom}
		return disjunction(conjunction(f, yes), conjunction(negation(f), no)), err
	case !o.isValue():
		return f, request.Invalid("Unsupported operand in where clause at %s", place(w.lits.src, o.at))
	}
	av, err := w.lits.of(o)
	if err != nil {
		return f, err
	}
	b, ok := av.(*types.AttributeValueMemberBOOL)
	switch {
	case !ok:
		return conjunction(f, negation(f)), nil // no other value is a truth value
	case b.Value:
		return f, nil
	}
	return negation(f), nil
}

// is writes a type test.
func (w *writer) is(n *node) (formula, error) {
	if n.args[0].op != opPath {
		return formula{}, request.Invalid("Operator or function requires a document path; operator or function: IS")
	}
	p, err := w.path(n.args[0].path)
	if err != nil {
		return formula{}, err
	}
	of := func(name string) formula {
		return formula{"attribute_type(" + p + "," + w.value(&types.AttributeValueMemberS{Value: name}) + ")", rankAtom}
	}
	switch t := typeNames[n.text]; {
	case n.text == "MISSING":
		return formula{"attribute_not_exists(" + p + ")", rankAtom}, nil
	case t == "ANY":
		return formula{"attribute_exists(" + p + ")", rankAtom}, nil
	case t == "SET":
		return disjunction(of("SS"), of("NS"), of("BS")), nil
	case t == "":
		return conjunction(formula{"attribute_exists(" + p + ")", rankAtom}, formula{"attribute_not_exists(" + p + ")", rankAtom}), nil
	default:
		return of(t), nil
	}
}

// checkCondition binds a whole condition, to find its errors regardless of the table.
func (v *values) checkCondition(n *node, parser *expr.Parser) error {
	if n == nil {
		return nil
	}
	w := v.writer()
	f, err := w.condition(n)
	if err != nil {
		return err
	}
	b, err := expr.NewBindings(w.bindings())
	if err == nil {
		_, err = parser.Condition(expr.FilterExpression, f.text, b)
	}
	return asRefusal(err)
}
