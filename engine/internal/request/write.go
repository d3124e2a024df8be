package request

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
)

// Verb is the type of a Write.
type Verb byte

// The verbs.
const (
	Put Verb = iota
	Update
	Delete
	ConditionCheck
)

// Write is one write of a request, validated except for what needs the table.
type Write struct {
	Verb   Verb
	Table  *string
	Keyed  item.Item // the whole item for a put, otherwise the key
	Cond   *expr.Condition
	Update *expr.Update
	Tell   bool // return the item if the condition fails
	Legacy bool // the update was given as AttributeUpdates

	Source Expressions
}

// bind parses the expressions of a write.
func (w *Write) bind(p *expr.Parser, e Expressions) error {
	w.Source = e
	if e.Update == nil && e.Condition == nil {
		return nil
	}
	b, err := expr.NewBindings(e.Names, e.Values)
	if err != nil {
		return err
	}
	if e.Update != nil {
		if w.Update, err = p.Update(*e.Update, b); err != nil {
			return err
		}
	}
	if e.Condition != nil {
		if w.Cond, err = p.Condition(expr.ConditionExpression, *e.Condition, b); err != nil {
			return err
		}
	}
	return b.CheckUnused()
}

// setReturnOnFailure sets whether to return the item if the condition fails.
func (w *Write) setReturnOnFailure(c *Members, member string, how types.ReturnValuesOnConditionCheckFailure) {
	CheckEnum(c, member+"returnValuesOnConditionCheckFailure", how, "ALL_OLD", "NONE")
	w.Tell = how == types.ReturnValuesOnConditionCheckFailureAllOld
}

// Normalize validates the values of an item or key and makes its numbers canonical.
func Normalize(it item.Item) (item.Item, error) {
	n, err := item.Normalize(it)
	if err != nil {
		return nil, Invalid("%s", err.Error())
	}
	return n, nil
}

// CheckPut validates a PutItem and converts it.
func (w *Write) CheckPut(p *expr.Parser, in *dynamodb.PutItemInput) error {
	w.Verb, w.Table = Put, in.TableName
	return w.checkWhole(p, &wholeWrite{
		what: "item", keyed: in.Item, tell: in.ReturnValuesOnConditionCheckFailure,
		capacity: in.ReturnConsumedCapacity, metrics: in.ReturnItemCollectionMetrics, values: in.ReturnValues,
		source: Expressions{Condition: in.ConditionExpression, Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues},
		legacy: LegacyWrite{Expected: in.Expected, Operator: in.ConditionalOperator},
	})
}

// CheckDelete validates a DeleteItem and converts it.
func (w *Write) CheckDelete(p *expr.Parser, in *dynamodb.DeleteItemInput) error {
	w.Verb, w.Table = Delete, in.TableName
	return w.checkWhole(p, &wholeWrite{
		what: "key", keyed: in.Key, tell: in.ReturnValuesOnConditionCheckFailure,
		capacity: in.ReturnConsumedCapacity, metrics: in.ReturnItemCollectionMetrics, values: in.ReturnValues,
		source: Expressions{Condition: in.ConditionExpression, Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues},
		legacy: LegacyWrite{Expected: in.Expected, Operator: in.ConditionalOperator},
	})
}

// wholeWrite contains the common parameters of PutItem and DeleteItem, which write whole items.
type wholeWrite struct {
	what     string // name of the member keyed
	keyed    item.Item
	capacity types.ReturnConsumedCapacity
	metrics  types.ReturnItemCollectionMetrics
	values   types.ReturnValue
	tell     types.ReturnValuesOnConditionCheckFailure
	source   Expressions
	legacy   LegacyWrite
}

func (w *Write) checkWhole(p *expr.Parser, in *wholeWrite) (err error) {
	var c Members
	if in.keyed == nil {
		c.AddNull(in.what)
	}
	c.CheckReturns(in.capacity, in.metrics, in.values)
	w.setReturnOnFailure(&c, "", in.tell)
	in.legacy.check(&c)
	if err := CheckTableName(w.Table, &c); err != nil {
		return err
	}
	if in.values != "" && in.values != types.ReturnValueNone && in.values != types.ReturnValueAllOld {
		return Invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	if err := in.source.CheckLegacy(in.legacy, false); err != nil {
		return err
	}
	if w.Keyed, err = Normalize(in.keyed); err != nil {
		return err
	}
	return w.bind(p, in.source)
}

// CheckUpdate validates an UpdateItem and converts it.
func (w *Write) CheckUpdate(p *expr.Parser, in *dynamodb.UpdateItemInput) (err error) {
	w.Verb, w.Table, w.Legacy = Update, in.TableName, in.AttributeUpdates != nil
	var c Members
	if in.Key == nil {
		c.AddNull("key")
	}
	c.CheckReturns(in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, in.ReturnValues)
	w.setReturnOnFailure(&c, "", in.ReturnValuesOnConditionCheckFailure)
	legacy := LegacyWrite{Updates: in.AttributeUpdates, Expected: in.Expected, Operator: in.ConditionalOperator}
	legacy.check(&c)
	if err := CheckTableName(in.TableName, &c); err != nil {
		return err
	}
	e := Expressions{Update: in.UpdateExpression, Condition: in.ConditionExpression, Names: in.ExpressionAttributeNames, Values: in.ExpressionAttributeValues}
	if err := e.CheckLegacy(legacy, true); err != nil {
		return err
	}
	if w.Keyed, err = Normalize(in.Key); err != nil {
		return err
	}
	return w.bind(p, e)
}
