package partiql

import "strings"

// maxDepth limits the nesting of parentheses, negations and literals. It protects the parser and is
// above the limits for conditions and values.
const maxDepth = 256

// parser is a recursive-descent parser. After the first error it is at the end of the text and
// returns empty nodes.
type parser struct {
	src    string
	toks   []token
	pos    int
	depth  int
	params int
	err    error
}

// parse parses one statement, optionally followed by a semicolon.
func parse(src string) (*statement, error) {
	toks, ok := tokenize(src)
	if !ok {
		return nil, malformed("")
	}
	p := &parser{src: src, toks: toks}
	s := p.statement()
	p.accept(";")
	if p.err == nil && p.tok().kind != kEnd {
		p.fail(leftover)
	}
	if p.err != nil {
		return nil, p.err
	}
	s.src, s.params = src, p.params
	return s, nil
}

func (p *parser) tok() token { return p.toks[p.pos] }

// peek returns the token after the next.
func (p *parser) peek() token { return p.toks[min(p.pos+1, len(p.toks)-1)] }

// next consumes a token and returns it.
func (p *parser) next() token {
	t := p.tok()
	if p.pos+1 < len(p.toks) {
		p.pos++
	}
	return t
}

// accept consumes the next token if it is the given mark or keyword.
func (p *parser) accept(word string) bool {
	if !p.tok().is(word) {
		return false
	}
	p.next()
	return true
}

// expect consumes a required mark or keyword.
func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.unexpected()
	}
}

func (p *parser) fail(detail string) { p.refuse(malformed(detail)) }

// refuse records the first error and moves the parser to the end.
func (p *parser) refuse(err error) {
	if p.err == nil {
		p.err = err
	}
	p.pos = len(p.toks) - 1
}

// unexpected rejects the next token where an expression should begin.
func (p *parser) unexpected() {
	t := p.tok()
	switch {
	case t.kind == kWord && isInfix(t.text):
		p.fail(unexpectedInfix)
	case t.kind == kWord && isReserved(t.text):
		p.fail(unexpectedWord)
	case t.kind == kMark && strings.Contains("=<>!*/%", t.text[:1]):
		p.fail(unexpectedInfix)
	default:
		p.fail(unexpectedTerm)
	}
}

// enter limits the recursion depth. Every enter that returns true must be followed by leave.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.fail(tooDeep)
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// infix lists the keywords that stand between two operands.
const infix = " AND OR IS IN LIKE BETWEEN "

// reserved lists the keywords that must be quoted when used as names: those in DynamoDB's
// statements, and those that only other PartiQL statements use.
const reserved = infix + " SELECT FROM WHERE INSERT INTO VALUE VALUES UPDATE SET REMOVE DELETE RETURNING ORDER BY ASC DESC NOT NULL " +
	" MISSING TRUE FALSE EXISTS AS AT GROUP HAVING LIMIT OFFSET UNION INTERSECT EXCEPT DISTINCT ALL ANY SOME JOIN INNER OUTER LEFT RIGHT " +
	" FULL CROSS NATURAL ON USING CASE WHEN THEN ELSE END CAST CREATE DROP TABLE PIVOT UNPIVOT LET KEY PRIMARY FOREIGN "

func isInfix(word string) bool    { return strings.Contains(infix, " "+strings.ToUpper(word)+" ") }
func isReserved(word string) bool { return strings.Contains(reserved, " "+strings.ToUpper(word)+" ") }
