package partiql

import (
	"strconv"
	"strings"

	"github.com/onefold/onefold/engine/internal/request"
)

// The grammar of statements.
//
//	select = SELECT ( "*" | path { "," path } ) FROM table [ "." index ] [ WHERE expression ] [ ORDER BY attr [ASC|DESC] { "," … } ]
//	insert = INSERT INTO table VALUE tuple
//	update = UPDATE table clause { clause } [ WHERE expression ] [ returning ]
//	       | FROM table [ WHERE expression ] clause { clause } [ returning ]
//	delete = DELETE FROM table [ WHERE expression ] [ returning ]
//	exists = EXISTS "(" select ")"
//	clause = SET path "=" expression { "," … } | REMOVE path { "," path }

func (p *parser) statement() *statement {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	s := new(statement)
	switch {
	case p.accept("SELECT"):
		p.selection(s)
	case p.accept("INSERT"):
		p.insertion(s)
	case p.accept("UPDATE"):
		s.verb = verbUpdate
		p.target(s)
		p.clauses(s)
		p.filter(s)
		p.returning(s)
	case p.accept("FROM"):
		s.verb = verbUpdate
		p.target(s)
		p.filter(s)
		p.clauses(s)
		p.returning(s)
	case p.accept("DELETE"):
		s.verb = verbDelete
		p.expect("FROM")
		p.target(s)
		p.filter(s)
		p.returning(s)
	case p.tok().is("EXISTS") && p.peek().is("("):
		return p.condition()
	default:
		p.bare()
	}
	return s
}

// condition parses EXISTS(SELECT …).
func (p *parser) condition() *statement {
	n := p.call(p.next())
	if n.query == nil {
		p.fail(noStatement)
		return nil
	}
	n.query.verb = verbExists
	return n.query
}

// bare rejects an expression that is not a statement.
func (p *parser) bare() {
	n := p.expression()
	whole := p.err == nil && p.tok().kind == kEnd
	p.err = nil
	if whole && n.op == opIs {
		p.refuse(request.Invalid("Unsupported operation: IsType"))
	}
	p.fail(noStatement)
}

func (p *parser) selection(s *statement) {
	p.columns(s)
	if p.err != nil {
		return
	}
	p.expect("FROM")
	if p.tok().kind == kEnd {
		p.fail(unexpectedTerm)
	}
	p.table(s, unexpectedTerm)
	if t := p.tok(); t.is("AS") || t.kind == kQuoted || t.kind == kWord && !isReserved(t.text) {
		p.refuse(request.Invalid("Aliasing is not supported"))
	}
	p.filter(s)
	if p.accept("ORDER") {
		p.expect("BY")
		p.ordering(s)
	}
	for _, clause := range []string{"LIMIT", "OFFSET", "GROUP", "HAVING"} {
		if p.accept(clause) {
			p.refuse(p.refuseAt(p.tok(), "Unsupported clause: %s", clause))
		}
	}
}

func (p *parser) columns(s *statement) {
	const alone = "'*' stands for all attributes and must be the only element of a projection."
	if p.accept("*") {
		if p.tok().is(",") {
			p.refuse(request.Invalid(alone))
		}
		return
	}
	seen := map[string]bool{}
	for p.err == nil {
		if p.tok().is("*") {
			p.refuse(request.Invalid(alone))
		}
		if t := p.tok(); t.kind == kWord && p.peek().is("(") {
			p.refuse(p.refuseAt(t, "Unexpected path component"))
		}
		c := newColumn(p.path().path)
		if seen[c.name] && p.err == nil {
			p.refuse(request.Invalid("Duplicate identifiers in select clause: %s", c.name))
		}
		seen[c.name] = true
		s.columns = append(s.columns, c)
		if p.tok().is("AS") {
			p.refuse(request.Invalid("Aliasing is not supported"))
		}
		if !p.accept(",") {
			return
		}
	}
}

