package expr

// tree is a parsed expression: immutable, without values, and the same for every request with this text.
//
// Every path and every value in it has a number. A binding is two slices indexed by these numbers, so that binding does
// not copy the tree and evaluation needs no look-up by name.
type tree struct {
	root    *node    // of a condition
	actions []action // of an update
	paths   []path   // by number, in the order of the text
	refs    bool     // a path has a placeholder
	values  []string // placeholders by number
	ops     int      // AND, OR, NOT, comparisons, arithmetic and functions, but not the = of SET
	flaws   flaws
}

// flaws are what is wrong with an expression whose syntax is right. DynamoDB reports the first of each sort, and the
// sorts in a fixed order that depends on the kind of expression.
type flaws struct {
	depth    string // a path too deep, an index too large, too many operands
	parens   string
	function string // unknown
	misused  string // known, in a place where it must not stand
	reserved string
	section  string
}

// note keeps the first flaw of a sort.
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
	opFunction // one that is not known, which binding refuses
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

// node is an operand or a condition. Conditions that AND or OR joins are one node with all of them.
type node struct {
	op     op
	args   []*node
	number int    // of the path or value
	name   string // of the function, as written
	end    int    // the token after the node
	parens bool   // stands in parentheses
}

// isFunction reports whether the node was written name(…).
func (n *node) isFunction() bool { return n.op >= opFunction && n.op <= opListAppend }

// isOperand reports whether the node can only be an operand: a path or a value.
func (n *node) isOperand() bool { return n.op <= opValue }

// isCondition reports whether the node can only be a condition: not an operand and not a function.
func (n *node) isCondition() bool { return n.op >= opAnd && n.op <= opIn }

// conditionFunctions and updateFunctions are the functions of the two languages and their numbers of operands.
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

// operands returns how many operands a function takes.
func (n *node) operands() int {
	if f, ok := conditionFunctions[n.name]; ok {
		return f.operands
	}
	return updateFunctions[n.name].operands
}

// operators names comparators in messages.
var operators = map[op]string{opEQ: "=", opNE: "<>", opLT: "<", opLE: "<=", opGT: ">", opGE: ">=", opBetween: "BETWEEN",
	opIn: "IN", opPlus: "+", opMinus: "-", opAnd: "AND", opOr: "OR", opNot: "NOT"}
