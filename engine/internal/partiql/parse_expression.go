package partiql

import (
	"strconv"
	"strings"
)

// The grammar of expressions. NOT binds tighter than AND, AND tighter than OR.
//
//	or         = and { OR and }
//	and        = not { AND not }
//	not        = NOT not | comparison
//	comparison = sum { comparator sum | [NOT] BETWEEN sum AND sum | [NOT] IN sum | IS [NOT] type }
//	sum        = term { ( "+" | "-" ) term }
//	term       = literal | ? | path | function | "(" or ")" | EXISTS "(" select ")"

func (p *parser) expression() *node { return p.chain(opOr, "OR", p.and) }
func (p *parser) and() *node        { return p.chain(opAnd, "AND", p.not) }

// chain parses expressions joined by a word. Parenthesized parts joined by the same word are
// merged.
func (p *parser) chain(o op, word string, part func() *node) *node {
	first := part()
	if !p.tok().is(word) {
		return first
	}
	all := spliced(o, nil, first)
	for p.tok().is(word) {
		p.infix()
		all = spliced(o, all, part())
	}
	return &node{op: o, at: first.at, args: all}
}

func spliced(o op, all []*node, n *node) []*node {
	if n.op == o {
		return append(all, n.args...)
	}
	return append(all, n)
}

// infix consumes an operator, which must be followed by something.
func (p *parser) infix() {
	p.next()
	if t := p.tok(); p.err == nil && (t.kind == kEnd || t.is(";")) {
		p.fail(missingOperand)
	}
}

func (p *parser) not() *node {
	if !p.tok().is("NOT") {
		return p.comparison()
	}
	if !p.enter() {
		return &node{}
	}
	defer p.leave()
	at := p.next()
	return &node{op: opNot, at: at, args: []*node{p.not()}}
}

var comparators = map[string]op{"=": opEQ, "<>": opNE, "!=": opNE, "<": opLT, "<=": opLE, ">": opGT, ">=": opGE}

func (p *parser) comparison() *node {
	left := p.sum()
	for p.err == nil {
		t := p.tok()
		o, compares := comparators[t.text]
		negated := t.is("NOT") && (p.peek().is("IN") || p.peek().is("BETWEEN"))
		if negated {
			p.next()
		}
		n := &node{at: left.at, args: []*node{left}}
		switch {
		case t.kind == kMark && compares:
			p.infix()
			n.op, n.args = o, append(n.args, p.sum())
		case p.tok().is("BETWEEN"):
			p.infix()
			n.op, n.args = opBetween, append(n.args, p.sum())
			p.expect("AND")
			n.args = append(n.args, p.sum())
		case p.tok().is("IN"):
			p.infix()
			n.op, n.args = opIn, append(n.args, p.choices()...)
		case t.is("IS"):
			p.infix()
			n = p.is(n)
		default:
			return left
		}
		if left = n; negated {
			left = &node{op: opNot, at: n.at, args: []*node{n}}
		}
	}
	return left
}

// choices parses the operands of IN: (a, b) or [a, b].
func (p *parser) choices() []*node {
	if !p.tok().is("(") {
		if n := p.term(); n.op == opList || p.err != nil {
			return n.args
		}
		p.fail(unexpectedTerm)
		return nil
	}
	if !p.enter() {
		return nil
	}
	defer p.leave()
	p.next()
	return p.items(")")
}

// items parses comma-separated expressions up to and including a closing mark.
func (p *parser) items(closing string) []*node {
	var list []*node
	if p.accept(closing) {
		return nil
	}
	for p.err == nil {
		list = append(list, p.expression())
		if !p.accept(",") {
			p.expect(closing)
			break
		}
	}
	return list
}

// typeNames maps the names allowed after IS to the types of attribute_type, or "" for types that no
// value in DynamoDB has.
var typeNames = map[string]string{
	"NULL": "NULL", "MISSING": "", "BOOL": "BOOL", "BOOLEAN": "BOOL", "STRING": "S", "CHAR": "S", "CHARACTER": "S", "VARCHAR": "S",
	"CHARACTER VARYING": "S", "SYMBOL": "", "CLOB": "", "BLOB": "B", "TIMESTAMP": "", "DATE": "", "TIME": "", "LIST": "L", "SEXP": "", "STRUCT": "M", "TUPLE": "M",
	"BAG": "SET", "ANY": "ANY", "INT": "N", "INT2": "N", "INT4": "N", "INT8": "N", "INTEGER": "N", "INTEGER2": "N", "INTEGER4": "N", "INTEGER8": "N",
	"SMALLINT": "N", "BIGINT": "N", "FLOAT": "N", "REAL": "N", "DOUBLE PRECISION": "N", "DECIMAL": "N", "NUMERIC": "N", "NUMBER": "N",
}

