package expr

import "strings"

// verb is the action of an update at a path.
type verb byte

const (
	verbSet verb = iota
	verbRemove
	verbAdd
	verbDelete
)

var verbs = [...]string{verbSet: "SET", verbRemove: "REMOVE", verbAdd: "ADD", verbDelete: "DELETE"}

// action is one element in a clause of an update expression.
type action struct {
	verb  verb
	path  int   // number of the target
	value *node // right-hand side of SET, operand of ADD and DELETE, nil for REMOVE
}

// The grammar of updates.
//
//	update  = clause { clause }
//	clause  = SET set { "," set } | REMOVE path { "," path } | ( ADD | DELETE ) path :value { "," path :value }
//	set     = path "=" value
//	value   = operand [ ( "+" | "-" ) operand ]
//	operand = "(" value ")" | function | :value | path
func updateGrammar(p *parser) {
	var seen [len(verbs)]bool
	for p.err == "" && (p.kind() != tokEOF || len(p.tree.actions) == 0) {
		v, ok := verbOf(p.text())
		if p.kind() != tokIdent || !ok {
			p.unexpected()
			return
		}
		if seen[v] {
			note(&p.tree.flaws.section, `The "`+verbs[v]+`" section can only be used once in an update expression;`)
		}
		seen[v] = true
		p.next()
		p.action(v)
		for p.accept(',') {
			p.action(v)
		}
	}
}

func verbOf(word string) (verb, bool) {
	for v, name := range verbs {
		if strings.EqualFold(word, name) {
			return verb(v), true
		}
	}
	return 0, false
}

func isUpdateKeyword(word string) bool {
	_, ok := verbOf(word)
	return ok
}

func (p *parser) action(v verb) {
	a := action{verb: v, path: p.path(isUpdateKeyword).number}
	switch v {
	case verbSet:
		p.expect('=')
		a.value = p.setValue()
	case verbAdd, verbDelete:
		a.value = p.value()
	}
	p.tree.actions = append(p.tree.actions, a)
}

func (p *parser) setValue() *node {
	n := p.setOperand()
	o := opPlus
	switch p.kind() {
	case '-':
		o = opMinus
	case '+':
	default:
		return n
	}
	p.next()
	p.tree.ops++
	return p.done(&node{op: o, args: []*node{n, p.setOperand()}})
}

func (p *parser) setOperand() *node {
	switch {
	case p.kind() == '(':
		if !p.enter() {
			return &node{}
		}
		defer p.leave()
		p.next()
		n := p.setValue()
		p.expect(')')
		return p.done(n)
	case p.kind() == tokValue:
		return p.value()
	case p.kind() == tokIdent && p.peek() == '(' && !isUpdateKeyword(p.text()):
		n := p.call(p.setOperand)
		// DynamoDB allows if_not_exists inside a function, but not list_append.
		for _, a := range n.args {
			if n.op == opListAppend && a.op == opListAppend {
				note(&p.tree.flaws.misused, "The function is not allowed to be used this way in an expression; function: list_append")
			}
		}
		return n
	}
	return p.path(isUpdateKeyword)
}
