package foldsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// client is the API as seen by one process: the operations that folds use.
type client struct {
	dynamo.API // nil: calling any other operation is a bug in the simulation
	p          *process
}

var (
	errNetwork = errors.New("foldsim: connection reset")
	errGone    = &types.ResourceNotFoundException{Message: new("foldsim: shard is trimmed")}
)

// call performs one request. Other processes may run, and this one may crash, before the request
// and between its effect and its response.
func (p *process) call(do func() error) error {
	if p.outside {
		return do()
	}
	if err := p.giveWay(); err != nil {
		return err
	}
	r := p.world.Rand
	if p.world.faults {
		switch n := r.IntN(60); {
		case n < 2, n < 45 && p.world.storm:
			return &types.ProvisionedThroughputExceededException{}
		case n == 2:
			return errNetwork
		}
	}
	err := do()
	if lost := p.giveWay(); lost != nil {
		return lost
	}
	if p.world.faults && r.IntN(40) == 0 {
		return errNetwork // the request took effect, but its response was lost
	}
	return err
}

func (c *client) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	err := c.p.call(func() error {
		ok, err := holds(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, c.p.world.items[idOf(in.Item)])
		if err == nil && !ok {
			err = &types.ConditionalCheckFailedException{}
		}
		if err == nil {
			it := maps.Clone(in.Item)
			if c.p.world.spoil != nil {
				c.p.world.spoil(it)
			}
			c.p.world.commit(it, it, false)
		}
		return err
	})
	return &dynamodb.PutItemOutput{}, err
}

// TransactWriteItems puts all of several items, or none.
func (c *client) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	err := c.p.call(func() error {
		reasons := make([]types.CancellationReason, len(in.TransactItems))
		refused := false
		for i, w := range in.TransactItems {
			if w.Put == nil {
				return errors.New("foldsim: a transaction that does not put")
			}
			ok, err := holds(w.Put.ConditionExpression, w.Put.ExpressionAttributeNames, w.Put.ExpressionAttributeValues, c.p.world.items[idOf(w.Put.Item)])
			if err != nil {
				return err
			}
			if reasons[i].Code = new("None"); !ok {
				refused, reasons[i].Code = true, new("ConditionalCheckFailed")
			}
		}
		if refused {
			return &types.TransactionCanceledException{CancellationReasons: reasons}
		}
		for _, w := range in.TransactItems {
			c.p.world.commit(w.Put.Item, w.Put.Item, false)
		}
		return nil
	})
	return &dynamodb.TransactWriteItemsOutput{}, err
}

// holds evaluates a condition in one of the two forms that folds use.
func holds(condition *string, names map[string]string, values, it table.Item) (bool, error) {
	if condition == nil {
		return true, nil
	}
	cond := strings.ReplaceAll(*condition, " (", "(")
	if name, ok := strings.CutPrefix(cond, "attribute_not_exists("); ok {
		name = strings.TrimSuffix(name, ")")
		_, exists := it[cmp.Or(names[name], name)]
		return !exists, nil
	}
	name, value, ok := strings.Cut(cond, " = ")
	if !ok {
		return false, fmt.Errorf("foldsim: condition %q", cond)
	}
	have, exists := it[names[name]]
	return exists && show(have) == show(values[value]), nil
}

func (c *client) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out := &dynamodb.GetItemOutput{}
	err := c.p.call(func() error {
		out.Item = c.p.world.items[idOf(in.Key)]
		return nil
	})
	return out, err
}

func (c *client) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{
		Responses: map[string][]map[string]types.AttributeValue{}, UnprocessedKeys: map[string]types.KeysAndAttributes{},
	}
	w := c.p.world
	err := c.p.call(func() error {
		for name, ask := range in.RequestItems {
			var left []map[string]types.AttributeValue
			for _, key := range ask.Keys {
				it := w.items[idOf(key)]
				switch {
				case w.faults && w.Rand.IntN(30) == 0:
					left = append(left, key)
				case it != nil:
					out.Responses[name] = append(out.Responses[name], it)
				}
			}
			if len(left) > 0 {
				out.UnprocessedKeys[name] = types.KeysAndAttributes{Keys: left, ConsistentRead: ask.ConsistentRead}
			}
		}
		return nil
	})
	return out, err
}

// Query supports the two forms of key condition that folds use: a partition with a prefix of the
// sort key, or with a range of it.
func (c *client) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	err := c.p.call(func() error {
		pk := stringOf(in.ExpressionAttributeValues[":pk"]) + "\xff"
		prefix, from, to := pk+stringOf(in.ExpressionAttributeValues[":sk"]), "", "\xff\xff"
		if between := in.ExpressionAttributeValues[":from"]; between != nil {
			from, to = pk+stringOf(between), pk+stringOf(in.ExpressionAttributeValues[":to"])
		}
		var found []string
		for id := range c.p.world.items {
			if strings.HasPrefix(id, prefix) && id >= from && id <= to {
				found = append(found, id)
			}
		}
		slices.Sort(found)
		for _, id := range found {
			out.Items = append(out.Items, c.p.world.items[id])
		}
		return nil
	})
	return out, err
}

// source is the stream as read by one process.
type source struct{ p *process }

func (s source) Shards(context.Context) (list []fold.Shard, err error) {
	err = s.p.call(func() error {
		for _, sh := range s.p.world.shards {
			if !sh.trimmed {
				list = append(list, fold.Shard{ID: sh.id, Parent: sh.parent, Closed: sh.closed})
			}
		}
		return nil
	})
	return list, err
}

// Read returns pages of random length, sometimes empty, and sometimes with a change that was read
// before.
func (s source) Read(_ context.Context, r fold.ReadRequest) (b fold.Batch, err error) {
	err = s.p.call(func() error {
		sh := s.p.world.shard(r.Shard)
		if sh == nil || sh.trimmed {
			return errGone
		}
		b = s.p.world.page(sh, r)
		return nil
	})
	return b, err
}

func (w *World) shard(id string) *shard {
	for _, sh := range w.shards {
		if sh.id == id {
			return sh
		}
	}
	return nil
}

func (w *World) page(sh *shard, r fold.ReadRequest) fold.Batch {
	from := 0
	for from < len(sh.changes) && sh.changes[from].Seq.Compare(r.After) <= 0 {
		from++
	}
	n := min(r.Max, len(sh.changes)-from)
	if w.faults {
		n = min(n, w.Rand.IntN(8))
		from -= min(from, w.Rand.IntN(20)/18) // repeat one change
	}
	b := fold.Batch{Last: r.After, Read: n}
	for _, c := range sh.changes[from : from+n] {
		b.Last, b.At = c.Seq, c.At
		if r.Want == nil || r.Want(stringOf(c.New[table.AttrEntity])) || r.Want(stringOf(c.Old[table.AttrEntity])) {
			b.Changes = append(b.Changes, c)
		}
	}
	if b.Last.Compare(r.After) < 0 {
		b.Last = r.After
	}
	b.Tip = from+n == len(sh.changes) && n == 0
	b.End = sh.closed && from+n == len(sh.changes)
	return b
}
