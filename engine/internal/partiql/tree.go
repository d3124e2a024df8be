package partiql

// statement is a parsed statement: immutable, without the values of its parameters.
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
	returning string // as written, in capitals: "ALL OLD"; "" for none
	params    int    // how many ? it has
}

type verb byte

const (
	verbSelect verb = iota
	verbInsert
	verbUpdate
	verbDelete
	verbExists // EXISTS(SELECT …): a condition in a transaction
)

func (s *statement) reads() bool { return s.verb == verbSelect }

// column is one path of a projection and the name under which its value is answered: that of the last named element,
// with the indexes behind it.
type column struct {
	name string
	path []step
}

type orderTerm struct {
	attr string
	desc bool
}

// assignment is one path = value of a SET.
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

// node is an expression. What AND or OR joins is one node, however it was put in parentheses.
type node struct {
	op    op
	at    token // where it begins
	args  []*node
	path  []step   // of opPath
	text  string   // a literal's text, a function's name in lower case, a type's name in capitals
	keys  []string // of opTuple
	param int      // of opParam, from 0
	query *statement
}

// isAttr reports whether a node is a top-level attribute.
func (n *node) isAttr() bool { return n.op == opPath && len(n.path) == 1 }

// isValue reports whether a node is a literal or a parameter.
func (n *node) isValue() bool { return n.op >= opText && n.op <= opParam && n.op != opMissing }

// isCondition reports whether a node is true or false of an item.
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

// attrs appends the top-level attributes that an expression names and list has not.
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

// joined returns the conjunction or disjunction of conditions; nil for none.
func joined(o op, parts []*node) *node {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return &node{op: o, at: parts[0].at, args: parts}
}

// conjuncts returns the conditions that all must hold.
func (n *node) conjuncts() []*node {
	switch {
	case n == nil:
		return nil
	case n.op == opAnd:
		return n.args
	}
	return []*node{n}
}
