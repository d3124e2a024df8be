package iamtest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// Backend is what a Guard protects.
type Backend interface {
	dynamo.API
	dynamo.Streams
}

// Guard is a table and its stream as a role sees them. Requests that the role's policy does not
// allow fail with AccessDeniedException, as in AWS.
type Guard struct {
	Backend
	Policy *Policy
	// ARN returns the ARN of a table. Default: one of us-east-1.
	ARN func(name string) string
	// Seen is called with each request. Optional.
	Seen func(r *Request, allowed bool)

	iterators sync.Map // ARN of the stream by iterator
}

// TableARN returns the ARN that Guard uses by default.
func TableARN(name string) string { return "arn:aws:dynamodb:us-east-1:123456789012:table/" + name }

// demand fails unless the policy allows a request.
func (g *Guard) demand(action, resource string, context map[string][]string) error {
	r := &Request{Action: "dynamodb:" + action, Resource: resource, Context: context}
	allowed := g.Policy.Allows(r)
	if g.Seen != nil {
		g.Seen(r, allowed)
	}
	if allowed {
		return nil
	}
	return &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient,
		Message: fmt.Sprintf("the role is not authorized to perform %s on resource %s with %v", r.Action, resource, context)}
}

func (g *Guard) arn(name *string) string {
	if g.ARN != nil {
		return g.ARN(aws.ToString(name))
	}
	return TableARN(aws.ToString(name))
}

// access is what IAM learns of the access to an item.
func access(keys []string, attributes names, enclosing string) map[string][]string {
	context := map[string][]string{LeadingKeys: keys, Attributes: attributes.sorted()}
	if enclosing != "" {
		context[EnclosingOperation] = []string{enclosing}
	}
	return context
}

func (g *Guard) put(table *string, item map[string]types.AttributeValue, condition *string, placeholders map[string]string, enclosing string) error {
	return g.demand("PutItem", g.arn(table), access(leading(item, keyOf("")), names{}.of(item).in(placeholders, condition), enclosing))
}

// onKey demands an action on the item with a key.
func (g *Guard) onKey(action string, table *string, key map[string]types.AttributeValue, placeholders map[string]string, enclosing string, expressions ...*string) error {
	return g.demand(action, g.arn(table), access(leading(key, keyOf("")), names{}.of(key).in(placeholders, expressions...), enclosing))
}

func (g *Guard) get(table *string, key map[string]types.AttributeValue, placeholders map[string]string, projection *string, enclosing string) error {
	context := access(leading(key, keyOf("")), names{}.of(key).in(placeholders, projection), enclosing)
	return g.demand("GetItem", g.arn(table), selected(context, projection))
}

// selected adds which attributes a request reads. One without a projection reads all, and IAM is then
// told no names.
func selected(context map[string][]string, projection *string) map[string][]string {
	context[Select] = []string{"SPECIFIC_ATTRIBUTES"}
	if projection == nil {
		context[Select] = []string{"ALL_ATTRIBUTES"}
		delete(context, Attributes)
	}
	return context
}

// keyOf returns the partition key attribute of the table or an index.
func keyOf(index string) string {
	if index == "" {
		return table.AttrPK
	}
	return index + "pk"
}

// PutItem implements dynamo.Items.
func (g *Guard) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := g.put(in.TableName, in.Item, in.ConditionExpression, in.ExpressionAttributeNames, ""); err != nil {
		return nil, err
	}
	return g.Backend.PutItem(ctx, in, o...)
}

// GetItem implements dynamo.Items.
func (g *Guard) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := g.get(in.TableName, in.Key, in.ExpressionAttributeNames, in.ProjectionExpression, ""); err != nil {
		return nil, err
	}
	return g.Backend.GetItem(ctx, in, o...)
}

// UpdateItem implements dynamo.Items.
func (g *Guard) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := g.onKey("UpdateItem", in.TableName, in.Key, in.ExpressionAttributeNames, "", in.UpdateExpression, in.ConditionExpression); err != nil {
		return nil, err
	}
	return g.Backend.UpdateItem(ctx, in, o...)
}

// DeleteItem implements dynamo.Items.
func (g *Guard) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := g.onKey("DeleteItem", in.TableName, in.Key, in.ExpressionAttributeNames, "", in.ConditionExpression); err != nil {
		return nil, err
	}
	return g.Backend.DeleteItem(ctx, in, o...)
}

