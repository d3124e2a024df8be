package request

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/item"
)

// Expressions are the expression parameters of a write.
type Expressions struct {
	Update    *string
	Condition *string
	Names     map[string]string
	Values    map[string]types.AttributeValue
}

// Legacy parameters are handled by converting them to equivalent expressions.

// LegacyWrite contains the legacy parameters of a write.
type LegacyWrite struct {
	Updates  map[string]types.AttributeValueUpdate
	Expected map[string]types.ExpectedAttributeValue
	Operator types.ConditionalOperator
}

// The allowed values, in the order in which DynamoDB lists them.
var (
	comparisonOperators  = []string{"IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"}
	conditionalOperators = []string{"OR", "AND"}
)

// check records members with values that are not allowed.
func (l *LegacyWrite) check(c *Members) {
	for _, attr := range slices.Sorted(maps.Keys(l.Updates)) {
		CheckEnum(c, "attributeUpdates."+attr+".member.action", l.Updates[attr].Action, "ADD", "DELETE", "PUT")
	}
	for _, attr := range slices.Sorted(maps.Keys(l.Expected)) {
		CheckEnum(c, "expected."+attr+".member.comparisonOperator", l.Expected[attr].ComparisonOperator, comparisonOperators...)
	}
	CheckEnum(c, "conditionalOperator", l.Operator, conditionalOperators...)
}

// checkConditions records members of KeyConditions and filters with values that are not allowed.
func checkConditions(c *Members, member string, conditions map[string]types.Condition) {
	for _, attr := range slices.Sorted(maps.Keys(conditions)) {
		at := member + "." + attr + ".member.comparisonOperator"
		if conditions[attr].ComparisonOperator == "" {
			c.AddNull(at)
		}
		CheckEnum(c, at, conditions[attr].ComparisonOperator, comparisonOperators...)
	}
}

// checkOperator rejects a ConditionalOperator with nothing to join. n is the number of conditions.
func checkOperator(op types.ConditionalOperator, n int) error {
	switch {
	case op == "" || n > 1:
		return nil
	case n == 1:
		return Invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
	}
	return Invalid("ConditionalOperator cannot be used without Filter or Expected")
}

