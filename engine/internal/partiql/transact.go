package partiql

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// Transact runs up to 100 statements atomically. All of them must read or all must write.
func (r *Runner) Transact(ctx context.Context, in *dynamodb.ExecuteTransactionInput) (*dynamodb.ExecuteTransactionOutput, error) {
	jobs, err := r.checkTransaction(in)
	if err != nil {
		return nil, err
	}
	tables, missing, err := r.tables(jobs)
	if err != nil {
		return nil, err
	}
	if jobs[0].reads() {
		return r.transactReads(ctx, in, jobs, tables, missing)
	}
	return r.transactWrites(ctx, in, jobs, tables, missing)
}

// tables returns the tables of statements, nil for missing ones. If there are any, missing is the
// transaction's error, unless another statement is invalid.
func (r *Runner) tables(jobs []*job) (tables []*catalog.Table, missing, err error) {
	tables, reasons := make([]*catalog.Table, len(jobs)), make([]error, len(jobs))
	for i, j := range jobs {
		t, err := r.Store.Table(j.table)
		var none *types.ResourceNotFoundException
		switch {
		case errors.As(err, &none):
			reasons[i] = err
		case err != nil:
			return nil, nil, err
		}
		tables[i] = t
	}
	if errors.Join(reasons...) != nil {
		missing = request.Cancelled(reasons)
	}
	return tables, missing, nil
}

// checkTransaction parses the statements of a transaction and makes all checks that need no table.
func (r *Runner) checkTransaction(in *dynamodb.ExecuteTransactionInput) ([]*job, error) {
	var c request.Members
	c.CheckReturns(in.ReturnConsumedCapacity, "", "")
	checkCount(&c, "transactStatements", len(in.TransactStatements), maxTransacted)
	for _, st := range in.TransactStatements {
		checkText(&c, "transactStatements.1.member.statement", st.Statement)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	params := make([][]types.AttributeValue, len(in.TransactStatements))
	for i, st := range in.TransactStatements {
		var err error
		if params[i], err = bindParams(st.Parameters); err != nil {
			return nil, err
		}
	}
	jobs := make([]*job, len(params))
	for i, st := range in.TransactStatements {
		j, err := r.prepare(*st.Statement, params[i])
		if err != nil {
			return nil, inMember(i, err)
		}
		j.onFailure = st.ReturnValuesOnConditionCheckFailure
		if jobs[i] = j; j.reads() != jobs[0].reads() {
			return nil, request.Invalid("ExecuteTransaction API does not support both read and write operations in the same request.")
		}
	}
	return jobs, nil
}

// inMember adds to an error which statement it is about.
func inMember(i int, err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	return request.Invalid("Validation failed in TransactStatements[%d]: %s", i, api.ErrorMessage())
}

func (r *Runner) transactReads(ctx context.Context, in *dynamodb.ExecuteTransactionInput, jobs []*job, tables []*catalog.Table, missing error) (*dynamodb.ExecuteTransactionOutput, error) {
	req := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: in.ReturnConsumedCapacity}
	for i, j := range jobs {
		if tables[i] == nil {
			continue
		}
		if j.indexed {
			return nil, inMember(i, request.Invalid("Reads on indices are not supported within transactions."))
		}
		sel, key, err := j.point(tables[i], "ExecuteTransaction")
		if err != nil {
			return nil, inMember(i, err)
		}
		w := j.lits.writer()
		get := &types.Get{TableName: &j.table, Key: key, ProjectionExpression: sel.projection(w)}
		get.ExpressionAttributeNames, _ = w.bindings()
		req.TransactItems = append(req.TransactItems, types.TransactGetItem{Get: get})
	}
	if missing != nil {
		return nil, missing
	}
	out, err := r.Store.TransactGetItems(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range out.Responses {
		out.Responses[i].Item = project(out.Responses[i].Item, jobs[i].columns)
	}
	return &dynamodb.ExecuteTransactionOutput{Responses: out.Responses, ConsumedCapacity: out.ConsumedCapacity}, nil
}

func (r *Runner) transactWrites(ctx context.Context, in *dynamodb.ExecuteTransactionInput, jobs []*job, tables []*catalog.Table, missing error) (*dynamodb.ExecuteTransactionOutput, error) {
	req := &dynamodb.TransactWriteItemsInput{ClientRequestToken: in.ClientRequestToken, ReturnConsumedCapacity: in.ReturnConsumedCapacity}
	for i, j := range jobs {
		if tables[i] == nil {
			continue
		}
		act, err := j.action(tables[i])
		if err != nil {
			return nil, inMember(i, err)
		}
		req.TransactItems = append(req.TransactItems, act)
	}
	if missing != nil {
		return nil, missing
	}
	out, err := r.Store.TransactWriteItems(ctx, req)
	if err != nil {
		return nil, asDuplicates(err, jobs)
	}
	return &dynamodb.ExecuteTransactionOutput{Responses: []types.ItemResponse{}, ConsumedCapacity: out.ConsumedCapacity}, nil
}

// action converts a statement to an action of a transaction. A condition that does not identify one
// item becomes an invalid key, which is rejected together with others.
func (j *job) action(t *catalog.Table) (types.TransactWriteItem, error) {
	var act types.TransactWriteItem
	switch {
	case j.returning != "":
		return act, request.Invalid("RETURNING clause is not supported in ExecuteTransaction.")
	case j.indexed:
		return act, request.Invalid("Operations on indices are not supported in transactions")
	}
	w, err := j.write(t, func(k *keyed) error {
		if j.verb == verbExists && (k.missing || len(k.rest) == 0) {
			return request.Invalid("EXISTS() must contain a single item read with additional condition")
		}
		if j.verb != verbExists && k.twice != "" {
			k.key = item.Item{}
		}
		return nil
	})
	if err != nil {
		return act, err
	}
	switch j.verb {
	case verbInsert:
		act.Put = &types.Put{TableName: &j.table, Item: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values}
	case verbUpdate:
		act.Update = &types.Update{TableName: &j.table, Key: w.key, UpdateExpression: w.update, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values, ReturnValuesOnConditionCheckFailure: j.onFailure}
	case verbDelete:
		act.Delete = &types.Delete{TableName: &j.table, Key: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values, ReturnValuesOnConditionCheckFailure: j.onFailure}
	default:
		act.ConditionCheck = &types.ConditionCheck{TableName: &j.table, Key: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values, ReturnValuesOnConditionCheckFailure: j.onFailure}
	}
	return act, nil
}

// asDuplicates converts the failed conditions of INSERTs to their specific reasons.
func asDuplicates(err error, jobs []*job) error {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return err
	}
	codes := make([]string, len(cancelled.CancellationReasons))
	for i := range cancelled.CancellationReasons {
		reason := &cancelled.CancellationReasons[i]
		if jobs[i].verb == verbInsert && *reason.Code == "ConditionalCheckFailed" {
			code, msg := "DuplicateItem", duplicate
			*reason = types.CancellationReason{Code: &code, Message: &msg}
		}
		codes[i] = *reason.Code
	}
	return request.CancelledFor(codes, cancelled.CancellationReasons)
}
