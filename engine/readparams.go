package engine

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
)

// readParams are the parameters that Query and Scan have in common.
type readParams struct {
	verb       string
	table      *string
	index      *string
	sel        types.Select
	limit      *int32
	consistent *bool
	capacity   types.ReturnConsumedCapacity

	keyCondition *string
	filter       *string
	projection   *string
	names        map[string]string
	values       map[string]types.AttributeValue

	attributes    []string
	keyConditions map[string]types.Condition
	legacyFilter  map[string]types.Condition
	operator      types.ConditionalOperator

	start item.Item
}

// prepare checks the parameters in DynamoDB's order and fills the request: members, exclusive and missing parameters,
// expressions, then what depends on the table.
func (q *readParams) prepare(db *DB, r *pageRequest) (*expr.KeyCondition, error) {
	if err := q.checkMembers(); err != nil {
		return nil, err
	}
	if err := q.checkMixed(); err != nil {
		return nil, err
	}
	if err := q.checkSelect(); err != nil {
		return nil, err
	}
	keys, err := q.bind(db, r)
	if err != nil {
		return nil, err
	}
	if r.s, err = db.schemaOf(q.table); err != nil {
		return nil, err
	}
	if q.limit != nil {
		r.limit = int(*q.limit)
	}
	r.consistent = isTrue(q.consistent)
	return keys, q.checkTarget(r)
}

func (q *readParams) checkMembers() error {
	var c constraints
	if q.limit != nil && *q.limit < 1 {
		c = append(c, "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1")
	}
	checkEnum(&c, "select", q.sel, "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")
	c.checkReturns(q.capacity, "", "")
	return checkTableName(q.table, &c)
}

