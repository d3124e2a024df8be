package expr

import (
	"strconv"
	"strings"
)

// parser is a recursive-descent parser with one token of lookahead (two, to distinguish a function
// from a path). After the first syntax error it is at the end of the text and returns empty nodes.
type parser struct {
	src   string
	toks  []token
	pos   int
	depth int
	err   string
	lang  map[string]function // functions of the language
	tree  *tree
}

// parse parses an expression with one of the grammars. The error is a reason without the name of a
// parameter.
func parse(src string, lang map[string]function, grammar func(*parser)) (*tree, string) {
	switch {
	case strings.TrimLeft(src, " \t\r\n") == "":
		return nil, "The expression can not be empty;"
	case len(src) > maxLength:
		return nil, "Expression size has exceeded the maximum allowed size; expression size: " + strconv.Itoa(len(src))
	}
	p := &parser{src: src, toks: tokenize(src), lang: lang, tree: &tree{}}
	grammar(p)
	if p.err == "" && p.kind() != tokEOF {
		p.unexpected()
	}
	if p.err == "" && p.tree.ops > maxOperators {
		// DynamoDB stops counting here and reports this number regardless of the actual one.
		p.err = "The expression contains too many operators; operator count: " + strconv.Itoa(maxOperators+1)
	}
	if p.err != "" {
		return nil, p.err
	}
	return p.tree, ""
}

func (p *parser) kind() tokenKind { return p.toks[p.pos].kind }
func (p *parser) text() string    { return p.textOf(p.pos) }

func (p *parser) textOf(i int) string { return p.src[p.toks[i].start:p.toks[i].end] }

// peek returns the kind of the token after the next.
func (p *parser) peek() tokenKind {
	if p.pos+1 < len(p.toks) {
		return p.toks[p.pos+1].kind
	}
	return tokEOF
}

func (p *parser) next() {
	if p.pos+1 < len(p.toks) {
		p.pos++
	}
}

// accept consumes the next token if it is of a kind.
func (p *parser) accept(kind tokenKind) bool {
	if p.kind() != kind {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(kind tokenKind) {
	if !p.accept(kind) {
		p.unexpected()
	}
}

// keyword reports whether the next token is a keyword, ignoring case.
func (p *parser) keyword(word string) bool {
	return p.kind() == tokIdent && strings.EqualFold(p.text(), word)
}

func (p *parser) acceptKeyword(word string) bool {
	if !p.keyword(word) {
		return false
	}
	p.next()
	return true
}

// unexpected rejects the next token.
func (p *parser) unexpected() { p.unexpectedAt(p.pos) }

// unexpectedAt rejects a token with DynamoDB's message, which quotes the token and the text around
// it.
func (p *parser) unexpectedAt(i int) {
	if p.err == "" {
		tok, from, to := p.textOf(i), p.toks[i].start, p.toks[i].end
		if i > 0 {
			from = p.toks[i-1].start
		}
		if p.toks[i].kind == tokEOF {
			tok = "<EOF>"
			to = p.toks[max(i-1, 0)].end
		} else if i+1 < len(p.toks) && p.toks[i+1].kind != tokEOF {
			to = p.toks[i+1].end
		}
		p.err = `Syntax error; token: "` + tok + `", near: "` + p.src[from:to] + `"`
	}
	p.pos = len(p.toks) - 1
}

// enter limits the recursion depth. Every enter that returns true must be followed by leave.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.unexpected()
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// done stores in the node the position of the token that follows it.
func (p *parser) done(n *node) *node {
	n.end = p.pos
	return n
}

// path parses a document path and numbers it.
func (p *parser) path(isKeyword func(string) bool) *node {
	steps := path{p.name(isKeyword)}
	n := &node{op: opPath, number: len(p.tree.paths)}
	p.tree.paths = append(p.tree.paths, p.steps(steps, isKeyword))
	return p.done(n)
}

// extend parses the rest of a path whose beginning was in parentheses.
func (p *parser) extend(n *node, isKeyword func(string) bool) {
	p.tree.paths[n.number] = p.steps(p.tree.paths[n.number], isKeyword)
	p.done(n)
}

func (p *parser) steps(steps path, isKeyword func(string) bool) path {
	for {
		switch {
		case p.accept('.'):
			steps = append(steps, p.name(isKeyword))
		case p.accept('['):
			steps = append(steps, step{index: p.index()})
			p.expect(']')
		default:
			if len(steps) > maxPath {
				note(&p.tree.flaws.depth, "The document path has too many nesting levels; nesting levels: "+strconv.Itoa(len(steps)))
			}
			return steps
		}
	}
}

func (p *parser) name(isKeyword func(string) bool) step {
	text := p.text()
	switch {
	case p.kind() == tokName:
		p.tree.refs = true
	case p.kind() != tokIdent || isKeyword(text):
		p.unexpected()
		return nameStep(text)
	case isReserved(text):
		note(&p.tree.flaws.reserved, "Attribute name is a reserved keyword; reserved keyword: "+text)
	}
	p.next()
	return nameStep(text)
}

func (p *parser) index() int {
	text := p.text()
	if p.kind() != tokInt {
		p.unexpected()
		return 0
	}
	p.next()
	i, err := strconv.Atoi(text)
	if err != nil || i > maxIndex {
		note(&p.tree.flaws.depth, "List index is not within the allowable range; index: ["+text+"]")
		return 0
	}
	return i
}

// value parses a :placeholder and numbers it.
func (p *parser) value() *node {
	n := &node{op: opValue, number: len(p.tree.values), name: p.text()}
	if p.kind() != tokValue {
		p.unexpected()
		return n
	}
	p.tree.values = append(p.tree.values, p.text())
	p.next()
	return p.done(n)
}

// call parses name(operand, …).
func (p *parser) call(operand func() *node) *node {
	n := &node{name: p.text()}
	f, ok := p.lang[n.name]
	n.op = f.op
	if !ok {
		n.op = opFunction
		note(&p.tree.flaws.function, p.unknown(n.name))
	}
	p.tree.ops++
	p.next()
	p.expect('(')
	if !p.enter() {
		return n
	}
	defer p.leave()
	n.args = p.list(operand)
	p.expect(')')
	return p.done(n)
}

func (p *parser) unknown(name string) string {
	if _, ok := updateFunctions[name]; ok {
		return "The function is not allowed in a condition expression; function: " + name
	}
	if _, ok := conditionFunctions[name]; ok {
		return "The function is not allowed in an update expression; function: " + name
	}
	return "Invalid function name; function: " + name
}

func (p *parser) list(operand func() *node) []*node {
	args := []*node{operand()}
	for p.accept(',') {
		args = append(args, operand())
	}
	return args
}

// misuse records functions in places where only operands are allowed.
func (p *parser) misuse(args ...*node) {
	for _, a := range args {
		if a.isFunction() && a.op != opFunction && a.op != opSize {
			note(&p.tree.flaws.misused, "The function is not allowed to be used this way in an expression; function: "+a.name)
		}
	}
}
