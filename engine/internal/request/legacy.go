package request

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// Expressions are the parameters of a write besides its key or item.
type Expressions struct {
	Update    *string
	Condition *string
	Names     map[string]string
	Values    map[string]types.AttributeValue
}

// The parameters of the time before expressions are answered by writing the expression that says the same.

// LegacyWrite are those of a write.
type LegacyWrite struct {
	Updates  map[string]types.AttributeValueUpdate
	Expected map[string]types.ExpectedAttributeValue
	Operator types.ConditionalOperator
}

// CheckLegacy refuses expressions beside legacy parameters and turns the latter into expressions.
func (e *Expressions) CheckLegacy(l LegacyWrite, updates bool) error {
	exprs := []Expression{{Name: "ConditionExpression", Source: e.Condition}}
	if updates {
		exprs = []Expression{{Name: "UpdateExpression", Source: e.Update}, {Name: "ConditionExpression", Source: e.Condition}}
	}
	legacy := []Legacy{{Name: "AttributeUpdates", Given: l.Updates != nil}, {Name: "Expected", Given: l.Expected != nil}, {Name: "ConditionalOperator", Given: l.Operator != ""}}
	if err := CheckMix(exprs, legacy, e.Names, e.Values); err != nil {
		return err
	}
	if l.Updates == nil && l.Expected == nil {
		return nil
	}
	w := NewWriter()
	if err := w.update(l.Updates); err != nil {
		return err
	}
	if err := w.expect(l.Expected, l.Operator); err != nil {
		return err
	}
	e.Update, e.Condition, e.Names, e.Values = w.sets(), w.Condition(l.Operator), NonEmpty(w.Names), NonEmpty(w.Values)
	return nil
}

// NonEmpty makes an empty map a parameter that was not given.
func NonEmpty[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Project writes the projection that AttributesToGet asks for.
func (w *Writer) Project(attributes []string) (*string, error) {
	seen := map[string]bool{}
	var list []string
	for _, a := range attributes {
		if seen[a] {
			return nil, Invalid("One or more parameter values were invalid: Duplicate value in attribute name: %s", a)
		}
		seen[a] = true
		list = append(list, w.name(a))
	}
	return joined(list, ", "), nil
}

// Writer writes expressions. Attributes are taken in the order of their names, so that equal requests have equal
// texts and are parsed once.
type Writer struct {
	Names   map[string]string
	Values  map[string]types.AttributeValue
	clauses map[string][]string // of an update expression, by keyword
	terms   []string            // of a condition
}

// NewWriter returns a Writer that has written nothing.
func NewWriter() *Writer {
	return &Writer{Names: map[string]string{}, Values: map[string]types.AttributeValue{}, clauses: map[string][]string{}}
}

func (w *Writer) name(attr string) string {
	n := "#l" + strconv.Itoa(len(w.Names))
	w.Names[n] = attr
	return n
}

func (w *Writer) value(v types.AttributeValue) string {
	n := ":l" + strconv.Itoa(len(w.Values))
	w.Values[n] = v
	return n
}

func (w *Writer) update(updates map[string]types.AttributeValueUpdate) error {
	for _, attr := range slices.Sorted(maps.Keys(updates)) {
		u := updates[attr]
		switch {
		case u.Value == nil && u.Action != types.AttributeActionDelete:
			return Invalid("One or more parameter values were invalid: Only DELETE action is allowed when no attribute value is specified")
		case u.Value == nil:
			w.clauses["REMOVE"] = append(w.clauses["REMOVE"], w.name(attr))
		case u.Action == types.AttributeActionDelete:
			if !isSet(u.Value) {
				return Invalid("One or more parameter values were invalid: DELETE action with value is not supported for the type %s", item.TypeName(u.Value))
			}
			w.clauses["DELETE"] = append(w.clauses["DELETE"], w.name(attr)+" "+w.value(u.Value))
		case u.Action == types.AttributeActionAdd:
			w.addUpdate(attr, u.Value)
		default:
			w.clauses["SET"] = append(w.clauses["SET"], w.name(attr)+" = "+w.value(u.Value))
		}
	}
	return nil
}

// addUpdate writes ADD, which for a list means to append to it.
func (w *Writer) addUpdate(attr string, v types.AttributeValue) {
	if _, ok := v.(*types.AttributeValueMemberL); ok {
		n := w.name(attr)
		empty := w.value(&types.AttributeValueMemberL{Value: []types.AttributeValue{}})
		w.clauses["SET"] = append(w.clauses["SET"], n+" = list_append(if_not_exists("+n+", "+empty+"), "+w.value(v)+")")
		return
	}
	w.clauses["ADD"] = append(w.clauses["ADD"], w.name(attr)+" "+w.value(v))
}

func isSet(v types.AttributeValue) bool {
	return slices.Contains([]string{"SS", "NS", "BS"}, item.TypeName(v))
}

// sets returns the update expression; nil for none.
func (w *Writer) sets() *string {
	var parts []string
	for _, keyword := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
		if list := w.clauses[keyword]; len(list) > 0 {
			parts = append(parts, keyword+" "+strings.Join(list, ", "))
		}
	}
	return joined(parts, " ")
}

