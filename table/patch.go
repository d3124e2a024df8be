package table

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table/internal/codec"
)

// Patch modifies attributes of an existing item in a single write, without reading it first, and
// returns the updated item.
//
// The same write recomputes the index keys and the ttl that depend on a changed field. If one of
// them also depends on a field that the patch does not set, Patch returns ErrUnknownValue: set that
// field in the patch as well, or use Modify, which reads the item first.
//
// Errors: ErrNotFound, ErrCondition, ErrUnknownValue, ErrImmutable.
func (e *Entity[T, K]) Patch(ctx context.Context, t *Table, k K, changes ...Change[T]) (T, error) {
	var v T
	err := e.core.patch(ctx, t, &k, &v, untyped(changes))
	return v, err
}

// patch is Patch, which decodes the updated item into v.
func (e *entity) patch(ctx context.Context, t *Table, k, v any, changes []change) error {
	err := e.doPatch(ctx, t, k, v, changes)
	if err != nil {
		return e.failed("patch", err)
	}
	return nil
}

func (e *entity) doPatch(ctx context.Context, t *Table, k, v any, changes []change) error {
	key, x, err := e.patchExpression(k, v, changes, t.nowValue)
	if err != nil {
		return err
	}
	out, err := t.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key,
		UpdateExpression: x.Update(), ConditionExpression: x.Condition(),
		ExpressionAttributeNames: x.Names(), ExpressionAttributeValues: x.Values(),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed):
		return t.absentOr(failed.Item, ErrCondition)
	case err != nil:
		return err
	}
	return e.decode(out.Attributes, v)
}

// absentOr returns ErrNotFound if the item for which a condition failed is missing or not live,
// otherwise err.
func (t *Table) absentOr(it Item, err error) error {
	if len(it) == 0 || !t.live(it) {
		return ErrNotFound
	}
	return err
}

// patchExpression returns the update, with the condition that the item exists and has not expired.
// If now is nil, expiry is not checked. item is a zero T, which holds the known values meanwhile.
func (e *entity) patchExpression(k, item any, changes []change, now func() types.AttributeValue) (Item, expression.Expression, error) {
	var none expression.Expression
	if e.immutable {
		return nil, none, ErrImmutable
	}
	key, err := e.key(k)
	if err != nil {
		return nil, none, err
	}
	defer reflect.ValueOf(item).Elem().SetZero()
	p, err := e.planPatch(k, item, changes)
	if err != nil {
		return nil, none, err
	}
	update, err := e.derive(p)
	if err != nil {
		return nil, none, err
	}
	alive := expression.Name(AttrEntity).Equal(expression.Value(e.name))
	if e.expires && now != nil {
		ttl := expression.Name(AttrTTL)
		alive = alive.And(ttl.AttributeNotExists().Or(ttl.GreaterThan(expression.Value(now()))))
	}
	cond, err := e.join(append(p.conds, Cond{builder: alive}))
	if err != nil {
		return nil, none, err
	}
	x, err := expression.NewBuilder().WithUpdate(update).WithCondition(cond.builder).Build()
	return key, x, err
}

// A patchPlan contains the changes of a patch and the values known in it.
type patchPlan struct {
	item    any // the key, and all values that are set
	known   []string
	changed []string
	conds   []Cond
	update  expression.UpdateBuilder
}

func (e *entity) planPatch(k, item any, changes []change) (*patchPlan, error) {
	p := &patchPlan{item: item, known: e.keyPlan.Names()}
	key := reflect.ValueOf(k).Elem()
	reflect.NewAt(key.Type(), e.keyIn(item).Addr().UnsafePointer()).Elem().Set(key) // its own Set would panic if the type of the key struct is unexported
	for _, c := range changes {
		if c.err != nil {
			return nil, c.err
		}
		if c.update == nil {
			p.conds = append(p.conds, c.cond)
			continue
		}
		if slices.Contains(p.changed, c.name) {
			return nil, fmt.Errorf("field %q is changed twice", c.name)
		}
		p.changed = append(p.changed, c.name)
		p.update = c.update(p.update)
		if c.apply != nil {
			c.apply(p.item)
			p.known = append(p.known, c.name)
		}
	}
	if len(p.changed) == 0 {
		return nil, errors.New("the patch has no changes")
	}
	return p, nil
}

// derive adds the index keys and the ttl that depend on the changes.
func (e *entity) derive(p *patchPlan) (expression.UpdateBuilder, error) {
	u := p.update
	for i := range e.indexes {
		x := &e.indexes[i]
		reads := slices.Concat(x.pk.variables(), x.sk.variables(), x.reads)
		touched, err := p.touches("index "+x.name, reads, x.when != nil && len(x.reads) == 0)
		if err != nil {
			return u, err
		}
		if !touched {
			continue
		}
		pk, sk, ok := "", "", x.in(p.item)
		if ok {
			if pk, sk, ok, err = x.keys(&codec.Encoder{}, reflect.ValueOf(p.item).Elem()); err != nil {
				return u, err
			}
		}
		if ok {
			u = u.Set(expression.NameNoDotSplit(x.pkAttr), expression.Value(pk)).Set(expression.NameNoDotSplit(x.skAttr), expression.Value(sk))
		} else {
			u = u.Remove(expression.NameNoDotSplit(x.pkAttr)).Remove(expression.NameNoDotSplit(x.skAttr))
		}
	}
	touched, err := p.touches("the expiry", e.reads, e.expiry != nil && len(e.reads) == 0)
	if err != nil || !touched {
		return u, err
	}
	ttl, err := e.ttl(p.item)
	if ttl == "" {
		return u.Remove(expression.Name(AttrTTL)), err
	}
	return u.Set(expression.Name(AttrTTL), expression.Value(&types.AttributeValueMemberN{Value: ttl})), err
}

// touches reports whether something derived from the fields in reads must be recomputed, which
// requires that all of them are known. opaque means that the fields it depends on are not declared.
func (p *patchPlan) touches(what string, reads []string, opaque bool) (bool, error) {
	if opaque {
		return false, fmt.Errorf("%w: %s is computed from fields that are not declared: declare them (WhenReads, ExpiresReads), or use Modify",
			ErrUnknownValue, what)
	}
	if !slices.ContainsFunc(reads, func(name string) bool { return slices.Contains(p.changed, name) }) {
		return false, nil
	}
	var missing []string
	for _, name := range reads {
		if !slices.Contains(p.known, name) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return false, fmt.Errorf("%w: %s is also derived from %s: set all of them in one patch, or use Modify",
			ErrUnknownValue, what, strings.Join(missing, ", "))
	}
	return true, nil
}