// Query implements dynamo.Items.
func (g *Guard) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	resource, index := g.arn(in.TableName), aws.ToString(in.IndexName)
	if index != "" {
		resource += "/index/" + index
	}
	attributes := names{}.in(in.ExpressionAttributeNames, in.KeyConditionExpression, in.FilterExpression, in.ProjectionExpression)
	if err := g.demand("Query", resource, selected(access(queried(in, keyOf(index)), attributes, ""), in.ProjectionExpression)); err != nil {
		return nil, err
	}
	return g.Backend.Query(ctx, in, o...)
}

// queried returns the partition key that a query names.
func queried(in *dynamodb.QueryInput, attribute string) []string {
	for clause := range strings.SplitSeq(aws.ToString(in.KeyConditionExpression), " AND ") {
		name, value, ok := strings.Cut(strings.Trim(clause, " ()"), "=")
		if name = strings.TrimSpace(name); strings.HasPrefix(name, "#") {
			name = in.ExpressionAttributeNames[name]
		}
		if s, text := in.ExpressionAttributeValues[strings.TrimSpace(value)].(*types.AttributeValueMemberS); ok && text && name == attribute {
			return []string{s.Value}
		}
	}
	return []string{""}
}

// Scan implements dynamo.Items.
func (g *Guard) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	attributes := names{}.in(in.ExpressionAttributeNames, in.FilterExpression, in.ProjectionExpression)
	if err := g.demand("Scan", g.arn(in.TableName), selected(map[string][]string{Attributes: attributes.sorted()}, in.ProjectionExpression)); err != nil {
		return nil, err
	}
	return g.Backend.Scan(ctx, in, o...)
}

// BatchGetItem implements dynamo.Items. All keys of a table are one request to IAM.
func (g *Guard) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	for name, of := range in.RequestItems {
		var keys []string
		attributes := names{}.in(of.ExpressionAttributeNames, of.ProjectionExpression)
		for _, key := range of.Keys {
			keys = append(keys, leading(key, keyOf(""))...)
			attributes.of(key)
		}
		if err := g.demand("BatchGetItem", g.arn(&name), selected(access(keys, attributes, ""), of.ProjectionExpression)); err != nil {
			return nil, err
		}
	}
	return g.Backend.BatchGetItem(ctx, in, o...)
}

// BatchWriteItem implements dynamo.Items. All keys of a table are one request to IAM.
func (g *Guard) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	for name, writes := range in.RequestItems {
		var keys []string
		attributes := names{}
		for _, w := range writes {
			if w.PutRequest != nil {
				keys = append(keys, leading(w.PutRequest.Item, keyOf(""))...)
				attributes.of(w.PutRequest.Item)
			}
			if w.DeleteRequest != nil {
				keys = append(keys, leading(w.DeleteRequest.Key, keyOf(""))...)
				attributes.of(w.DeleteRequest.Key)
			}
		}
		if err := g.demand("BatchWriteItem", g.arn(&name), access(keys, attributes, "")); err != nil {
			return nil, err
		}
	}
	return g.Backend.BatchWriteItem(ctx, in, o...)
}

// TransactWriteItems implements dynamo.Items. Each write needs the permission of its own operation.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
func (g *Guard) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, w := range in.TransactItems {
		if err := g.write(&w); err != nil {
			return nil, err
		}
	}
	return g.Backend.TransactWriteItems(ctx, in, o...)
}

func (g *Guard) write(w *types.TransactWriteItem) error {
	const in = "TransactWriteItems"
	switch {
	case w.Put != nil:
		return g.put(w.Put.TableName, w.Put.Item, w.Put.ConditionExpression, w.Put.ExpressionAttributeNames, in)
	case w.Update != nil:
		return g.onKey("UpdateItem", w.Update.TableName, w.Update.Key, w.Update.ExpressionAttributeNames, in, w.Update.UpdateExpression, w.Update.ConditionExpression)
	case w.Delete != nil:
		return g.onKey("DeleteItem", w.Delete.TableName, w.Delete.Key, w.Delete.ExpressionAttributeNames, in, w.Delete.ConditionExpression)
	case w.ConditionCheck != nil:
		c := w.ConditionCheck
		return g.onKey("ConditionCheckItem", c.TableName, c.Key, c.ExpressionAttributeNames, in, c.ConditionExpression)
	}
	return nil
}

// TransactGetItems implements dynamo.Items.
func (g *Guard) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	for _, item := range in.TransactItems {
		if get := item.Get; get != nil {
			if err := g.get(get.TableName, get.Key, get.ExpressionAttributeNames, get.ProjectionExpression, "TransactGetItems"); err != nil {
				return nil, err
			}
		}
	}
	return g.Backend.TransactGetItems(ctx, in, o...)
}