// is parses the rest of x IS [NOT] type.
func (p *parser) is(n *node) *node {
	negated := p.accept("NOT")
	name := strings.ToUpper(p.tok().text)
	if long := name + " " + strings.ToUpper(p.peek().text); typeNames[long] != "" {
		name = long
		p.next()
	}
	if _, ok := typeNames[name]; !ok || p.tok().kind != kWord {
		p.fail(noTypeName)
		return n
	}
	p.next()
	n.op, n.text = opIs, name
	if negated {
		return &node{op: opNot, at: n.at, args: []*node{n}}
	}
	return n
}

func (p *parser) sum() *node {
	left := p.term()
	for p.err == nil && (p.tok().is("+") || p.tok().is("-")) {
		o := opPlus
		if p.tok().is("-") {
			o = opMinus
		}
		p.infix()
		left = &node{op: o, at: left.at, args: []*node{left, p.term()}}
	}
	return left
}

func (p *parser) term() *node {
	t := p.tok()
	switch {
	case t.kind == kText:
		p.next()
		return &node{op: opText, at: t, text: t.text}
	case t.kind == kNumber, t.is("-"), t.is("+"):
		return p.number()
	case t.kind == kParam:
		p.next()
		p.params++
		return &node{op: opParam, at: t, param: p.params - 1}
	case t.kind == kQuoted:
		return p.path()
	case t.kind == kWord:
		return p.word(t)
	case t.is("("), t.is("["), t.is("{"), t.is("<<"):
		return p.group(t)
	}
	p.unexpected()
	return &node{at: t}
}

// number parses a number with its signs.
func (p *parser) number() *node {
	at, negative := p.tok(), false
	for p.tok().is("-") || p.tok().is("+") {
		negative = negative != p.tok().is("-")
		p.infix()
	}
	t := p.tok()
	if t.kind != kNumber {
		p.unexpected()
		return &node{at: t}
	}
	p.next()
	text := t.text
	if negative {
		text = "-" + text
	}
	return &node{op: opNumber, at: at, text: text}
}

var constants = map[string]op{"TRUE": opTrue, "FALSE": opFalse, "NULL": opNull, "MISSING": opMissing}

func (p *parser) word(t token) *node {
	name := strings.ToUpper(t.text)
	if o, ok := constants[name]; ok {
		p.next()
		return &node{op: o, at: t}
	}
	if p.peek().is("(") && (!isReserved(name) || name == "EXISTS") {
		return p.call(p.next())
	}
	if isReserved(name) {
		p.unexpected()
		return &node{at: t}
	}
	return p.path()
}

// call parses a function's arguments, or the statement in EXISTS.
func (p *parser) call(name token) *node {
	if !p.enter() {
		return &node{at: name}
	}
	defer p.leave()
	p.next()
	n := &node{op: opCall, at: name, text: strings.ToLower(name.text)}
	if n.text == "exists" && p.tok().is("SELECT") {
		n.op, n.query = opQuery, p.statement()
		p.expect(")")
		return n
	}
	n.args = p.items(")")
	return n
}

// group parses a bracketed expression of any kind.
func (p *parser) group(t token) *node {
	if !p.enter() {
		return &node{at: t}
	}
	defer p.leave()
	p.next()
	switch t.text {
	case "(":
		n := p.expression()
		p.expect(")")
		return n
	case "[":
		return &node{op: opList, at: t, args: p.items("]")}
	case "<<":
		return &node{op: opBag, at: t, args: p.items(">>")}
	}
	n := &node{op: opTuple, at: t}
	for !p.accept("}") && p.err == nil {
		key := p.next()
		if key.kind != kText {
			p.fail(unexpectedTerm)
		}
		p.expect(":")
		n.keys, n.args = append(n.keys, key.text), append(n.args, p.expression())
		if !p.accept(",") && !p.tok().is("}") {
			p.unexpected()
		}
	}
	return n
}

// path parses a document path.
func (p *parser) path() *node {
	t := p.tok()
	if t.kind != kQuoted && (t.kind != kWord || isReserved(t.text)) {
		p.unexpected()
		return &node{at: t, path: []step{{index: -1}}}
	}
	n := &node{op: opPath, at: t, path: []step{{name: t.text, index: -1}}}
	p.next()
	for p.err == nil {
		switch {
		case p.accept("."):
			t := p.next()
			if t.kind != kQuoted && (t.kind != kWord || isReserved(t.text)) {
				p.fail(badComponent)
			}
			n.path = append(n.path, step{name: t.text, index: -1})
		case p.accept("["):
			n.path = append(n.path, p.component())
			p.expect("]")
		default:
			return n
		}
	}
	return n
}

// component parses the content of brackets in a path: an index, or a name as a string.
func (p *parser) component() step {
	t := p.tok()
	if t.kind == kText {
		p.next()
		return step{name: t.text, index: -1}
	}
	n := p.number()
	if p.err != nil {
		return step{}
	}
	i, err := strconv.ParseInt(n.text, 10, 32)
	if err != nil || i < 0 {
		p.refuse(p.refuseAt(p.toks[p.pos-1], "List index is not within the allowable range; index: [%s]", n.text))
	}
	return step{index: int(i)}
}
