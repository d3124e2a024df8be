package expr

import (
	"strconv"
	"strings"
)

// conditionGrammar parses conditions, filters and key conditions. NOT binds tighter than AND, and
// AND tighter than OR.
//
//	or         = and { OR and }
//	and        = not { AND not }
//	not        = NOT not | comparison
//	comparison = primary [ comparator operand | BETWEEN operand AND operand | IN "(" operand { "," operand } ")" ]
//	primary    = "(" or ")" | operand
//	operand    = "(" operand ")" | function | :value | path
//
// Whether "(" starts a condition or an operand is only known later. So both are parsed as a primary
// and distinguished by what follows.
func conditionGrammar(p *parser) {
	p.tree.root = p.or()
	p.condition(p.tree.root)
}

func isConditionKeyword(word string) bool {
	for _, k := range [...]string{"AND", "OR", "NOT", "IN", "BETWEEN"} {
		if strings.EqualFold(word, k) {
			return true
		}
	}
	return false
}

// condition rejects a node that is not a condition but is used as one.
func (p *parser) condition(n *node) {
	switch {
	case p.err != "":
	case n.isOperand():
		p.unexpectedAt(n.end)
	case n.op == opSize:
		note(&p.tree.flaws.misused, "The function is not allowed to be used this way in an expression; function: size")
	}
}

func (p *parser) or() *node  { return p.joined(opOr, "OR", p.and) }
func (p *parser) and() *node { return p.joined(opAnd, "AND", p.not) }

func (p *parser) joined(o op, word string, part func() *node) *node {
	n := part()
	if !p.keyword(word) {
		return n
	}
	p.condition(n)
	all := []*node{n}
	for p.acceptKeyword(word) {
		n = part()
		p.condition(n)
		p.tree.ops++
		all = append(all, n)
	}
	return p.done(&node{op: o, args: all})
}

func (p *parser) not() *node {
	if !p.acceptKeyword("NOT") {
		return p.comparison()
	}
	if !p.enter() {
		return &node{}
	}
	defer p.leave()
	p.tree.ops++
	n := p.not()
	p.condition(n)
	return p.done(&node{op: opNot, args: []*node{n}})
}

var comparators = map[tokenKind]op{'=': opEQ, tokNE: opNE, '<': opLT, tokLE: opLE, '>': opGT, tokGE: opGE}

func (p *parser) comparison() *node {
	left := p.primary()
	o, compares := comparators[p.kind()]
	switch {
	case compares:
	case p.keyword("BETWEEN"):
		o = opBetween
	case p.keyword("IN"):
		o = opIn
	default:
		return left
	}
	if left.isCondition() {
		p.unexpected()
		return left
	}
	p.next()
	n := &node{op: o, args: []*node{left}}
	p.tree.ops++
	switch o {
	case opBetween:
		lo := p.operand()
		if !p.acceptKeyword("AND") {
			p.unexpected()
		}
		n.args = append(n.args, lo, p.operand())
	case opIn:
		p.expect('(')
		n.args = append(n.args, p.list(p.operand)...)
		p.expect(')')
		if in := len(n.args) - 1; in > maxOperands {
			note(&p.tree.flaws.depth, "The IN operator is provided with too many operands; number of operands: "+strconv.Itoa(in))
		}
	default:
		n.args = append(n.args, p.operand())
	}
	p.misuse(n.args...)
	return p.done(n)
}

func (p *parser) primary() *node { return p.grouped(p.or) }
func (p *parser) operand() *node { return p.grouped(p.operand) }

// grouped parses an operand or a parenthesized expression, whose content is parsed by inner.
func (p *parser) grouped(inner func() *node) *node {
	switch {
	case p.kind() == '(':
		if !p.enter() {
			return &node{}
		}
		defer p.leave()
		p.next()
		n := inner()
		p.expect(')')
		if n.parens {
			note(&p.tree.flaws.parens, "The expression has redundant parentheses;")
		}
		n.parens = true
		p.done(n)
		if n.op == opPath && p.err == "" && (p.kind() == '.' || p.kind() == '[') {
			p.extend(n, isConditionKeyword)
			n.parens = false
		}
		return n
	case p.kind() == tokValue:
		return p.value()
	case p.kind() == tokIdent && p.peek() == '(' && !isConditionKeyword(p.text()):
		n := p.call(p.operand)
		p.misuse(n.args...)
		return n
	}
	return p.path(isConditionKeyword)
}