// CheckLegacy rejects a mix of expressions and legacy parameters, and converts the latter to
// expressions.
func (e *Expressions) CheckLegacy(l LegacyWrite, updates bool) error {
	exprs := []Expression{{Name: "ConditionExpression", Source: e.Condition}}
	if updates {
		exprs = []Expression{{Name: "UpdateExpression", Source: e.Update}, {Name: "ConditionExpression", Source: e.Condition}}
	}
	legacy := []Legacy{{Name: "AttributeUpdates", Given: l.Updates != nil}, {Name: "Expected", Given: l.Expected != nil}, {Name: "ConditionalOperator", Given: l.Operator != ""}}
	if err := CheckMix(exprs, legacy, e.Names, e.Values); err != nil {
		return err
	}
	if err := checkOperator(l.Operator, len(l.Expected)); err != nil {
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

// NonEmpty returns nil for an empty map, so that it counts as not given.
func NonEmpty[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Project writes the projection for AttributesToGet.
func (w *Writer) Project(attributes []string) (*string, error) {
	seen := map[string]bool{}
	var list []string
	for _, a := range attributes {
		if seen[a] {
			return nil, Invalid("One or more parameter values were invalid: Duplicate value in attribute name: %s", a)
		}
		seen[a] = true
		name, err := w.name(a)
		if err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return joined(list, ", "), nil
}

// Writer writes expressions. It processes attributes in the order of their names, so that equal
// requests have equal texts, which are parsed only once.
type Writer struct {
	Names   map[string]string
	Values  map[string]types.AttributeValue
	clauses map[string][]string // of an update expression, by keyword
	terms   []string            // of a condition
}

// NewWriter returns an empty Writer.
func NewWriter() *Writer {
	return &Writer{Names: map[string]string{}, Values: map[string]types.AttributeValue{}, clauses: map[string][]string{}}
}

func (w *Writer) name(attr string) (string, error) {
	if err := item.CheckName(attr); err != nil {
		return "", Invalid("%s", err)
	}
	n := "#l" + strconv.Itoa(len(w.Names))
	w.Names[n] = attr
	return n, nil
}

// value adds a normalized value and returns its placeholder.
func (w *Writer) value(v types.AttributeValue) string {
	n := ":l" + strconv.Itoa(len(w.Values))
	w.Values[n] = v
	return n
}

func normalizeValue(v types.AttributeValue) (types.AttributeValue, error) {
	n, err := item.NormalizeValue(v)
	if err != nil {
		return nil, Invalid("%s", err)
	}
	return n, nil
}

func (w *Writer) update(updates map[string]types.AttributeValueUpdate) error {
	for _, attr := range slices.Sorted(maps.Keys(updates)) {
		name, err := w.name(attr)
		if err != nil {
			return err
		}
		if err := w.updateOne(name, updates[attr]); err != nil {
			return err
		}
	}
	return nil
}

// updateOne writes the update of one attribute.
func (w *Writer) updateOne(name string, u types.AttributeValueUpdate) (err error) {
	if u.Value == nil {
		if u.Action != types.AttributeActionDelete {
			return Invalid("One or more parameter values were invalid: Only DELETE action is allowed when no attribute value is specified")
		}
		w.clauses["REMOVE"] = append(w.clauses["REMOVE"], name)
		return nil
	}
	if u.Value, err = normalizeValue(u.Value); err != nil {
		return err
	}
	kind := item.TypeName(u.Value)
	switch u.Action {
	case types.AttributeActionDelete:
		if !isSet(u.Value) {
			return Invalid("One or more parameter values were invalid: DELETE action with value is not supported for the type %s", kind)
		}
		w.clauses["DELETE"] = append(w.clauses["DELETE"], name+" "+w.value(u.Value))
	case types.AttributeActionAdd:
		if kind == "L" { // a legacy ADD appends to lists, unlike ADD in expressions
			empty := w.value(&types.AttributeValueMemberL{Value: []types.AttributeValue{}})
			w.clauses["SET"] = append(w.clauses["SET"], name+" = list_append(if_not_exists("+name+", "+empty+"), "+w.value(u.Value)+")")
			return nil
		}
		if !isSet(u.Value) && kind != "N" {
			return Invalid("One or more parameter values were invalid: ADD action is not supported for the type %s", kind)
		}
		w.clauses["ADD"] = append(w.clauses["ADD"], name+" "+w.value(u.Value))
	default:
		w.clauses["SET"] = append(w.clauses["SET"], name+" = "+w.value(u.Value))
	}
	return nil
}

func isSet(v types.AttributeValue) bool {
	return slices.Contains([]string{"SS", "NS", "BS"}, item.TypeName(v))
}

// sets returns the update expression, or nil if it is empty.
func (w *Writer) sets() *string {
	var parts []string
	for _, keyword := range []string{"SET", "REMOVE", "ADD", "DELETE"} {
		if list := w.clauses[keyword]; len(list) > 0 {
			parts = append(parts, keyword+" "+strings.Join(list, ", "))
		}
	}
	return joined(parts, " ")
}

// Condition returns the condition, or nil if it is empty.
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

// arguments returns the number of values of a comparison; -1 means one or more.
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

// comparableTypes are the types of values allowed in a comparison; comparisons not listed allow
// all.
var comparableTypes = map[types.ComparisonOperator]string{
	types.ComparisonOperatorLt: "S N B", types.ComparisonOperatorLe: "S N B", types.ComparisonOperatorGt: "S N B", types.ComparisonOperatorGe: "S N B",
	types.ComparisonOperatorContains: "S N B", types.ComparisonOperatorNotContains: "S N B", types.ComparisonOperatorBeginsWith: "S B",
	types.ComparisonOperatorIn: "S N B", types.ComparisonOperatorBetween: "S N B",
}

// Compare adds one comparison to the condition.
func (w *Writer) Compare(attr string, c types.Condition) error {
	values, err := comparedWith(c)
	if err != nil {
		return err
	}
	n, err := w.name(attr)
	if err != nil {
		return err
	}
	args := make([]string, 0, len(values))
	for _, v := range values {
		args = append(args, w.value(v))
	}
	term, err := legacyTerm(n, c.ComparisonOperator, args)
	if err == nil {
		w.terms = append(w.terms, term)
	}
	return err
}

// comparedWith validates and normalizes the values of a comparison.
func comparedWith(c types.Condition) ([]types.AttributeValue, error) {
	const invalid = "One or more parameter values were invalid: "
	op, values := c.ComparisonOperator, make([]types.AttributeValue, len(c.AttributeValueList))
	for i, v := range c.AttributeValueList {
		var err error
		if values[i], err = normalizeValue(v); err != nil {
			return nil, err
		}
	}
	want := arguments(op)
	if n := len(values); n != want && (want >= 0 || n == 0) {
		return nil, Invalid(invalid+"Invalid number of argument(s) for the %s ComparisonOperator", op)
	}
	for _, v := range values {
		if item.TypeName(v) != item.TypeName(values[0]) {
			return nil, Invalid(invalid + "AttributeValues inside AttributeValueList must be of same type")
		}
	}
	for _, v := range values {
		if of, bound := comparableTypes[op]; bound && !slices.Contains(strings.Fields(of), item.TypeName(v)) {
			return nil, Invalid(invalid+"ComparisonOperator %s is not valid for %s AttributeValue type", op, item.TypeName(v))
		}
	}
	if op == types.ComparisonOperatorBetween {
		if n, ok := item.Compare(values[0], values[1]); ok && n > 0 {
			return nil, Invalid("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
		}
	}
	return values, nil
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

// Selection is the part of a read request that selects attributes.
type Selection struct {
	Projection *string
	Names      map[string]string
	Attributes []string // the legacy AttributesToGet
}

// Check rejects a projection together with AttributesToGet, and converts the latter to a
// projection.
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
