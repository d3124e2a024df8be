package oracle

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// parsed is a write as request parameters.
type parsed struct {
	Writer
	table, condition, update *string
	tell                     types.ReturnValuesOnConditionCheckFailure
	updates                  map[string]types.AttributeValueUpdate
	expected                 map[string]types.ExpectedAttributeValue
	joined                   types.ConditionalOperator
	astray                   bool // a placeholder is unused or undefined
}

func (w *Write) say() *parsed {
	s := &parsed{table: &w.On.Name, Writer: Writer{bare: w.Bare}}
	if w.Tell {
		s.tell = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	if w.Legacy {
		s.legacy(w)
	} else if w.Update != nil {
		text := w.Update.Write(&s.Writer)
		s.update = &text
	}
	if w.Condition != nil {
		text := w.Condition.Write(&s.Writer)
		s.condition = &text
	}
	s.stray(w.Stray)
	return s
}

// stray breaks the placeholders, if there are any.
func (s *parsed) stray(how string) {
	names, values := s.Names, s.Values
	switch how {
	case "unused name":
		s.Names = maps.Clone(names)
		if s.Names == nil {
			s.Names = map[string]string{}
		}
		s.Names["#unused"] = "s"
	case "unused value":
		s.Values = maps.Clone(values)
		if s.Values == nil {
			s.Values = Item{}
		}
		s.Values[":unused"] = &types.AttributeValueMemberS{Value: "x"}
	case "undefined name":
		delete(s.Names, "#n0")
		s.astray = names != nil
		if len(s.Names) == 0 {
			s.Names = nil
		}
		return
	case "undefined value":
		delete(s.Values, ":v0")
		s.astray = values != nil
		if len(s.Values) == 0 {
			s.Values = nil
		}
		return
	case "no names":
		if s.astray = names == nil; s.astray {
			s.Names = map[string]string{}
		}
		return
	case "no values":
		if s.astray = values == nil; s.astray {
			s.Values = Item{}
		}
		return
	}
	s.astray = how != ""
}

func (s *parsed) legacy(w *Write) {
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

// PutItem returns the request for the write.
func (w *Write) PutItem() *dynamodb.PutItemInput {
	s := w.say()
	return &dynamodb.PutItemInput{TableName: s.table, Item: w.Item, ConditionExpression: s.condition, ExpressionAttributeNames: s.Names,
		ExpressionAttributeValues: s.Values, Expected: s.expected, ConditionalOperator: s.joined, ReturnValues: types.ReturnValue(w.Returns),
		ReturnValuesOnConditionCheckFailure: s.tell, ReturnConsumedCapacity: w.Units, ReturnItemCollectionMetrics: w.Metric}
}

// DeleteItem returns the request for the write.
func (w *Write) DeleteItem() *dynamodb.DeleteItemInput {
	s := w.say()
	return &dynamodb.DeleteItemInput{TableName: s.table, Key: w.Item, ConditionExpression: s.condition, ExpressionAttributeNames: s.Names,
		ExpressionAttributeValues: s.Values, Expected: s.expected, ConditionalOperator: s.joined, ReturnValues: types.ReturnValue(w.Returns),
		ReturnValuesOnConditionCheckFailure: s.tell, ReturnConsumedCapacity: w.Units, ReturnItemCollectionMetrics: w.Metric}
}

// UpdateItem returns the request for the write.
func (w *Write) UpdateItem() *dynamodb.UpdateItemInput {
	s := w.say()
	return &dynamodb.UpdateItemInput{TableName: s.table, Key: w.Item, UpdateExpression: s.update, ConditionExpression: s.condition,
		ExpressionAttributeNames: s.Names, ExpressionAttributeValues: s.Values, AttributeUpdates: s.updates, Expected: s.expected,
		ConditionalOperator: s.joined, ReturnValues: types.ReturnValue(w.Returns), ReturnValuesOnConditionCheckFailure: s.tell,
		ReturnConsumedCapacity: w.Units, ReturnItemCollectionMetrics: w.Metric}
}

// BatchWriteItem returns the request for puts and deletes without conditions.
func BatchWriteItem(writes []*Write, units types.ReturnConsumedCapacity) *dynamodb.BatchWriteItemInput {
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{}, ReturnConsumedCapacity: units}
	for _, w := range writes {
		request := types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.Item}}
		if w.Verb == "Put" {
			request = types.WriteRequest{PutRequest: &types.PutRequest{Item: w.Item}}
		}
		in.RequestItems[w.On.Name] = append(in.RequestItems[w.On.Name], request)
	}
	return in
}

// TransactWriteItems returns the request for writes without legacy parameters.
func TransactWriteItems(writes []*Write, units types.ReturnConsumedCapacity) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: units}
	for _, w := range writes {
		s, a := w.say(), types.TransactWriteItem{}
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