func newColumn(path []step) column {
	var name strings.Builder
	from := len(path) - 1
	for from > 0 && path[from].index >= 0 {
		from--
	}
	name.WriteString(path[from].name)
	for _, st := range path[from+1:] {
		name.WriteString("[" + strconv.Itoa(st.index) + "]")
	}
	return column{name: name.String(), path: path}
}

// table parses the name of a table and possibly an index. missing is the error if there is none.
func (p *parser) table(s *statement, missing string) {
	if p.err != nil {
		return
	}
	t := p.tok()
	if t.kind != kQuoted && (t.kind != kWord || isReserved(t.text)) {
		p.fail(missing)
		return
	}
	s.table = p.next().text
	if p.accept(".") {
		t := p.next()
		if t.kind != kQuoted && t.kind != kWord {
			p.fail(badComponent)
		}
		s.index, s.indexed = t.text, true
	}
	switch {
	case p.tok().is("."):
		p.refuse(request.Invalid("A path may contain at most 2 components in the FROM clause"))
	case p.err == nil && (s.table == "" || s.indexed && s.index == ""):
		p.refuse(request.Invalid("Path component cannot be an empty string"))
	}
}

// target parses the table of an UPDATE or DELETE.
func (p *parser) target(s *statement) {
	p.table(s, noTable)
	if t := p.tok(); p.err == nil && (t.is("AS") || t.kind == kQuoted || t.kind == kWord && !isReserved(t.text)) {
		p.refuse(request.Invalid("Aliasing is not supported"))
	}
}

func (p *parser) filter(s *statement) {
	if p.err == nil && p.accept("WHERE") {
		s.where = p.expression()
	}
}

func (p *parser) ordering(s *statement) {
	for p.err == nil {
		n := p.path()
		term := orderTerm{attr: n.path[0].name}
		if term.desc = p.accept("DESC"); !term.desc {
			p.accept("ASC")
		}
		s.order = append(s.order, term)
		if !p.accept(",") {
			return
		}
	}
}

func (p *parser) insertion(s *statement) {
	s.verb = verbInsert
	p.expect("INTO")
	p.table(s, noTable)
	switch {
	case p.err != nil:
		return
	case s.indexed:
		p.refuse(request.Invalid("FROM clause may only contain a single table name"))
	case p.tok().is("("):
		p.fail(unexpectedWord)
	case !p.accept("VALUE"):
		p.fail(leftover)
	}
	s.value = p.expression()
	if p.err == nil && s.value.op != opTuple && s.value.op != opParam {
		p.fail(unexpectedTerm)
	}
}

// clauses parses the clauses of an UPDATE.
func (p *parser) clauses(s *statement) {
	if p.err == nil && !p.tok().is("SET") && !p.tok().is("REMOVE") {
		p.fail(noStatement)
	}
	for p.err == nil {
		switch {
		case p.accept("SET"):
			for more := true; more; more = p.accept(",") {
				a := assignment{target: p.path()}
				p.expect("=")
				a.value = p.sum()
				s.sets = append(s.sets, a)
			}
		case p.accept("REMOVE"):
			for more := true; more; more = p.accept(",") {
				s.removes = append(s.removes, p.path())
			}
		default:
			return
		}
	}
}

func (p *parser) returning(s *statement) {
	if p.err != nil || !p.accept("RETURNING") {
		return
	}
	extent, image := strings.ToUpper(p.next().text), strings.ToUpper(p.next().text)
	s.returning = extent + " " + image
	if extent != "ALL" && extent != "MODIFIED" || image != "OLD" && image != "NEW" {
		p.fail(unexpectedWord)
	}
	p.expect("*")
	if s.verb == verbDelete && s.returning != "ALL OLD" && p.err == nil {
		p.refuse(request.Invalid("Invalid returning clause: RETURNING %s *. Only RETURNING ALL OLD * is allowed in DELETE statements.", s.returning))
	}
}
