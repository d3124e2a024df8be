package table

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A Request is one API call made by a pattern. Exactly one field is set. It is what would be sent,
// except for the name of the table.
type Request struct {
	Query *dynamodb.QueryInput
	Get   *dynamodb.GetItemInput
	Put   *dynamodb.PutItemInput
}

// Operation returns the name of the API operation.
func (r Request) Operation() string {
	switch {
	case r.Query != nil:
		return "Query"
	case r.Get != nil:
		return "GetItem"
	}
	return "PutItem"
}

// Explain returns the first requests of All: one for each shard. Requests for further pages differ
// only in ExclusiveStartKey.
func (q *Query[In, T, K]) Explain(in In) ([]Request, error) { return q.core.explain(&in) }

func (p *pattern) explain(in any) ([]Request, error) {
	asks, err := p.asks(in)
	if err != nil {
		return nil, p.failed(err)
	}
	requests := make([]Request, len(asks))
	for i, a := range asks {
		requests[i] = Request{Query: p.request(a, 0)}
	}
	return requests, nil
}

// String returns the request in the JSON of the API, indented and with sorted members.
func (r Request) String() string {
	text, err := json.MarshalIndent(r.members(), "", "  ")
	if err != nil {
		return fmt.Sprintf("%s: %v", r.Operation(), err)
	}
	return r.Operation() + " " + string(text)
}

// members returns the fields of the request that are set.
func (r Request) members() map[string]any {
	m := members{}
	switch {
	case r.Query != nil:
		in := r.Query
		set(m, "TableName", in.TableName)
		set(m, "IndexName", in.IndexName)
		set(m, "KeyConditionExpression", in.KeyConditionExpression)
		set(m, "FilterExpression", in.FilterExpression)
		m.names(in.ExpressionAttributeNames)
		m.item("ExpressionAttributeValues", in.ExpressionAttributeValues)
		m.item("ExclusiveStartKey", in.ExclusiveStartKey)
		set(m, "ConsistentRead", in.ConsistentRead)
		set(m, "ScanIndexForward", in.ScanIndexForward)
		set(m, "Limit", in.Limit)
	case r.Get != nil:
		set(m, "TableName", r.Get.TableName)
		m.item("Key", r.Get.Key)
		set(m, "ConsistentRead", r.Get.ConsistentRead)
	case r.Put != nil:
		set(m, "TableName", r.Put.TableName)
		m.item("Item", r.Put.Item)
		set(m, "ConditionExpression", r.Put.ConditionExpression)
		m.names(r.Put.ExpressionAttributeNames)
		m.item("ExpressionAttributeValues", r.Put.ExpressionAttributeValues)
	}
	return m
}

type members map[string]any

func set[V any](m members, name string, value *V) {
	if value != nil {
		m[name] = *value
	}
}

func (m members) names(names map[string]string) {
	if len(names) > 0 {
		m["ExpressionAttributeNames"] = names
	}
}

func (m members) item(name string, it Item) {
	if len(it) > 0 {
		m[name] = jsonItem(it)
	}
}

func jsonItem(it Item) map[string]any {
	m := make(map[string]any, len(it))
	for name, av := range it {
		m[name] = jsonValue(av)
	}
	return m
}

// jsonValue returns an attribute value in the JSON of the API, which the SDK's types do not
// produce.
func jsonValue(av types.AttributeValue) map[string]any {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": jsonItem(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, item := range v.Value {
			list[i] = jsonValue(item)
		}
		return map[string]any{"L": list}
	}
	return map[string]any{"NULL": true}
}