// checkMixed refuses expressions beside legacy parameters and rewrites the latter.
func (q *readParams) checkMixed() error {
	exprs := []exprParam{{"ProjectionExpression", q.projection}, {"FilterExpression", q.filter}}
	legacy := []legacyParam{{"AttributesToGet", q.attributes != nil}, {q.verb + "Filter", q.legacyFilter != nil}, {"ConditionalOperator", q.operator != ""}}
	if q.verb == "Query" {
		exprs = append(exprs, exprParam{"KeyConditionExpression", q.keyCondition})
		legacy = append(legacy, legacyParam{"KeyConditions", q.keyConditions != nil && q.keyCondition != nil})
	}
	if err := checkMix(exprs, legacy, q.names, q.values); err != nil {
		return err
	}
	if q.verb == "Query" && q.keyCondition == nil && q.keyConditions == nil {
		return dynamo.Validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	return q.rewrite()
}

// rewrite turns legacy parameters into expressions.
func (q *readParams) rewrite() error {
	if q.attributes == nil && q.legacyFilter == nil && q.keyConditions == nil {
		return nil
	}
	keys, rest := newLegacyWriter(), newLegacyWriter()
	keys.names, keys.values = map[string]string{}, map[string]types.AttributeValue{}
	rest.names, rest.values = keys.names, keys.values
	for name, attr := range q.names {
		keys.names[name] = attr
	}
	for name, v := range q.values {
		keys.values[name] = v
	}
	for _, attr := range sortedKeys(q.keyConditions) {
		if err := keys.compare(attr, q.keyConditions[attr]); err != nil {
			return err
		}
	}
	for _, attr := range sortedKeys(q.legacyFilter) {
		if err := rest.compare(attr, q.legacyFilter[attr]); err != nil {
			return err
		}
	}
	if q.keyConditions != nil {
		q.keyCondition = keys.all("")
	}
	if q.legacyFilter != nil {
		q.filter = rest.all(q.operator)
	}
	if q.attributes != nil {
		var err error
		if q.projection, err = keys.project(q.attributes); err != nil {
			return err
		}
	}
	q.names, q.values = nonEmpty(keys.names), nonEmpty(keys.values)
	return nil
}

// checkSelect checks what Select says of the projection.
func (q *readParams) checkSelect() error {
	projected := q.projection != nil
	switch q.sel {
	case types.SelectSpecificAttributes:
		if !projected {
			return dynamo.Validation("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	case types.SelectAllProjectedAttributes:
		if q.index == nil {
			return dynamo.Validation("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
		}
		fallthrough
	case types.SelectAllAttributes:
		if projected {
			return dynamo.Validation("Cannot specify the ProjectionExpression when choosing to get %s", q.sel)
		}
	case types.SelectCount:
		if projected {
			return dynamo.Validation("Cannot specify the ProjectionExpression when choosing to get only the Count")
		}
	}
	return nil
}

func (q *readParams) bind(db *DB, r *pageRequest) (*expr.KeyCondition, error) {
	r.countOnly = q.sel == types.SelectCount
	if q.keyCondition == nil && q.filter == nil && q.projection == nil {
		return nil, nil
	}
	b, err := expr.NewBindings(q.names, q.values)
	if err != nil {
		return nil, asValidation(err)
	}
	var keys *expr.KeyCondition
	if q.keyCondition != nil {
		if keys, err = db.parser.KeyCondition(*q.keyCondition, b); err != nil {
			return nil, asValidation(err)
		}
	}
	if q.filter != nil {
		if r.filter, err = db.parser.Condition(expr.FilterExpression, *q.filter, b); err != nil {
			return nil, asValidation(err)
		}
	}
	if q.projection != nil {
		if r.projection, err = db.parser.Projection(*q.projection, b); err != nil {
			return nil, asValidation(err)
		}
	}
	return keys, asValidation(b.CheckUnused())
}

// checkTarget checks what depends on the table and finds the index.
func (q *readParams) checkTarget(r *pageRequest) error {
	if q.index != nil {
		if r.x = r.s.find(*q.index); r.x == nil {
			return dynamo.Validation("The table does not have the specified index: %s", *q.index)
		}
		if r.x.desc.Building {
			return dynamo.Validation("Cannot read from backfilling global secondary index: %s", *q.index)
		}
		if r.consistent && !r.x.desc.Local {
			return dynamo.Validation("Consistent reads are not supported on global secondary indexes")
		}
		if err := q.checkProjected(r); err != nil {
			return err
		}
	}
	return q.checkFilter(r)
}

// checkProjected says whether an index can answer: a global one holds only what it projects, a local one reaches back.
func (q *readParams) checkProjected(r *pageRequest) error {
	x := r.x
	if x.project == nil {
		return nil
	}
	var missing []string
	for _, name := range q.wanted(r) {
		if !x.project[name] {
			missing = append(missing, name)
		}
	}
	all := q.sel == types.SelectAllAttributes
	if x.desc.Local {
		r.whole = all || len(missing) > 0
		return nil
	}
	if all {
		return dynamo.Validation("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.desc.Name)
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return dynamo.Validation("One or more parameter values were invalid: Global secondary index %s does not project [%s]", x.desc.Name, strings.Join(missing, ", "))
	}
	return nil
}

// wanted returns the attributes that the projection names.
func (q *readParams) wanted(r *pageRequest) []string {
	if r.projection == nil {
		return nil
	}
	return r.projection.Roots()
}

// checkFilter refuses a filter of a query on the keys that the key condition is for.
func (q *readParams) checkFilter(r *pageRequest) error {
	if r.filter == nil || q.verb != "Query" {
		return nil
	}
	hash, rng := r.s.hash.Name, r.s.rng.Name
	if r.x != nil {
		hash, rng = r.x.hash.Name, r.x.rng.Name
	}
	for _, name := range r.filter.Names() {
		if name == hash || name == rng {
			what := "Filter Expression"
			if q.legacyFilter != nil {
				what = "QueryFilter"
			}
			return dynamo.Validation("%s can only contain non-primary key attributes: Primary key attribute: %s", what, name)
		}
	}
	return nil
}