// Condition returns the condition; nil for none.
func (w *Writer) Condition(op types.ConditionalOperator) *string {
	if op == types.ConditionalOperatorOr {
		return joined(w.terms, " OR ")
	}
	return joined(w.terms, " AND ")
}

func joined(parts []string, sep string) *string {
	if len(parts) == 0 {
		return nil
	}
	s := strings.Join(parts, sep)
	return &s
}

func (w *Writer) expect(expected map[string]types.ExpectedAttributeValue, op types.ConditionalOperator) error {
	for _, attr := range slices.Sorted(maps.Keys(expected)) {
		x := expected[attr]
		if err := checkExpected(attr, x); err != nil {
			return err
		}
		cond := types.Condition{ComparisonOperator: x.ComparisonOperator, AttributeValueList: x.AttributeValueList}
		switch {
		case x.ComparisonOperator != "" && x.Value != nil:
			cond.AttributeValueList = []types.AttributeValue{x.Value}
		case x.ComparisonOperator != "":
		case x.Exists != nil && !*x.Exists:
			cond.ComparisonOperator = types.ComparisonOperatorNull
		default:
			cond = types.Condition{ComparisonOperator: types.ComparisonOperatorEq, AttributeValueList: []types.AttributeValue{x.Value}}
		}
		if err := w.Compare(attr, cond); err != nil {
			return err
		}
	}
	return nil
}

func checkExpected(attr string, x types.ExpectedAttributeValue) error {
	const invalid = "One or more parameter values were invalid: "
	operator := x.ComparisonOperator
	needsNone := operator == types.ComparisonOperatorNull || operator == types.ComparisonOperatorNotNull
	switch {
	case x.Value != nil && x.AttributeValueList != nil:
		return Invalid(invalid+"Value and AttributeValueList cannot be used together for Attribute: %s", attr)
	case operator != "" && x.Exists != nil:
		return Invalid(invalid+"Exists and ComparisonOperator cannot be used together for Attribute: %s", attr)
	case operator != "" && !needsNone && x.Value == nil && x.AttributeValueList == nil:
		return Invalid(invalid+"Value or AttributeValueList must be used with ComparisonOperator: %s for Attribute: %s", operator, attr)
	case operator != "":
		return nil
	case x.AttributeValueList != nil:
		return Invalid(invalid+"AttributeValueList can only be used with a ComparisonOperator for Attribute: %s", attr)
	case x.Exists == nil && x.Value == nil:
		return Invalid(invalid+"Value must be provided when Exists is null for Attribute: %s", attr)
	case x.Exists != nil && *x.Exists && x.Value == nil:
		return Invalid(invalid+"Value must be provided when Exists is true for Attribute: %s", attr)
	case x.Exists != nil && !*x.Exists && x.Value != nil:
		return Invalid(invalid+"Value cannot be used when Exists is false for Attribute: %s", attr)
	}
	return nil
}

