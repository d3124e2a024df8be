package request

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/expr"
)

// Read contains the common parameters of Query and Scan.
type Read struct {
	Verb       string
	Table      *string
	Index      *string
	Select     types.Select
	Limit      *int32
	Consistent *bool
	Capacity   types.ReturnConsumedCapacity

	KeyCondition *string
	Filter       *string
	Projection   *string
	Names        map[string]string
	Values       map[string]types.AttributeValue

	Attributes    []string
	KeyConditions map[string]types.Condition
	LegacyFilter  map[string]types.Condition
	Operator      types.ConditionalOperator

	Start map[string]types.AttributeValue

	KeysInFilter bool // allow the filter of a Query to name the keys, for PartiQL statements

	Keys      *expr.KeyCondition // parsed by Check; nil for none
	Filtered  *expr.Condition
	Projected *expr.Projection
}

// Check makes the checks that need no table, in DynamoDB's order: members, exclusive and missing
// parameters, Select, expressions. It converts legacy parameters to expressions.
func (q *Read) Check(p *expr.Parser) error {
	if err := q.checkMembers(); err != nil {
		return err
	}
	if err := q.checkMixed(); err != nil {
		return err
	}
	if err := q.checkSelect(); err != nil {
		return err
	}
	return q.bind(p)
}

// bind parses the expressions.
func (q *Read) bind(p *expr.Parser) error {
	if q.KeyCondition == nil && q.Filter == nil && q.Projection == nil {
		return nil
	}
	b, err := expr.NewBindings(q.Names, q.Values)
	if err != nil {
		return err
	}
	if q.KeyCondition != nil {
		if q.Keys, err = p.KeyCondition(*q.KeyCondition, b); err != nil {
			return err
		}
	}
	if q.Filter != nil {
		if q.Filtered, err = p.Condition(expr.FilterExpression, *q.Filter, b); err != nil {
			return err
		}
	}
	if q.Projection != nil {
		if q.Projected, err = p.Projection(*q.Projection, b); err != nil {
			return err
		}
	}
	return b.CheckUnused()
}

func (q *Read) checkMembers() error {
	var c Members
	switch {
	case q.Limit == nil || *q.Limit >= 1:
	case q.Verb == "Query": // DynamoDB has a different message for this
		c = append(c, "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1")
	default:
		c.Add(strconv.Itoa(int(*q.Limit)), "limit", "Member must have value greater than or equal to 1")
	}
	CheckEnum(&c, "select", q.Select, "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")
	checkConditions(&c, "keyConditions", q.KeyConditions)
	checkConditions(&c, strings.ToLower(q.Verb)+"Filter", q.LegacyFilter)
	CheckEnum(&c, "conditionalOperator", q.Operator, conditionalOperators...)
	c.CheckReturns(q.Capacity, "", "")
	return CheckTableName(q.Table, &c)
}

// checkMixed rejects a mix of expressions and legacy parameters, and converts the latter.
func (q *Read) checkMixed() error {
	exprs := []Expression{{Name: "ProjectionExpression", Source: q.Projection}, {Name: "FilterExpression", Source: q.Filter}}
	legacy := []Legacy{{Name: "AttributesToGet", Given: q.Attributes != nil}, {Name: q.Verb + "Filter", Given: q.LegacyFilter != nil}, {Name: "ConditionalOperator", Given: q.Operator != ""}}
	if q.Verb == "Query" {
		exprs = append(exprs, Expression{Name: "KeyConditionExpression", Source: q.KeyCondition})
		legacy = append(legacy, Legacy{Name: "KeyConditions", Given: q.KeyConditions != nil && q.KeyCondition != nil})
	}
	if err := CheckMix(exprs, legacy, q.Names, q.Values); err != nil {
		return err
	}
	if q.Verb == "Query" && q.KeyCondition == nil && q.KeyConditions == nil {
		return Invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	if err := checkOperator(q.Operator, len(q.LegacyFilter)); err != nil {
		return err
	}
	return q.rewrite()
}

// rewrite converts legacy parameters to expressions.
func (q *Read) rewrite() error {
	if q.Attributes == nil && q.LegacyFilter == nil && q.KeyConditions == nil {
		return nil
	}
	keys, rest := NewWriter(), NewWriter()
	keys.Names, keys.Values = map[string]string{}, map[string]types.AttributeValue{}
	rest.Names, rest.Values = keys.Names, keys.Values
	for name, attr := range q.Names {
		keys.Names[name] = attr
	}
	for name, v := range q.Values {
		keys.Values[name] = v
	}
	for _, attr := range slices.Sorted(maps.Keys(q.KeyConditions)) {
		if err := keys.Compare(attr, q.KeyConditions[attr]); err != nil {
			return err
		}
	}
	for _, attr := range slices.Sorted(maps.Keys(q.LegacyFilter)) {
		if err := rest.Compare(attr, q.LegacyFilter[attr]); err != nil {
			return err
		}
	}
	if q.KeyConditions != nil {
		q.KeyCondition = keys.Condition("")
	}
	if q.LegacyFilter != nil {
		q.Filter = rest.Condition(q.Operator)
	}
	if q.Attributes != nil {
		var err error
		if q.Projection, err = keys.Project(q.Attributes); err != nil {
			return err
		}
	}
	q.Names, q.Values = NonEmpty(keys.Names), NonEmpty(keys.Values)
	return nil
}

// checkSelect validates Select together with the projection.
func (q *Read) checkSelect() error {
	projected := q.Projection != nil
	switch q.Select {
	case types.SelectSpecificAttributes:
		if !projected {
			return Invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	case types.SelectAllProjectedAttributes:
		if q.Index == nil {
			return Invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
		}
		fallthrough
	case types.SelectAllAttributes:
		if projected {
			return Invalid("Cannot specify the ProjectionExpression when choosing to get %s", q.Select)
		}
	case types.SelectCount:
		if projected {
			return Invalid("Cannot specify the ProjectionExpression when choosing to get only the Count")
		}
	}
	return nil
}

const maxSegments = 1_000_000

// CheckSegments validates the parameters of a parallel scan.
func CheckSegments(segment, total *int32) error {
	var c Members
	if total != nil && *total < 1 {
		c.Add(strconv.Itoa(int(*total)), "totalSegments", "Member must have value greater than or equal to 1")
	}
	if total != nil && *total > maxSegments {
		c.Add(strconv.Itoa(int(*total)), "totalSegments", "Member must have value less than or equal to 1000000")
	}
	if segment != nil && *segment < 0 {
		c.Add(strconv.Itoa(int(*segment)), "segment", "Member must have value greater than or equal to 0")
	}
	switch {
	case len(c) > 0:
		return c.Err()
	case segment != nil && total == nil:
		return Invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segment == nil && total != nil:
		return Invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case segment != nil && *segment >= *total:
		return Invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *segment, *total)
	}
	return nil
}
