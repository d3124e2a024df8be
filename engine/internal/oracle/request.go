package oracle

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// said is a write in the words of a request.
type said struct {
	Writer
	table, condition, update *string
	tell                     types.ReturnValuesOnConditionCheckFailure
	updates                  map[string]types.AttributeValueUpdate
	expected                 map[string]types.ExpectedAttributeValue
	joined                   types.ConditionalOperator
}

func (w *Write) say(table string) *said {
	s := &said{table: &table}
	if w.Tell {
		s.tell = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	if w.Legacy {
		s.legacy(w)
		return s
	}
	if w.Update != nil {
		text := w.Update.Write(&s.Writer)
		s.update = &text
	}
	if w.Condition != nil {
		text := w.Condition.Write(&s.Writer)
		s.condition = &text
	}
	return s
}

func (s *said) legacy(w *Write) {
	s.joined = types.ConditionalOperator(w.Joined)
	if w.Verb == "Update" {
		s.updates = map[string]types.AttributeValueUpdate{}
	}
	for _, a := range w.Update {
		u := types.AttributeValueUpdate{Action: types.AttributeAction(a.Clause), Value: a.Value}
		switch a.Clause {
		case "SET":
			u.Action = types.AttributeActionPut
			if a.Term != nil {
				u.Value = a.Term.Value
			}
		case "REMOVE":
			u.Action = types.AttributeActionDelete
		}
		s.updates[a.Path.root()] = u
	}
	for _, e := range w.Expected {
		if s.expected == nil {
			s.expected = map[string]types.ExpectedAttributeValue{}
		}
		x := types.ExpectedAttributeValue{ComparisonOperator: types.ComparisonOperator(e.Operator), AttributeValueList: e.Values, Exists: e.Exists}
		if e.Operator == "" {
			x.AttributeValueList = nil
			if len(e.Values) > 0 {
				x.Value = e.Values[0]
			}
		}
		s.expected[e.Attribute] = x
	}
}

// PutItem is the request for the write.
func (w *Write) PutItem(table string) *dynamodb.PutItemInput {
	s := w.say(table)
	return &dynamodb.PutItemInput{TableName: s.table, Item: w.Item, ConditionExpression: s.condition, ExpressionAttributeNames: s.Names,
		ExpressionAttributeValues: s.Values, Expected: s.expected, ConditionalOperator: s.joined, ReturnValues: types.ReturnValue(w.Returns),
		ReturnValuesOnConditionCheckFailure: s.tell, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes}
}

// DeleteItem is the request for the write.
func (w *Write) DeleteItem(table string) *dynamodb.DeleteItemInput {
	s := w.say(table)
	return &dynamodb.DeleteItemInput{TableName: s.table, Key: w.Item, ConditionExpression: s.condition, ExpressionAttributeNames: s.Names,
		ExpressionAttributeValues: s.Values, Expected: s.expected, ConditionalOperator: s.joined, ReturnValues: types.ReturnValue(w.Returns),
		ReturnValuesOnConditionCheckFailure: s.tell, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes}
}

// UpdateItem is the request for the write.
func (w *Write) UpdateItem(table string) *dynamodb.UpdateItemInput {
	s := w.say(table)
	return &dynamodb.UpdateItemInput{TableName: s.table, Key: w.Item, UpdateExpression: s.update, ConditionExpression: s.condition,
		ExpressionAttributeNames: s.Names, ExpressionAttributeValues: s.Values, AttributeUpdates: s.updates, Expected: s.expected,
		ConditionalOperator: s.joined, ReturnValues: types.ReturnValue(w.Returns), ReturnValuesOnConditionCheckFailure: s.tell,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes}
}

// BatchWriteItem is the request for puts and deletes without conditions.
func BatchWriteItem(table string, writes []*Write) *dynamodb.BatchWriteItemInput {
	var requests []types.WriteRequest
	for _, w := range writes {
		if w.Verb == "Put" {
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: w.Item}})
		} else {
			requests = append(requests, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.Item}})
		}
	}
	return &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}, ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes}
}

// TransactWriteItems is the request for writes that say nothing in legacy parameters.
func TransactWriteItems(table string, writes []*Write) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes}
	for _, w := range writes {
		s, a := w.say(table), types.TransactWriteItem{}
		switch w.Verb {
		case "Put":
			a.Put = &types.Put{TableName: s.table, Item: w.Item, ConditionExpression: s.condition, ExpressionAttributeNames: s.Names,
				ExpressionAttributeValues: s.Values, ReturnValuesOnConditionCheckFailure: s.tell}
		case "Delete":
			a.Delete = &types.Delete{TableName: s.table, Key: w.Item, ConditionExpression: s.condition, ExpressionAttributeNames: s.Names,
				ExpressionAttributeValues: s.Values, ReturnValuesOnConditionCheckFailure: s.tell}
		case "Update":
			a.Update = &types.Update{TableName: s.table, Key: w.Item, UpdateExpression: s.update, ConditionExpression: s.condition,
				ExpressionAttributeNames: s.Names, ExpressionAttributeValues: s.Values, ReturnValuesOnConditionCheckFailure: s.tell}
		case "Check":
			a.ConditionCheck = &types.ConditionCheck{TableName: s.table, Key: w.Item, ConditionExpression: s.condition,
				ExpressionAttributeNames: s.Names, ExpressionAttributeValues: s.Values, ReturnValuesOnConditionCheckFailure: s.tell}
		}
		in.TransactItems = append(in.TransactItems, a)
	}
	return in
}
