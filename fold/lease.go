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

// observedLease is an observed lease: its turn, and when this worker first saw that turn. Times written
// by others come from other clocks. So a lease counts as expired once its turn has stayed the same
// for the lease's duration, by this worker's clock. An owner that paused for longer finds the turn
// changed when it continues. (Kinesis' client library uses the same method.)
type observedLease struct {
	turn int64
	at   time.Time
}

// owns reports whether this worker reads the shard. A worker may not notice at once that its lease
// has expired, and go on. It then duplicates work but does no harm.
func (w *Worker) owns(sh *shard, now time.Time) bool {
	return !w.o.Leases || now.Before(sh.leased)
}

// maintainLeases renews this worker's leases after a third of their duration and acquires its fair
// share: free leases first, then leases of workers with more than their share, since otherwise a
// newcomer would never get any. A worker with too many leases keeps each until it is taken, so that
// no shard is left without a reader.
func (w *Worker) maintainLeases(ctx context.Context) error {
	now := w.o.Clock()
	if !w.o.Leases || w.o.LeaseFree || now.Before(w.leaseAt) && !slices.ContainsFunc(w.order, (*shard).mustPublish) {
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
	now = w.o.Clock()
	w.observeLeases(open, held, now)
	quota := w.fairShare(held, len(open), now)
	own, wanted := w.chooseLeases(open, held, quota, now)
	if err := w.renewLeases(ctx, own, held); err != nil {
		return err
	}
	mine := 0
	for _, sh := range open {
		if sh.turn != 0 {
			mine++
		}
	}
	for _, sh := range wanted {
		if mine >= quota {
			break
		}
		ok, err := w.takeLease(ctx, sh, held[sh.id])
		if err != nil {
			return err
		}
		if ok {
			mine++
		}
	}
	w.leaseAt = w.nextLeaseCheck(held, now)
	return nil
}

// observeLeases records which leases have changed since the last look.
func (w *Worker) observeLeases(open []*shard, held map[string]Lease, now time.Time) {
	observed := make(map[string]observedLease, len(open))
	for _, sh := range open {
		s, seen := w.observed[sh.id]
		if turn := held[sh.id].Turn; !seen || s.turn != turn {
			s = observedLease{turn: turn, at: now}
		}
		observed[sh.id] = s
	}
	w.observed = observed
}

// isHeld reports whether a lease is held by some worker.
func (w *Worker) isHeld(l *Lease, now time.Time) bool {
	return l.Owner != "" && now.Sub(w.observed[l.Shard].at) < l.duration(w.o.LeaseFor)
}

// duration returns the duration of a lease, or otherwise if the stored value is out of range.
func (l *Lease) duration(otherwise time.Duration) time.Duration {
	if l.For <= 0 || l.For > maxLease {
		return otherwise
	}
	return l.For
}

// maxLease caps the duration of leases, so that a misconfigured worker cannot block a shard for
// longer.
const maxLease = time.Hour

// nextLeaseCheck returns when to look at the leases again: after a third of their duration, or when a
// lease of another worker may have expired.
func (w *Worker) nextLeaseCheck(held map[string]Lease, now time.Time) time.Time {
	next := now.Add(w.o.LeaseFor / 3)
	for _, l := range held {
		end := w.observed[l.Shard].at.Add(l.duration(w.o.LeaseFor))
		if l.Owner != w.o.Owner && w.isHeld(&l, now) && end.Before(next) {
			next = end
		}
	}
	return next
}

// chooseLeases returns the shards whose leases this worker has, and those it may take, in order of
// preference: free ones, then those that others have beyond their fair share.
func (w *Worker) chooseLeases(open []*shard, held map[string]Lease, quota int, now time.Time) (own, wanted []*shard) {
	var others []*shard
	count := map[string]int{}
	for _, sh := range open {
		l := held[sh.id]
		switch {
		case sh.turn != 0 && l.Turn == sh.turn && l.Owner == w.o.Owner:
			own = append(own, sh)
			continue
		case !w.isHeld(&l, now), l.Owner == w.o.Owner: // its own if the response to a renewal was lost
			wanted = append(wanted, sh)
		default:
			if count[l.Owner]++; count[l.Owner] > quota {
				others = append(others, sh)
			}
		}
		sh.turn, sh.leased = 0, time.Time{} // taken by another worker, if it was this worker's
	}
	return own, append(wanted, others...)
}

// fairShare returns how many of n shards one worker should have, given the workers that hold live
// leases.
func (w *Worker) fairShare(held map[string]Lease, n int, now time.Time) int {
	owners := map[string]bool{w.o.Owner: true}
	for _, l := range held {
		if w.isHeld(&l, now) {
			owners[l.Owner] = true
		}
	}
	return (n + len(owners) - 1) / len(owners)
}

// renewLeases renews this worker's leases, including expired ones that nobody has taken.
func (w *Worker) renewLeases(ctx context.Context, own []*shard, held map[string]Lease) error {
	return w.each(w.o.Readers, len(own), func(i int) error {
		_, err := w.writeLease(ctx, own[i], held[own[i].id])
		return err
	})
}

// takeLease acquires a lease, on condition that it has not changed. It then reads the checkpoint
// again, because the previous owner has advanced it.
func (w *Worker) takeLease(ctx context.Context, sh *shard, l Lease) (bool, error) {
	ok, err := w.writeLease(ctx, sh, l)
	if !ok || err != nil {
		return false, err
	}
	if err := w.readCheckpoints(ctx, []*shard{sh}); err != nil {
		return false, err
	}
	seq, _ := sh.durable()
	w.moveTo(sh, maxSequence(sh.position, seq))
	if now := w.o.Clock(); l.Mark.Before(now) { // ignore marks from a clock that is ahead
		sh.mark.Raise(l.Mark)
	}
	return true, nil
}

// writeLease makes this worker the owner of a shard, unless the lease has changed. It reports
// whether it succeeded.
func (w *Worker) writeLease(ctx context.Context, sh *shard, l Lease) (bool, error) {
	next := w.newLease(sh, w.o.Owner, l.Turn+1)
	sh.uncertain, sh.expected = true, l.Turn // until it is known that this write was stored
	switch err := w.putLease(ctx, next, l.Turn, l.Turn > 0); {
	case dynamo.IsConditionFailed(err):
		sh.turn, sh.leased = 0, time.Time{}
		return false, nil
	case err != nil:
		return false, err
	}
	sh.uncertain = false
	sh.turn, sh.leased, sh.unpublished = next.Turn, next.At.Add(next.For), next.Mark.IsZero()
	return true, nil
}

// newLease returns a lease of the shard with what this worker knows of it. Without an owner it is free.
func (w *Worker) newLease(sh *shard, owner string, turn int64) Lease {
	return Lease{
		LeaseKey: LeaseKey{Group: w.o.Group, Shard: sh.id},
		Owner:    owner, Turn: turn, For: w.o.LeaseFor, At: w.o.Clock(), Mark: sh.mark.Mark(), Parent: sh.parent, Siblings: sh.siblings,
	}
}

// mustPublish reports whether the shard's watermark is known by now but missing in its lease.
func (sh *shard) mustPublish() bool {
	return sh.turn != 0 && sh.unpublished && sh.listed && !sh.finished() && !sh.mark.Mark().IsZero()
}

// putLease writes a lease on condition that the stored one has the given turn or, unless exists,
// that there is none.
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

// releaseLeases releases this worker's leases, so that others need not wait until they expire.
func (w *Worker) releaseLeases(ctx context.Context) error {
	if !w.o.Leases {
		return nil
	}
	if err := w.resolveLeases(ctx); err != nil {
		return err
	}
	for _, sh := range w.order {
		turn := sh.turn
		sh.turn, sh.leased = 0, time.Time{}
		if turn == 0 {
			continue
		}
		if err := w.putLease(ctx, w.newLease(sh, "", turn+1), turn, true); err != nil && !dynamo.IsConditionFailed(err) {
			sh.uncertain, sh.expected = true, turn // stop tries again
			return err
		}
	}
	return nil
}

// resolveLeases finds out who owns the leases whose last write may have been stored although it
// failed. A worker that is told to stop interrupts its own requests, and a retried write fails on its
// own first attempt. If such a write raised the turn, a release on condition of the old turn would
// fail, and other workers would wait until the lease expires.
func (w *Worker) resolveLeases(ctx context.Context) error {
	for {
		var keys []LeaseKey
		for _, sh := range w.order {
			if sh.uncertain {
				keys = append(keys, LeaseKey{Group: w.o.Group, Shard: sh.id})
			}
		}
		if len(keys) == 0 {
			return nil
		}
		held, err := w.readLeases(ctx, keys)
		if err != nil {
			return err
		}
		for _, sh := range w.order {
			if !sh.uncertain {
				continue
			}
			if err := w.resolveLease(ctx, sh, held[sh.id]); err != nil {
				return err
			}
		}
	}
}

// resolveLease settles the interrupted write of one lease. The store may still be working on that
// write and apply it after this read. If its condition still holds, raising the turn makes it fail.
// If the turn cannot be raised, because the write or another worker was faster, the shard stays
// uncertain and is read again; the condition then holds no longer.
func (w *Worker) resolveLease(ctx context.Context, sh *shard, l Lease) error {
	switch {
	case l.Owner == w.o.Owner:
		sh.turn = l.Turn
	case l.Turn == sh.expected:
		if sh.expected == 0 {
			l = w.newLease(sh, "", 0)
		}
		l.Turn++
		err := w.putLease(ctx, l, sh.expected, sh.expected > 0)
		if dynamo.IsConditionFailed(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	sh.uncertain = false
	return nil
}
