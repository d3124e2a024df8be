package foldsim_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
	"github.com/onefold/onefold/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// naive is a consumer as people often write it: it adds the amount of each change in one atomic
// update, and saves its position afterwards. It counts a change twice if the change is delivered
// twice.
type naive struct {
	t *table.Table
}

func (n naive) consume(ctx context.Context, src fold.Source) error {
	shards, err := src.Shards(ctx)
	if err != nil {
		return err
	}
	for _, sh := range shards {
		position := fold.Checkpoint{CheckpointKey: fold.CheckpointKey{Group: "sim", Shard: sh.ID}}
		out, err := n.t.API().GetItem(ctx, &dynamodb.GetItemInput{Key: must(fold.Checkpoints.Key(position.CheckpointKey))})
		if err != nil {
			return err
		}
		if out.Item != nil {
			position = must(fold.Checkpoints.Decode(out.Item))
		}
		for end := false; !end; {
			if end, err = n.page(ctx, src, &position); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n naive) page(ctx context.Context, src fold.Source, position *fold.Checkpoint) (end bool, err error) {
	b, err := src.Read(ctx, fold.ReadRequest{
		Shard: position.Shard, After: fold.Sequence(position.Position), Max: 10,
		Want: func(et string) bool { return et == orders.Name() },
	})
	if err != nil {
		return false, err
	}
	for _, c := range b.Changes {
		if !c.Expired {
			err = errors.Join(n.add(ctx, c.Old, -1), n.add(ctx, c.New, 1))
		}
		if err != nil {
			return false, err
		}
	}
	position.Position, position.Done, position.At = string(b.Last), b.End, n.t.Now()
	if len(b.Changes) > 0 { // a checkpoint is also a change
		_, err = n.t.API().PutItem(ctx, &dynamodb.PutItemInput{Item: must(fold.Checkpoints.Encode(position))})
	}
	return b.Tip || b.End, err
}

// add does what an ADD update would do.
func (n naive) add(ctx context.Context, it table.Item, sign int) error {
	if it == nil || it["et"].(*types.AttributeValueMemberS).Value != orders.Name() {
		return nil
	}
	o := must(orders.Decode(it))
	for {
		out, err := n.t.API().GetItem(ctx, &dynamodb.GetItemInput{Key: must(totals.Key(TotalKey{o.Region}))})
		if err != nil {
			return err
		}
		s := Total{TotalKey: TotalKey{o.Region}}
		in := &dynamodb.PutItemInput{ConditionExpression: new("attribute_not_exists(#pk)"), ExpressionAttributeNames: map[string]string{"#pk": "pk"}}
		if out.Item != nil {
			s = must(totals.Decode(out.Item))
			in.ConditionExpression = new("#fv = :fv")
			in.ExpressionAttributeNames = map[string]string{"#fv": fold.AttrVersion}
			in.ExpressionAttributeValues = map[string]types.AttributeValue{":fv": out.Item[fold.AttrVersion]}
		}
		s.Orders += sign
		s.Amount += sign * o.Amount
		in.Item = must(totals.Encode(&s))
		in.Item[fold.AttrVersion] = &types.AttributeValueMemberS{Value: nextVersion(out.Item)}
		_, err = n.t.API().PutItem(ctx, in)
		if !dynamo.IsConditionFailed(err) {
			return err
		}
	}
}

func nextVersion(it table.Item) string {
	v, ok := it[fold.AttrVersion].(*types.AttributeValueMemberS)
	if !ok {
		return "v"
	}
	return v.Value + "v"
}

// TestSimulationCatchesPlainAdd shows that the simulation is hard enough: with the same writes, a
// consumer without marks ends up with wrong totals. Without disturbance its totals are right, so
// the disturbance exposes the defect.
func TestSimulationCatchesPlainAdd(t *testing.T) {
	t.Parallel()
	caught := 0
	const seeds = 30
	for seed := range uint64(seeds) {
		err := foldsim.Run(foldsim.Scenario{
			Folds: []*fold.Fold{fold.New("totals", totals, func(into, d *Total) {
				into.Orders += d.Orders
				into.Amount += d.Amount
			}, fold.On(orders, addOrder))},
			Write: writeOrders,
			Consume: func(ctx context.Context, t *table.Table, src fold.Source) error {
				return naive{t}.consume(ctx, src)
			},
		}, seed+1)
		switch {
		case err == nil:
		case strings.HasPrefix(err.Error(), "derived items are not"):
			caught++
		default:
			t.Errorf("seed %d: %v", seed+1, err)
		}
	}
	if caught < seeds/2 {
		t.Errorf("plain ADD was caught with %d of %d seeds only", caught, seeds)
	}
}
