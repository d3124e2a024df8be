package fold

import (
	"context"
	"slices"
	"time"

	"github.com/onefold/onefold/fold/lease"
)

// owns reports whether this worker reads the shard. A worker may not notice at once that its lease
// has expired, and go on. It then duplicates work but does no harm.
func (w *Worker) owns(sh *shard, now time.Time) bool {
	return !w.o.Leases || now.Before(sh.lease.Until())
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
	ids := make([]string, 0, len(w.order))
	for _, sh := range w.order {
		if sh.listed && !sh.finished() {
			open = append(open, sh)
			ids = append(ids, sh.id)
		}
	}
	held, err := w.leases.Read(ctx, ids...)
	if err != nil {
		return err
	}
	now = w.o.Clock()
	w.leases.Observe(held, now, ids...)
	own, free, others := w.chooseLeases(open, held, now)
	if err := w.renewLeases(ctx, own, held); err != nil { // first: leases must not expire while members cannot be read
		return err
	}
	members, err := w.leases.Announce(ctx, held, now)
	if err != nil {
		return err
	}
	quotas := members.Quotas(len(open))
	surplus := w.leases.Surplus(held, quotas, now)
	others = slices.DeleteFunc(others, func(sh *shard) bool { return !surplus[sh.id] })
	if err := w.takeLeases(ctx, free, held, max(quotas[w.o.Owner], members.Free(len(open)))); err != nil {
		return err
	}
	if err := w.takeLeases(ctx, others, held, quotas[w.o.Owner]); err != nil {
		return err
	}
	w.leaseAt = w.nextLeaseCheck(held, now)
	return nil
}

// takeLeases acquires leases until this worker has as many as limit.
func (w *Worker) takeLeases(ctx context.Context, wanted []*shard, held map[string]lease.Lease, limit int) error {
	mine := 0
	for _, sh := range w.order {
		if sh.listed && !sh.finished() && sh.lease.Held() {
			mine++
		}
	}
	for _, sh := range wanted {
		if mine >= limit {
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
	return nil
}

// nextLeaseCheck returns when to look at the leases again: after a third of their duration, or when a
// lease of another worker may have expired.
func (w *Worker) nextLeaseCheck(held map[string]lease.Lease, now time.Time) time.Time {
	next := now.Add(w.o.LeaseFor / 3)
	for _, l := range held {
		if end := w.leases.Ends(&l); l.Owner != w.o.Owner && w.leases.Live(&l, now) && end.Before(next) {
			next = end
		}
	}
	return next
}

// chooseLeases returns the shards whose leases this worker has, free ones, and those of others.
func (w *Worker) chooseLeases(open []*shard, held map[string]lease.Lease, now time.Time) (own, free, others []*shard) {
	for _, sh := range open {
		l := held[sh.id]
		switch {
		case w.leases.Is(sh.lease, &l):
			own = append(own, sh)
			continue
		case !w.leases.Live(&l, now), l.Owner == w.o.Owner: // its own if the response to a renewal was lost
			free = append(free, sh)
		default:
			others = append(others, sh)
		}
		sh.lease.Drop() // taken by another worker, if it was this worker's
	}
	return own, free, others
}

// renewLeases renews this worker's leases, including expired ones that nobody has taken.
func (w *Worker) renewLeases(ctx context.Context, own []*shard, held map[string]lease.Lease) error {
	return each(w.o.Readers, len(own), func(i int) error {
		_, err := w.acquireLease(ctx, own[i], held[own[i].id])
		return err
	})
}

// takeLease acquires a lease, on condition that it has not changed. It then reads the checkpoint
// again, because the previous owner has advanced it.
func (w *Worker) takeLease(ctx context.Context, sh *shard, l lease.Lease) (bool, error) {
	ok, err := w.acquireLease(ctx, sh, l)
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

// acquireLease makes this worker the owner of a shard, unless the lease has changed. It reports
// whether it succeeded.
func (w *Worker) acquireLease(ctx context.Context, sh *shard, stored lease.Lease) (bool, error) {
	p := sh.progress()
	ok, err := w.leases.Acquire(ctx, sh.lease, stored, p)
	if ok {
		sh.unpublished = p.Mark.IsZero()
	}
	return ok, err
}

// progress returns what the lease of the shard reports.
func (sh *shard) progress() lease.Progress {
	return lease.Progress{Mark: sh.mark.Mark(), Parent: sh.parent, Siblings: sh.siblings}
}

// mustPublish reports whether the shard's watermark is known by now but missing in its lease.
func (sh *shard) mustPublish() bool {
	return sh.lease.Held() && sh.unpublished && sh.listed && !sh.finished() && !sh.mark.Mark().IsZero()
}

// releaseLeases releases this worker's leases, so that others need not wait until they expire.
func (w *Worker) releaseLeases(ctx context.Context) error {
	if !w.o.Leases {
		return nil
	}
	claims := make([]*lease.Claim, len(w.order))
	for i, sh := range w.order {
		claims[i] = sh.lease
	}
	if err := w.leases.Release(ctx, claims, func(id string) lease.Progress { return w.shards[id].progress() }); err != nil {
		return err
	}
	return w.leases.Leave(ctx)
}
