package partiql

// statement is a parsed statement. It is immutable and does not contain the values of its
// parameters.
type statement struct {
	src       string
	verb      verb
	table     string
	index     string
	indexed   bool // names an index
	columns   []column
	where     *node
	order     []orderTerm
	value     *node // of an INSERT
	sets      []assignment
	removes   []*node
	returning string // in capitals, such as "ALL OLD"; "" for none
	params    int    // number of parameters
}

type verb byte

const (
	verbSelect verb = iota
	verbInsert
	verbUpdate
	verbDelete
	verbExists // EXISTS(SELECT …), a condition in a transaction
)

func (s *statement) reads() bool { return s.verb == verbSelect }

// column is one path of a projection, with its name in the result: the last named element and any
// indexes after it.
type column struct {
	name string
	path []step
}

type orderTerm struct {
	attr string
	desc bool
}

// assignment is one path = value in a SET.
type assignment struct {
	target *node
	value  *node
}

// step is one element of a document path: a name, or an index into a list.
type step struct {
	name  string
	index int // -1 for a name
}

type op byte

const (
	opPath    op = iota
	opText       // literals
	opNumber     //
	opTrue       //
	opFalse      //
	opNull       //
	opMissing    //
	opList       //
	opTuple      //
	opBag        //
	opParam      // ?
	opCall
	opPlus
	opMinus
	opAnd
	opOr
	opNot
	opEQ
	opNE
	opLT
	opLE
	opGT
	opGE
	opBetween
	opIn
	opIs
	opQuery // EXISTS(SELECT …)
)

// node is an expression. Expressions joined by AND or OR are children of one node, regardless of
// parentheses.
type node struct {
	op    op
	at    token // its first token
	args  []*node
	path  []step   // of opPath
	text  string   // text of a literal, lower-case name of a function, or upper-case name of a type
	keys  []string // of opTuple
	param int      // of opParam, from 0
	query *statement
}

// isAttr reports whether a node is a top-level attribute.
func (n *node) isAttr() bool { return n.op == opPath && len(n.path) == 1 }

// isValue reports whether a node is a literal or a parameter.
func (n *node) isValue() bool { return n.op >= opText && n.op <= opParam && n.op != opMissing }

// isCondition reports whether the value of a node is a truth value.
func (n *node) isCondition() bool {
	return n.op >= opAnd && n.op <= opIs || n.op == opCall && n.text != "size"
}

// names reports whether an expression names a top-level attribute.
func (n *node) names(attr string) bool {
	if n.op == opPath {
		return n.path[0].name == attr
	}
	for _, a := range n.args {
		if a.names(attr) {
			return true
		}
	}
	return false
}

// attrs appends the top-level attributes named in an expression that are not in list.
func (n *node) attrs(list []string) []string {
	if n.op == opPath {
		for _, name := range list {
			if name == n.path[0].name {
				return list
			}
		}
		return append(list, n.path[0].name)
	}
	for _, a := range n.args {
		list = a.attrs(list)
	}
	return list
}

// joined returns the conjunction or disjunction of conditions, or nil if there are none.
func joined(o op, parts []*node) *node {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return &node{op: o, at: parts[0].at, args: parts}
}

// conjuncts returns the conditions that must all hold.
func (n *node) conjuncts() []*node {
	switch {
	case n == nil:
		return nil
	case n.op == opAnd:
		return n.args
	}
	return []*node{n}
}
