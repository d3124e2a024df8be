package fold

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// owns reports whether this worker reads the shard. A worker whose lease has run out may not know it yet and go on; it
// then does work twice, not wrong.
func (w *Worker) owns(sh *shard, now time.Time) bool {
	return !w.o.Leases || now.Before(sh.leased)
}

// keepLeases renews this worker's leases when a third of their time is left and takes its fair share of free ones.
func (w *Worker) keepLeases(ctx context.Context) error {
	now := w.o.Clock()
	if !w.o.Leases || !w.leasesDue(now) {
		return nil
	}
	var open []*shard
	keys := make([]LeaseKey, 0, len(w.order))
	for _, sh := range w.order {
		if sh.listed && !sh.finished() {
			open = append(open, sh)
			keys = append(keys, LeaseKey{Group: w.o.Group, Shard: sh.id})
		}
	}
	held, err := w.readLeases(ctx, keys)
	if err != nil {
		return err
	}
	mine := 0
	quota := fairShare(held, len(open), w.o.Owner, now)
	for _, sh := range w.worthTaking(open, held, quota, now) {
		l, exists := held[sh.id]
		ok, err := w.takeLease(ctx, sh, l, exists, now)
		if err != nil {
			return err
		}
		if ok {
			mine++
		}
		if mine == quota {
			break
		}
	}
	w.leaseAt = now.Add(w.o.LeaseFor / 3)
	return nil
}

// worthTaking returns the shards whose leases this worker may take, in order: its own, free ones, and at last one of
// whoever has more than a fair share, for a newcomer would else never get any.
func (w *Worker) worthTaking(open []*shard, held map[string]Lease, quota int, now time.Time) []*shard {
	var own, free, others []*shard
	count := map[string]int{}
	for _, sh := range open {
		l := held[sh.id]
		switch {
		case l.Owner == w.o.Owner && now.Before(l.Until):
			own = append(own, sh)
			sh.leased = time.Time{} // until it is renewed
		case !now.Before(l.Until):
			free = append(free, sh)
		default:
			if count[l.Owner]++; count[l.Owner] > quota && len(others) == 0 {
				others = append(others, sh)
			}
		}
	}
	return slices.Concat(own, free, others)
}

func (w *Worker) leasesDue(now time.Time) bool { return !now.Before(w.leaseAt) }

// fairShare returns how many of n shards one worker should have, as far as the leases tell who is there.
func fairShare(held map[string]Lease, n int, self string, now time.Time) int {
	owners := map[string]bool{self: true}
	for _, l := range held {
		if now.Before(l.Until) {
			owners[l.Owner] = true
		}
	}
	return (n + len(owners) - 1) / len(owners)
}

// takeLease takes or renews a lease, on condition that nobody else did meanwhile. On taking it the checkpoint is read
// again, for the last owner has moved it.
func (w *Worker) takeLease(ctx context.Context, sh *shard, l Lease, exists bool, now time.Time) (bool, error) {
	renewal := exists && l.Owner == w.o.Owner && now.Before(l.Until)
	next := Lease{
		LeaseKey: LeaseKey{Group: w.o.Group, Shard: sh.id},
		Owner:    w.o.Owner, Until: now.Add(w.o.LeaseFor), Turn: l.Turn + 1,
	}
	err := w.putLease(ctx, next, l.Turn, exists)
	if dynamo.IsConditionFailed(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sh.leased = next.Until
	if renewal {
		return true, nil
	}
	if err := w.readCheckpoints(ctx, []*shard{sh}); err != nil {
		return false, err
	}
	seq, _ := sh.durable()
	sh.position = later(sh.position, seq)
	return true, nil
}

func (w *Worker) putLease(ctx context.Context, l Lease, turn int64, exists bool) error {
	it, err := Leases.Encode(&l)
	if err != nil {
		return fmt.Errorf("fold: lease: %w", err)
	}
	in := &dynamodb.PutItemInput{TableName: ptr(w.table.Name()), Item: it}
	if exists {
		in.ConditionExpression = ptr("#turn = :turn")
		in.ExpressionAttributeNames = map[string]string{"#turn": "turn"}
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":turn": number(turn)}
	} else {
		in.ConditionExpression = ptr("attribute_not_exists(#pk)")
		in.ExpressionAttributeNames = map[string]string{"#pk": table.AttrPK}
	}
	return w.retry(ctx, func() error {
		_, err := w.table.API().PutItem(ctx, in)
		return err
	})
}

func (w *Worker) readLeases(ctx context.Context, keys []LeaseKey) (map[string]Lease, error) {
	held := make(map[string]Lease, len(keys))
	err := getEach(ctx, w, Leases, keys, func(l Lease) { held[l.Shard] = l })
	return held, err
}

// releaseLeases gives this worker's leases back, so that others need not wait for their end.
func (w *Worker) releaseLeases(ctx context.Context) error {
	if !w.o.Leases {
		return nil
	}
	now := w.o.Clock()
	var keys []LeaseKey
	for _, sh := range w.order {
		if now.Before(sh.leased) {
			keys = append(keys, LeaseKey{Group: w.o.Group, Shard: sh.id})
		}
		sh.leased = time.Time{}
	}
	held, err := w.readLeases(ctx, keys)
	if err != nil {
		return err
	}
	for _, k := range keys {
		l, ok := held[k.Shard]
		if !ok || l.Owner != w.o.Owner {
			continue
		}
		turn := l.Turn
		l.Until, l.Turn = now, turn+1
		if err := w.putLease(ctx, l, turn, true); err != nil && !dynamo.IsConditionFailed(err) {
			return err
		}
	}
	return nil
}
