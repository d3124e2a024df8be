package oracle

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is one write of a request, with expressions or legacy parameters.
type Write struct {
	On        *Table
	Verb      string // Put, Update, Delete or Check
	Item      Item   // the whole item for a Put, otherwise the key
	Condition *Condition
	Update    Update
	Returns   string // ReturnValues
	Tell      bool   // return the item if the condition fails

	Bare   uint64 // which names in expressions are literal: see Writer
	Stray  string // a fault of the placeholders: see said.stray
	Units  types.ReturnConsumedCapacity
	Metric types.ReturnItemCollectionMetrics

	Legacy   bool // use AttributeUpdates and Expected
	Expected []Expectation
	Joined   string // ConditionalOperator
}

// Expectation is one attribute of Expected, either with a comparison or with Exists.
type Expectation struct {
	Attribute string
	Operator  string // of a comparison; "" with Exists
	Values    []types.AttributeValue
	Exists    *bool
}

// comparisons are the operators of Expected, with the number and types of their values.
var comparisons = map[string]struct {
	op       string
	min, max int
	kinds    []string
}{
	"EQ": {"=", 1, 1, nil}, "NE": {"<>", 1, 1, nil},
	"LT": {"<", 1, 1, scalars}, "LE": {"<=", 1, 1, scalars}, "GT": {">", 1, 1, scalars}, "GE": {">=", 1, 1, scalars},
	"CONTAINS": {"contains", 1, 1, scalars}, "NOT_CONTAINS": {"contains", 1, 1, scalars},
	"BEGINS_WITH": {"begins_with", 1, 1, []string{"S", "B"}}, "IN": {"IN", 1, 100, scalars}, "BETWEEN": {"BETWEEN", 2, 2, scalars},
	"NULL": {"attribute_not_exists", 0, 0, nil}, "NOT_NULL": {"attribute_exists", 0, 0, nil},
}

var scalars = []string{"S", "N", "B"}

// valid reports whether the expectation is valid.
func (e Expectation) valid() bool {
	if e.Attribute == "" || len(e.Attribute) > maxName || slices.ContainsFunc(e.Values, func(v types.AttributeValue) bool { return !validValue(v, 1) }) {
		return false
	}
	if e.Operator == "" {
		return (len(e.Values) == 1) == (e.Exists == nil || *e.Exists)
	}
	c, known := comparisons[e.Operator]
	if !known || e.Exists != nil || len(e.Values) < c.min || len(e.Values) > c.max {
		return false
	}
	for _, v := range e.Values {
		if kind(v) != kind(e.Values[0]) || c.kinds != nil && !slices.Contains(c.kinds, kind(v)) {
			return false
		}
	}
	if e.Operator == "BETWEEN" {
		n, ok := order(e.Values[0], e.Values[1])
		return ok && n <= 0
	}
	return true
}

// condition returns the equivalent condition.
func (e Expectation) condition() *Condition {
	path := Operand{Path: Path{e.Attribute}}
	if e.Operator == "" && len(e.Values) == 0 {
		return &Condition{Op: "attribute_not_exists", Of: []Operand{path}}
	}
	c := &Condition{Op: "=", Of: []Operand{path}}
	if e.Operator != "" {
		c.Op = comparisons[e.Operator].op
	}
	for _, v := range e.Values {
		c.Of = append(c.Of, Operand{Value: v})
	}
	if e.Operator != "NOT_CONTAINS" {
		return c
	}
	return &Condition{Op: "AND", Parts: []*Condition{{Op: "attribute_exists", Of: []Operand{path}}, {Op: "NOT", Parts: []*Condition{c}}}}
}

// condition returns the condition of the write from either kind of parameters, or nil.
func (w *Write) condition() *Condition {
	if len(w.Expected) == 0 {
		return w.Condition
	}
	all := &Condition{Op: "AND"}
	if w.Joined == "OR" {
		all.Op = "OR"
	}
	for _, e := range w.Expected {
		all.Parts = append(all.Parts, e.condition())
	}
	return all
}

// valid reports whether the write is valid regardless of table and item.
func (w *Write) valid() bool {
	if !validItem(w.Item) || w.Condition != nil && !w.Condition.valid() {
		return false
	}
	if s := w.say(); s.reserved || s.astray {
		return false
	}
	if !w.Legacy {
		return w.Update.valid()
	}
	if w.Condition != nil {
		return false // "Can not use both expression and non-expression parameters in the same request"
	}
	if slices.ContainsFunc(w.Expected, func(e Expectation) bool { return !e.valid() }) {
		return false
	}
	if w.Joined != "" && (len(w.Expected) < 2 || w.Joined != "AND" && w.Joined != "OR") {
		return false
	}
	return !slices.ContainsFunc(w.Update, func(a Action) bool { return !a.validLegacy() })
}

// validLegacy reports whether an action of AttributeUpdates is valid.
func (a Action) validLegacy() bool {
	if !validNames(a.Path) {
		return false
	}
	switch a.Clause {
	case "SET":
		return a.Term != nil && validValue(a.Term.Value, 1)
	case "ADD":
		return validValue(a.Value, 1) && (isSet(a.Value) || kind(a.Value) == "N" || kind(a.Value) == "L")
	case "DELETE":
		return validValue(a.Value, 1) && isSet(a.Value)
	}
	return a.Clause == "REMOVE"
}

// returnable reports whether the verb supports the ReturnValues.
func (w *Write) returnable() bool {
	if w.Returns == "" || w.Returns == "NONE" || w.Returns == "ALL_OLD" {
		return true
	}
	return w.Verb == "Update" && slices.Contains([]string{"ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"}, w.Returns)
}

// returned returns the attributes to return, given the item before and after.
func (w *Write) returned(old, next Item) Item {
	image := old
	if w.Returns == "ALL_NEW" || w.Returns == "UPDATED_NEW" {
		image = next
	}
	switch w.Returns {
	case "ALL_OLD", "ALL_NEW":
		return image
	case "UPDATED_OLD", "UPDATED_NEW":
		top := &part{}
		for _, a := range w.Update {
			if v := a.Path.in(image); v != nil {
				top.add(a.Path, v)
			}
		}
		if len(top.below) > 0 {
			return top.value().(*types.AttributeValueMemberM).Value
		}
	}
	return nil
}

// part is a part of an item: a whole value, or some of the values below it.
type part struct {
	whole types.AttributeValue
	below map[any]*part
}

func (p *part) add(path Path, v types.AttributeValue) {
	if len(path) == 0 {
		p.whole = v
		return
	}
	if p.below == nil {
		p.below = map[any]*part{}
	}
	if p.below[path[0]] == nil {
		p.below[path[0]] = &part{}
	}
	p.below[path[0]].add(path[1:], v)
}

// value converts the part to a value. List elements close up.
func (p *part) value() types.AttributeValue {
	if p.whole != nil {
		return p.whole
	}
	m, l := &types.AttributeValueMemberM{Value: Item{}}, &types.AttributeValueMemberL{}
	steps := slices.SortedFunc(maps.Keys(p.below), func(a, b any) int { return comparePaths(Path{a}, Path{b}) })
	for _, step := range steps {
		if name, ok := step.(string); ok {
			m.Value[name] = p.below[step].value()
		} else {
			l.Value = append(l.Value, p.below[step].value())
		}
	}
	if l.Value != nil {
		return l
	}
	return m
}
