package expr

// tree is a parsed expression. It is immutable, contains no values, and is shared by all requests
// with the same text.
//
// Paths and values are numbered. A binding consists of two slices indexed by these numbers, so that
// binding does not copy the tree, and evaluation needs no lookup by name.
type tree struct {
	root    *node    // of a condition
	actions []action // of an update
	paths   []path   // by number, in the order of the text
	refs    bool     // a path has a placeholder
	values  []string // placeholders by number
	ops     int      // AND, OR, NOT, comparisons, arithmetic and functions, but not the = of SET
	flaws   flaws
}

// flaws are errors in an expression with correct syntax. DynamoDB reports the first error of each
// type, and types in a fixed order that depends on the kind of expression.
type flaws struct {
	depth    string // a path too deep, an index too large, too many operands
	parens   string
	function string // unknown function
	misused  string // known function in a place where it is not allowed
	reserved string
	section  string
}

// note records the first flaw of a type.
func note(flaw *string, text string) {
	if *flaw == "" {
		*flaw = text
	}
}

func first(flaws ...string) string {
	for _, f := range flaws {
		if f != "" {
			return f
		}
	}
	return ""
}

type op byte

const (
	opPath op = iota
	opValue
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
	opFunction // an unknown function, which binding rejects
	opExists
	opNotExists
	opType
	opBeginsWith
	opContains
	opSize
	opIfNotExists
	opListAppend
	opPlus
	opMinus
)

// node is an operand or a condition. Conditions joined by AND or OR are children of a single node.
type node struct {
	op     op
	args   []*node
	number int    // of the path or value
	name   string // of the function, as written
	end    int    // the token after the node
	parens bool   // in parentheses
}

// isFunction reports whether the node was written as name(…).
func (n *node) isFunction() bool { return n.op >= opFunction && n.op <= opListAppend }

// isOperand reports whether the node can only be an operand: a path or a value.
func (n *node) isOperand() bool { return n.op <= opValue }

// isCondition reports whether the node can only be a condition: neither an operand nor a function.
func (n *node) isCondition() bool { return n.op >= opAnd && n.op <= opIn }

// conditionFunctions and updateFunctions list the functions of the two languages with their numbers
// of operands.
var (
	conditionFunctions = map[string]function{
		"attribute_exists":     {opExists, 1},
		"attribute_not_exists": {opNotExists, 1},
		"attribute_type":       {opType, 2},
		"begins_with":          {opBeginsWith, 2},
		"contains":             {opContains, 2},
		"size":                 {opSize, 1},
	}
	updateFunctions = map[string]function{
		"if_not_exists": {opIfNotExists, 2},
		"list_append":   {opListAppend, 2},
	}
)

type function struct {
	op       op
	operands int
}

// operands returns the number of operands of a function.
func (n *node) operands() int {
	if f, ok := conditionFunctions[n.name]; ok {
		return f.operands
	}
	return updateFunctions[n.name].operands
}

// operators are the names of operators in messages.
var operators = map[op]string{opEQ: "=", opNE: "<>", opLT: "<", opLE: "<=", opGT: ">", opGE: ">=", opBetween: "BETWEEN",
	opIn: "IN", opPlus: "+", opMinus: "-", opAnd: "AND", opOr: "OR", opNot: "NOT"}
