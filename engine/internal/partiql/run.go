package partiql

import (
	"context"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/request"
)

// Store executes the requests of statements.
type Store interface {
	// Table returns a table's descriptor, or the API's error if the table does not exist.
	Table(name string) (*catalog.Table, error)
	// Query is the API's Query, but allows a filter to name key attributes.
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// Runner runs statements on a store. Parser parses the expressions that statements are converted
// to.
type Runner struct {
	Store  Store
	Parser *expr.Parser
}

// DynamoDB's limits.
const (
	maxStatement  = 8192 // characters
	maxBatch      = 25
	maxTransacted = 100
	maxPageBytes  = 1 << 20
)

// job is a statement with its parameters, for any of the three operations.
type job struct {
	*statement
	lits       *values
	consistent bool
	capacity   types.ReturnConsumedCapacity
	onFailure  types.ReturnValuesOnConditionCheckFailure
}

// checkText records errors in the length of a statement.
func checkText(c *request.Members, member string, text *string) {
	switch {
	case text == nil:
		c.AddNull(member)
	case *text == "":
		c.Add("", member, "Member must have length greater than or equal to 1")
	case utf8.RuneCountInString(*text) > maxStatement:
		c.Add(*text, member, "Member must have length less than or equal to "+strconv.Itoa(maxStatement))
	}
}

// prepare parses a statement and makes all checks that need no table. The parameters must have been
// validated.
func (r *Runner) prepare(text string, params []types.AttributeValue) (*job, error) {
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	if s.params != len(params) {
		return nil, request.Invalid("Number of parameters in request and statement don't match.")
	}
	v := &values{src: text, params: params}
	if s.verb == verbUpdate {
		if err := v.checkUpdate(s, r.Parser); err != nil {
			return nil, err
		}
	}
	if s.verb == verbInsert {
		if _, err := v.item(s.value); err != nil {
			return nil, err
		}
	}
	if err := v.checkCondition(s.where, r.Parser); err != nil {
		return nil, err
	}
	return &job{statement: s, lits: v}, nil
}

// Execute runs one statement.
func (r *Runner) Execute(ctx context.Context, in *dynamodb.ExecuteStatementInput) (*dynamodb.ExecuteStatementOutput, error) {
	var c request.Members
	c.CheckReturns(in.ReturnConsumedCapacity, "", "")
	if in.Limit != nil && *in.Limit < 1 {
		c.Add(strconv.Itoa(int(*in.Limit)), "limit", "Member must have value greater than or equal to 1")
	}
	checkText(&c, "statement", in.Statement)
	if err := c.Err(); err != nil {
		return nil, err
	}
	params, err := bindParams(in.Parameters)
	if err != nil {
		return nil, err
	}
	j, err := r.prepare(*in.Statement, params)
	if err != nil {
		return nil, err
	}
	j.consistent, j.capacity, j.onFailure = request.IsTrue(in.ConsistentRead), in.ReturnConsumedCapacity, in.ReturnValuesOnConditionCheckFailure
	switch j.verb {
	case verbExists:
		return nil, request.Invalid("EXISTS can only be used in ExecuteTransaction write requests.")
	case verbSelect:
		return r.selectPage(ctx, j, in)
	}
	it, cc, err := r.writeOne(ctx, j)
	if err != nil {
		return nil, err
	}
	out := &dynamodb.ExecuteStatementOutput{Items: []map[string]types.AttributeValue{}, ConsumedCapacity: cc}
	if len(it) > 0 {
		out.Items = append(out.Items, it)
	}
	return out, nil
}

// selectPage returns a page of a SELECT. It executes reads in sequence until the limit or the page
// size is reached.
func (r *Runner) selectPage(ctx context.Context, j *job, in *dynamodb.ExecuteStatementInput) (*dynamodb.ExecuteStatementOutput, error) {
	t, err := r.Store.Table(j.table)
	if err != nil {
		return nil, err
	}
	sel, err := j.lits.selection(j.statement, t, j.consistent)
	if err != nil {
		return nil, err
	}
	bound := digest(j.src, j.lits.params)
	at, err := parseToken(in.NextToken, bound, len(sel.reads))
	if err != nil {
		return nil, err
	}
	out := &dynamodb.ExecuteStatementOutput{Items: []map[string]types.AttributeValue{}}
	left, size := in.Limit, 0
	for {
		p, err := r.readPage(ctx, sel, j, at, left)
		if err != nil {
			return nil, err
		}
		for _, it := range p.items {
			size += item.Size(it)
			out.Items = append(out.Items, project(it, sel.columns))
		}
		out.ConsumedCapacity = sum(out.ConsumedCapacity, p.capacity)
		if at.after = p.last; at.after == nil {
			at.read++
		}
		if at.read == len(sel.reads) {
			return out, nil
		}
		if left != nil {
			rest := *left - p.scanned
			left = &rest
		}
		if at.after != nil || size >= maxPageBytes || left != nil && *left <= 0 {
			out.NextToken, out.LastEvaluatedKey = at.token(bound), at.after
			return out, nil
		}
	}
}

// answered is the result of one read.
type answered struct {
	items    []map[string]types.AttributeValue
	scanned  int32
	last     item.Item
	capacity *types.ConsumedCapacity
}

func (r *Runner) readPage(ctx context.Context, sel *selection, j *job, at position, limit *int32) (answered, error) {
	rd := sel.reads[at.read]
	if rd.hash == nil {
		in, err := sel.scan(rd)
		if err != nil {
			return answered{}, err
		}
		in.ConsistentRead, in.ReturnConsumedCapacity, in.Limit, in.ExclusiveStartKey = &j.consistent, j.capacity, limit, at.after
		out, err := r.Store.Scan(ctx, in)
		if err != nil {
			return answered{}, err
		}
		return answered{out.Items, out.ScannedCount, out.LastEvaluatedKey, out.ConsumedCapacity}, nil
	}
	in, err := sel.query(rd)
	if err != nil {
		return answered{}, err
	}
	in.ConsistentRead, in.ReturnConsumedCapacity, in.Limit, in.ExclusiveStartKey = &j.consistent, j.capacity, limit, at.after
	out, err := r.Store.Query(ctx, in)
	if err != nil {
		return answered{}, err
	}
	return answered{out.Items, out.ScannedCount, out.LastEvaluatedKey, out.ConsumedCapacity}, nil
}

// returnValues are the API's values for RETURNING.
var returnValues = map[string]types.ReturnValue{"": types.ReturnValueNone, "ALL OLD": types.ReturnValueAllOld, "ALL NEW": types.ReturnValueAllNew,
	"MODIFIED OLD": types.ReturnValueUpdatedOld, "MODIFIED NEW": types.ReturnValueUpdatedNew}

// writeOne executes a statement that writes one item, and returns the attributes requested by
// RETURNING.
func (r *Runner) writeOne(ctx context.Context, j *job) (item.Item, *types.ConsumedCapacity, error) {
	t, err := r.Store.Table(j.table)
	if err != nil {
		return nil, nil, err
	}
	if j.indexed {
		return nil, nil, request.Invalid("This operation is not supported on an index")
	}
	w, err := j.write(t, (*keyed).one)
	if err != nil {
		return nil, nil, err
	}
	switch j.verb {
	case verbInsert:
		out, err := r.Store.PutItem(ctx, &dynamodb.PutItemInput{TableName: &j.table, Item: w.key, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values, ReturnConsumedCapacity: j.capacity})
		if err != nil {
			return nil, nil, asDuplicate(err)
		}
		return nil, out.ConsumedCapacity, nil
	case verbUpdate:
		out, err := r.Store.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &j.table, Key: w.key, UpdateExpression: w.update, ConditionExpression: w.condition,
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values, ReturnConsumedCapacity: j.capacity,
			ReturnValues: returnValues[j.returning], ReturnValuesOnConditionCheckFailure: j.onFailure})
		if err != nil {
			return nil, nil, err
		}
		return out.Attributes, out.ConsumedCapacity, nil
	}
	out, err := r.Store.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &j.table, Key: w.key, ConditionExpression: w.condition,
		ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values, ReturnConsumedCapacity: j.capacity,
		ReturnValues: returnValues[j.returning], ReturnValuesOnConditionCheckFailure: j.onFailure})
	if err != nil {
		return nil, nil, err
	}
	return out.Attributes, out.ConsumedCapacity, nil
}

// write returns the request parameters of a statement that writes, whose key must satisfy the given
// rule.
func (j *job) write(t *catalog.Table, rule func(*keyed) error) (*write, error) {
	if j.verb == verbInsert {
		it, err := j.lits.item(j.value)
		if err != nil {
			return nil, err
		}
		return j.lits.write(j.statement, keyed{key: it}, t.Hash.Name)
	}
	k, err := j.lits.keyOf(j.where, t)
	if err != nil {
		return nil, err
	}
	if err := rule(&k); err != nil {
		return nil, err
	}
	return j.lits.write(j.statement, k, t.Hash.Name)
}

// asDuplicate converts the failed condition of an INSERT to its specific error.
func asDuplicate(err error) error {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return err
	}
	msg := duplicate
	return &types.DuplicateItemException{Message: &msg}
}
