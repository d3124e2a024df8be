package engine

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/request"
)

// readParams are the parameters that Query and Scan have in common.
type readParams struct{ request.Read }

// prepare checks the parameters in DynamoDB's order and fills the request: members, exclusive and missing parameters,
// expressions, then what depends on the table.
func (q *readParams) prepare(db *DB, r *pageRequest) (*expr.KeyCondition, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	keys, err := q.bind(db, r)
	if err != nil {
		return nil, err
	}
	if r.s, err = db.schemaOf(q.Table); err != nil {
		return nil, err
	}
	if q.Limit != nil {
		r.limit = int(*q.Limit)
	}
	r.consistent = request.IsTrue(q.Consistent)
	return keys, q.checkTarget(r)
}

func (q *readParams) bind(db *DB, r *pageRequest) (*expr.KeyCondition, error) {
	r.countOnly = q.Select == types.SelectCount
	if q.KeyCondition == nil && q.Filter == nil && q.Projection == nil {
		return nil, nil
	}
	b, err := expr.NewBindings(q.Names, q.Values)
	if err != nil {
		return nil, err
	}
	var keys *expr.KeyCondition
	if q.KeyCondition != nil {
		if keys, err = db.parser.KeyCondition(*q.KeyCondition, b); err != nil {
			return nil, err
		}
	}
	if q.Filter != nil {
		if r.filter, err = db.parser.Condition(expr.FilterExpression, *q.Filter, b); err != nil {
			return nil, err
		}
	}
	if q.Projection != nil {
		if r.projection, err = db.parser.Projection(*q.Projection, b); err != nil {
			return nil, err
		}
	}
	return keys, b.CheckUnused()
}

// checkTarget checks what depends on the table and finds the index.
func (q *readParams) checkTarget(r *pageRequest) error {
	if q.Index != nil {
		if r.x = r.s.find(*q.Index); r.x == nil {
			return dynamo.Validation("The table does not have the specified index: %s", *q.Index)
		}
		if r.x.desc.Building {
			return dynamo.Validation("Cannot read from backfilling global secondary index: %s", *q.Index)
		}
		if r.consistent && !r.x.desc.Local {
			return dynamo.Validation("Consistent reads are not supported on global secondary indexes")
		}
		if err := q.checkProjected(r); err != nil {
			return err
		}
	}
	if r.projection != nil {
		if err := r.s.desc.CheckScalars(r.projection.NestedRoots()); err != nil {
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
	all := q.Select == types.SelectAllAttributes
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
	if r.filter == nil {
		return nil
	}
	if err := r.s.desc.CheckScalars(r.filter.NestedNames()); err != nil || q.Verb != "Query" {
		return err
	}
	hash, rng := r.s.hash.Name, r.s.rng.Name
	if r.x != nil {
		hash, rng = r.x.hash.Name, r.x.rng.Name
	}
	for _, name := range r.filter.Names() {
		if name == hash || name == rng {
			what := "Filter Expression"
			if q.LegacyFilter != nil {
				what = "QueryFilter"
			}
			return dynamo.Validation("%s can only contain non-primary key attributes: Primary key attribute: %s", what, name)
		}
	}
	return nil
}
