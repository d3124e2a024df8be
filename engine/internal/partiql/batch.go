package partiql

import (
	"context"
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// Batch runs up to 25 statements, all of which must read or all write. Each succeeds or fails
// independently.
func (r *Runner) Batch(ctx context.Context, in *dynamodb.BatchExecuteStatementInput) (*dynamodb.BatchExecuteStatementOutput, error) {
	var c request.Members
	c.CheckReturns(in.ReturnConsumedCapacity, "", "")
	checkCount(&c, "statements", len(in.Statements), maxBatch)
	for _, st := range in.Statements {
		checkText(&c, "statements.1.member.statement", st.Statement)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	jobs, errs := make([]*job, len(in.Statements)), make([]error, len(in.Statements))
	reads, writes := false, false
	for i, st := range in.Statements {
		if jobs[i], errs[i] = r.prepareMember(st); errs[i] == nil {
			jobs[i].capacity = in.ReturnConsumedCapacity
			reads, writes = reads || jobs[i].reads(), writes || !jobs[i].reads()
		}
	}
	if reads && writes {
		return nil, request.Invalid("BatchExecuteStatement API does not support both read and write operations in the same request.")
	}
	out := &dynamodb.BatchExecuteStatementOutput{Responses: make([]types.BatchStatementResponse, len(jobs))}
	for i, j := range jobs {
		res := &out.Responses[i]
		if j != nil {
			res.TableName = &j.table
			var cc *types.ConsumedCapacity
			res.Item, cc, errs[i] = r.member(ctx, j)
			if cc != nil {
				out.ConsumedCapacity = append(out.ConsumedCapacity, *cc)
			}
		}
		if errs[i] != nil {
			if res.Error = asMember(errs[i]); res.Error == nil {
				return nil, errs[i]
			}
		}
	}
	return out, nil
}

// checkCount rejects lists with too few or too many members.
func checkCount(c *request.Members, member string, n, most int) {
	switch {
	case n == 0:
		c.Add("[]", member, "Member must have length greater than or equal to 1")
	case n > most:
		c.Add("[...]", member, "Member must have length less than or equal to "+strconv.Itoa(most))
	}
}

func (r *Runner) prepareMember(st types.BatchStatementRequest) (*job, error) {
	params, err := bindParams(st.Parameters)
	if err != nil {
		return nil, err
	}
	j, err := r.prepare(*st.Statement, params)
	if err != nil {
		return nil, err
	}
	j.consistent, j.onFailure = request.IsTrue(st.ConsistentRead), st.ReturnValuesOnConditionCheckFailure
	if j.verb == verbExists {
		return nil, request.Invalid("EXISTS can only be used in ExecuteTransaction write requests.")
	}
	return j, nil
}

// member runs one statement of a batch.
func (r *Runner) member(ctx context.Context, j *job) (item.Item, *types.ConsumedCapacity, error) {
	if !j.reads() {
		it, cc, err := r.writeOne(ctx, j)
		if len(it) == 0 {
			it = nil
		}
		return it, cc, err
	}
	t, err := r.Store.Table(j.table)
	if err != nil {
		return nil, nil, err
	}
	sel, key, err := j.point(t, "BatchExecuteStatement")
	if err != nil {
		return nil, nil, err
	}
	w := j.lits.writer()
	in := &dynamodb.GetItemInput{TableName: &j.table, Key: key, ConsistentRead: &j.consistent, ReturnConsumedCapacity: j.capacity, ProjectionExpression: sel.projection(w)}
	in.ExpressionAttributeNames, _ = w.bindings()
	out, err := r.Store.GetItem(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	return project(out.Item, j.columns), out.ConsumedCapacity, nil
}

// point returns the key of the single item selected by a SELECT in another operation. Its whole
// condition must consist of that key.
func (j *job) point(t *catalog.Table, operation string) (*selection, item.Item, error) {
	sel := &selection{statement: j.statement, lits: j.lits, table: t, hash: t.Hash, rng: t.Range}
	refusal := request.Invalid("Select statements within %s must specify the primary key in the where clause.", operation)
	if j.indexed {
		return nil, nil, refusal
	}
	p := &planner{lits: j.lits, hash: t.Hash, rng: t.Range, loose: true}
	reads, keyed, err := p.plan(j.where)
	if err != nil {
		return nil, nil, err
	}
	if !keyed || len(reads) != 1 {
		return nil, nil, refusal
	}
	r := reads[0]
	key := item.Item{t.Hash.Name: r.hash}
	if t.Range.Name != "" {
		if r.sort == nil || r.sort.op != opEQ || r.within.empty() {
			return nil, nil, refusal
		}
		key[t.Range.Name] = r.within.lo
	}
	for _, n := range r.filter { // repeating the same equality is allowed
		attr, operand := equality(n)
		if attr != t.Range.Name || attr == "" {
			return nil, nil, refusal
		}
		if av, err := j.lits.of(operand); err != nil || !item.Equal(av, key[attr]) {
			return nil, nil, refusal
		}
	}
	return sel, key, nil
}

// asMember converts the error of one statement in a batch. It returns nil for errors of the store.
func asMember(err error) *types.BatchStatementError {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return nil
	}
	msg := api.ErrorMessage()
	out := &types.BatchStatementError{Message: &msg, Code: types.BatchStatementErrorCodeEnum(request.ReasonCode(api))}
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		out.Item = failed.Item
	}
	return out
}