// arguments is how many values a comparison takes; -1 is one or more.
func arguments(op types.ComparisonOperator) int {
	switch op {
	case types.ComparisonOperatorNull, types.ComparisonOperatorNotNull:
		return 0
	case types.ComparisonOperatorBetween:
		return 2
	case types.ComparisonOperatorIn:
		return -1
	}
	return 1
}

// Compare adds one comparison to the condition.
func (w *Writer) Compare(attr string, c types.Condition) error {
	want := arguments(c.ComparisonOperator)
	if n := len(c.AttributeValueList); n != want && (want >= 0 || n == 0) {
		return Invalid("One or more parameter values were invalid: Invalid number of argument(s) for the %s ComparisonOperator", c.ComparisonOperator)
	}
	for _, v := range c.AttributeValueList {
		if item.TypeName(v) != item.TypeName(c.AttributeValueList[0]) {
			return Invalid("One or more parameter values were invalid: AttributeValues inside AttributeValueList must be of same type")
		}
	}
	n := w.name(attr)
	args := make([]string, 0, len(c.AttributeValueList))
	for _, v := range c.AttributeValueList {
		args = append(args, w.value(v))
	}
	term, err := legacyTerm(n, c.ComparisonOperator, args)
	if err == nil {
		w.terms = append(w.terms, term)
	}
	return err
}

func legacyTerm(n string, op types.ComparisonOperator, args []string) (string, error) {
	switch op {
	case types.ComparisonOperatorEq:
		return n + " = " + args[0], nil
	case types.ComparisonOperatorNe:
		return n + " <> " + args[0], nil
	case types.ComparisonOperatorLt:
		return n + " < " + args[0], nil
	case types.ComparisonOperatorLe:
		return n + " <= " + args[0], nil
	case types.ComparisonOperatorGt:
		return n + " > " + args[0], nil
	case types.ComparisonOperatorGe:
		return n + " >= " + args[0], nil
	case types.ComparisonOperatorNull:
		return "attribute_not_exists(" + n + ")", nil
	case types.ComparisonOperatorNotNull:
		return "attribute_exists(" + n + ")", nil
	case types.ComparisonOperatorContains:
		return "contains(" + n + ", " + args[0] + ")", nil
	case types.ComparisonOperatorNotContains:
		return "(attribute_exists(" + n + ") AND NOT contains(" + n + ", " + args[0] + "))", nil
	case types.ComparisonOperatorBeginsWith:
		return "begins_with(" + n + ", " + args[0] + ")", nil
	case types.ComparisonOperatorIn:
		return n + " IN (" + strings.Join(args, ", ") + ")", nil
	case types.ComparisonOperatorBetween:
		return n + " BETWEEN " + args[0] + " AND " + args[1], nil
	}
	return "", Invalid("Unsupported comparison operator: %s", op)
}

// Selection is what a read asks for of an item.
type Selection struct {
	Projection *string
	Names      map[string]string
	Attributes []string // the legacy AttributesToGet
}

// Check refuses a projection beside AttributesToGet, which it turns into a projection.
func (sel *Selection) Check() error {
	err := CheckMix([]Expression{{Name: "ProjectionExpression", Source: sel.Projection}}, []Legacy{{Name: "AttributesToGet", Given: sel.Attributes != nil}}, sel.Names, nil)
	if err != nil || sel.Attributes == nil {
		return err
	}
	w := NewWriter()
	if sel.Projection, err = w.Project(sel.Attributes); err != nil {
		return err
	}
	sel.Names = NonEmpty(w.Names)
	return nil
}
