package request

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/item"
	"github.com/onefold/onefold/engine/internal/row"
)

// DynamoDB's limits for transactions and items, in bytes.
const (
	maxTransaction      = 100
	maxTransactionBytes = 4 << 20
	MaxItemBytes        = 400 << 10
)

// ItemTooLarge is the error for putting an item larger than MaxItemBytes.
const ItemTooLarge = "Item size has exceeded the maximum allowed size"

// TransactWrites validates a TransactWriteItems, except what needs the tables: first the members of
// all actions, then combinations of parameters, then values and expressions.
func TransactWrites(p *expr.Parser, in *dynamodb.TransactWriteItemsInput) ([]Write, error) {
	var cs Members
	cs.CheckReturns(in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, "")
	checkActions(&cs, len(in.TransactItems))
	if t := in.ClientRequestToken; t != nil && (len(*t) < 1 || len(*t) > 36) {
		cs.Add(*t, "clientRequestToken", "Member must have length less than or equal to 36")
	}
	asked := make([]transactWrite, len(in.TransactItems))
	for i, it := range in.TransactItems {
		asked[i] = readAction(it)
		asked[i].checkMembers(&cs, fmt.Sprintf("transactItems.%d.member.", i+1))
	}
	if err := cs.Err(); err != nil {
		return nil, err
	}
	for i := range asked {
		if err := asked[i].checkParameters(); err != nil {
			return nil, err
		}
	}
	writes := make([]Write, len(asked))
	bytes := 0
	for i := range asked {
		w := &writes[i]
		if err := asked[i].bind(p, w); err != nil {
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

// transactWrite is an action of a transaction as in the request.
type transactWrite struct {
	kinds  int // number of verbs given
	member string
	what   string // name of the member with the key
	verb   Verb
	table  *string
	keyed  item.Item
	source Expressions
	tell   types.ReturnValuesOnConditionCheckFailure
}

func readAction(it types.TransactWriteItem) (a transactWrite) {
	kinds := 0
	if p := it.Put; p != nil {
		kinds++
		a = transactWrite{member: "put.", what: "item", verb: Put, table: p.TableName, keyed: p.Item, tell: p.ReturnValuesOnConditionCheckFailure,
			source: Expressions{Condition: p.ConditionExpression, Names: p.ExpressionAttributeNames, Values: p.ExpressionAttributeValues}}
	}
	if u := it.Update; u != nil {
		kinds++
		a = transactWrite{member: "update.", what: "key", verb: Update, table: u.TableName, keyed: u.Key, tell: u.ReturnValuesOnConditionCheckFailure,
			source: Expressions{Update: u.UpdateExpression, Condition: u.ConditionExpression, Names: u.ExpressionAttributeNames, Values: u.ExpressionAttributeValues}}
	}
	if d := it.Delete; d != nil {
		kinds++
		a = transactWrite{member: "delete.", what: "key", verb: Delete, table: d.TableName, keyed: d.Key, tell: d.ReturnValuesOnConditionCheckFailure,
			source: Expressions{Condition: d.ConditionExpression, Names: d.ExpressionAttributeNames, Values: d.ExpressionAttributeValues}}
	}
	if k := it.ConditionCheck; k != nil {
		kinds++
		a = transactWrite{member: "conditionCheck.", what: "key", verb: ConditionCheck, table: k.TableName, keyed: k.Key, tell: k.ReturnValuesOnConditionCheckFailure,
			source: Expressions{Condition: k.ConditionExpression, Names: k.ExpressionAttributeNames, Values: k.ExpressionAttributeValues}}
	}
	a.kinds = kinds
	return a
}

// checkMembers records errors in members of the action. prefix is the path of the action.
func (a *transactWrite) checkMembers(c *Members, prefix string) {
	if a.kinds != 1 {
		return
	}
	member := prefix + a.member
	CheckEnum(c, member+"returnValuesOnConditionCheckFailure", a.tell, "ALL_OLD", "NONE")
	if a.keyed == nil {
		c.AddNull(member + a.what)
	}
	if a.verb == ConditionCheck && a.source.Condition == nil {
		c.AddNull(member + "conditionExpression")
	}
	if a.verb == Update && a.source.Update == nil {
		c.AddNull(member + "updateExpression")
	}
	c.tableName(a.table, member+"tableName")
}

// checkParameters rejects parameters that are mutually exclusive or incomplete.
func (a *transactWrite) checkParameters() error {
	if a.kinds != 1 {
		return Invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	exprs := []Expression{{Name: "ConditionExpression", Source: a.source.Condition}}
	if a.verb == Update {
		exprs = []Expression{{Name: "UpdateExpression", Source: a.source.Update}, {Name: "ConditionExpression", Source: a.source.Condition}}
	}
	return CheckMix(exprs, nil, a.source.Names, a.source.Values)
}

// bind converts the action to a Write.
func (a *transactWrite) bind(p *expr.Parser, w *Write) (err error) {
	w.Verb, w.Table, w.Tell = a.verb, a.table, a.tell == types.ReturnValuesOnConditionCheckFailureAllOld
	if w.Keyed, err = Normalize(a.keyed); err != nil {
		return err
	}
	return w.bind(p, a.source)
}

// Digest returns a hash of a transaction in canonical form: with sorted maps and normalized
// numbers.
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

// canonicalValues returns the normalized values of a validated request.
func canonicalValues(values map[string]types.AttributeValue) item.Item {
	n, err := item.Normalize(values)
	if err != nil {
		return values
	}
	return n
}

// TransactGet is one read in a transaction.
type TransactGet struct {
	Table      *string
	Key        item.Item
	Projection *expr.Projection
}

// TransactGets validates a TransactGetItems, except what needs the tables.
func TransactGets(p *expr.Parser, in *dynamodb.TransactGetItemsInput) ([]TransactGet, error) {
	var cs Members
	cs.CheckReturns(in.ReturnConsumedCapacity, "", "")
	checkActions(&cs, len(in.TransactItems))
	for i, it := range in.TransactItems {
		member := fmt.Sprintf("transactItems.%d.member.get", i+1)
		switch {
		case it.Get == nil:
			cs.AddNull(member)
			continue
		case it.Get.Key == nil:
			cs.AddNull(member + ".key")
		}
		cs.tableName(it.Get.TableName, member+".tableName")
	}
	if err := cs.Err(); err != nil {
		return nil, err
	}
	gets := make([]TransactGet, len(in.TransactItems))
	for i, it := range in.TransactItems {
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
