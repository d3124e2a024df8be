package request

import (
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/row"
)

// DynamoDB's bounds of transactions and of items, in bytes.
const (
	maxTransaction      = 100
	maxTransactionBytes = 4 << 20
	MaxItemBytes        = 400 << 10
)

// ItemTooLarge is what a put of an item above MaxItemBytes is refused with.
const ItemTooLarge = "Item size has exceeded the maximum allowed size"

// TransactWrites checks a TransactWriteItems as far as that goes without the tables.
func TransactWrites(p *expr.Parser, in *dynamodb.TransactWriteItemsInput) ([]Write, error) {
	var cs Members
	cs.CheckReturns(in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, "")
	checkActions(&cs, len(in.TransactItems))
	if t := in.ClientRequestToken; t != nil && (len(*t) < 1 || len(*t) > 36) {
		cs.Add(*t, "clientRequestToken", "Member must have length less than or equal to 36")
	}
	if err := cs.Err(); err != nil {
		return nil, err
	}
	writes := make([]Write, len(in.TransactItems))
	bytes := 0
	for i, it := range in.TransactItems {
		w := &writes[i]
		if err := w.checkTransact(p, it); err != nil {
			return nil, err
		}
		n := item.Size(w.Keyed)
		if w.Verb == Put && n > MaxItemBytes {
			return nil, Invalid(ItemTooLarge)
		}
		bytes += n
	}
	if bytes > maxTransactionBytes {
		return nil, Invalid("The total size of the items in the transaction exceeds the limit of 4 MB")
	}
	return writes, nil
}

func checkActions(c *Members, n int) {
	switch {
	case n == 0:
		c.Add("[]", "transactItems", "Member must have length greater than or equal to 1")
	case n > maxTransaction:
		c.Add("[...]", "transactItems", "Member must have length less than or equal to 100")
	}
}

func (w *Write) checkTransact(p *expr.Parser, it types.TransactWriteItem) error {
	kinds := 0
	var key item.Item
	var e Expressions
	var tell types.ReturnValuesOnConditionCheckFailure
	if p := it.Put; p != nil {
		kinds, w.Verb, w.Table, key = kinds+1, Put, p.TableName, p.Item
		e = Expressions{Condition: p.ConditionExpression, Names: p.ExpressionAttributeNames, Values: p.ExpressionAttributeValues}
		tell = p.ReturnValuesOnConditionCheckFailure
	}
	if u := it.Update; u != nil {
		kinds, w.Verb, w.Table, key = kinds+1, Update, u.TableName, u.Key
		e = Expressions{Update: u.UpdateExpression, Condition: u.ConditionExpression, Names: u.ExpressionAttributeNames, Values: u.ExpressionAttributeValues}
		tell = u.ReturnValuesOnConditionCheckFailure
	}
	if d := it.Delete; d != nil {
		kinds, w.Verb, w.Table, key = kinds+1, Delete, d.TableName, d.Key
		e = Expressions{Condition: d.ConditionExpression, Names: d.ExpressionAttributeNames, Values: d.ExpressionAttributeValues}
		tell = d.ReturnValuesOnConditionCheckFailure
	}
	if k := it.ConditionCheck; k != nil {
		kinds, w.Verb, w.Table, key = kinds+1, ConditionCheck, k.TableName, k.Key
		e = Expressions{Condition: k.ConditionExpression, Names: k.ExpressionAttributeNames, Values: k.ExpressionAttributeValues}
		tell = k.ReturnValuesOnConditionCheckFailure
	}
	if kinds != 1 {
		return Invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return w.checkAction(p, key, e, tell)
}

func (w *Write) checkAction(p *expr.Parser, key item.Item, e Expressions, tell types.ReturnValuesOnConditionCheckFailure) (err error) {
	var cs Members
	w.tell(&cs, "transactItems.1.member.", tell)
	if key == nil {
		cs.AddNull("transactItems.1.member.key")
	}
	if w.Verb == ConditionCheck && e.Condition == nil {
		cs.AddNull("transactItems.1.member.conditionCheck.conditionExpression")
	}
	if w.Verb == Update && e.Update == nil {
		cs.AddNull("transactItems.1.member.update.updateExpression")
	}
	if err := CheckTableName(w.Table, &cs); err != nil {
		return err
	}
	exprs := []Expression{{Name: "ConditionExpression", Source: e.Condition}}
	if w.Verb == Update {
		exprs = []Expression{{Name: "UpdateExpression", Source: e.Update}, {Name: "ConditionExpression", Source: e.Condition}}
	}
	if err := CheckMix(exprs, nil, e.Names, e.Values); err != nil {
		return err
	}
	if w.Keyed, err = Normalize(key); err != nil {
		return err
	}
	return w.bind(p, e)
}

// Digest is a hash of a transaction in canonical form: maps sorted, numbers normalised.
func Digest(writes []Write) [sha256.Size]byte {
	var b []byte
	text := func(s string) { b = row.AppendSized(b, []byte(s)) }
	for i := range writes {
		w := &writes[i]
		b = append(b, byte(w.Verb))
		text(TableName(w.Table))
		b = item.Append(b, w.Keyed)
		e := w.Source
		for _, src := range []*string{e.Update, e.Condition} {
			if src == nil {
				b = append(b, 0)
				continue
			}
			b = append(b, 1)
			text(*src)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Names)) {
			text(name)
			text(e.Names[name])
		}
		b = item.Append(b, canonicalValues(e.Values))
		if w.Tell {
			b = append(b, 1)
		}
	}
	return sha256.Sum256(b)
}

// canonicalValues are the values of a request that has been checked.
func canonicalValues(values map[string]types.AttributeValue) item.Item {
	n, err := item.Normalize(values)
	if err != nil {
		return values
	}
	return n
}

// TransactGet is one read of a transaction.
type TransactGet struct {
	Table      *string
	Key        item.Item
	Projection *expr.Projection
}

// TransactGets checks a TransactGetItems as far as that goes without the tables.
func TransactGets(p *expr.Parser, in *dynamodb.TransactGetItemsInput) ([]TransactGet, error) {
	var cs Members
	cs.CheckReturns(in.ReturnConsumedCapacity, "", "")
	checkActions(&cs, len(in.TransactItems))
	if err := cs.Err(); err != nil {
		return nil, err
	}
	gets := make([]TransactGet, len(in.TransactItems))
	for i, it := range in.TransactItems {
		if it.Get == nil || it.Get.Key == nil {
			cs.AddNull("transactItems.1.member.get")
			return nil, cs.Err()
		}
		if err := CheckTableName(it.Get.TableName, &cs); err != nil {
			return nil, err
		}
		sel := Selection{Projection: it.Get.ProjectionExpression, Names: it.Get.ExpressionAttributeNames}
		if err := sel.Check(); err != nil {
			return nil, err
		}
		key, err := Normalize(it.Get.Key)
		if err != nil {
			return nil, err
		}
		proj, err := sel.Bind(p)
		if err != nil {
			return nil, err
		}
		gets[i] = TransactGet{Table: it.Get.TableName, Key: key, Projection: proj}
	}
	return gets, nil
}
