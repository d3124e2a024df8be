package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/watermark"
)

// refresh lists the shards if it is time to, and reads the checkpoints of new ones.
func (w *Worker) refresh(ctx context.Context) error {
	now := w.o.Clock()
	if now.Before(w.listAt) {
		return errors.Join(w.checkParents(ctx, now), w.maintainLeases(ctx))
	}
	list, err := w.listShards(ctx)
	if err != nil {
		return err
	}
	w.updateShards(list)
	var unread []*shard
	for _, sh := range w.order {
		if _, asOf := sh.durable(); sh.listed && (asOf == 0 || !sh.finished() && !w.owns(sh, now)) {
			unread = append(unread, sh)
			w.leaseAt = time.Time{}
		}
	}
	if err := w.readCheckpoints(ctx, unread); err != nil {
		return err
	}
	for _, sh := range unread {
		seq, _ := sh.durable()
		w.moveTo(sh, maxSequence(sh.position, seq))
	}
	if err := w.dropTrimmed(ctx); err != nil {
		return err
	}
	if w.listed == 0 {
		if err := w.findGaps(ctx); err != nil {
			return err
		}
	}
	w.listed, w.listAt = w.turns, now.Add(w.o.Refresh/2+time.Duration(w.o.Random()*float64(w.o.Refresh))) // random, so that not all workers list at once
	return w.maintainLeases(ctx)
}

// updateShards updates the shards from a listing.
func (w *Worker) updateShards(list []Shard) {
	for _, sh := range w.order {
		sh.listed = false
	}
	siblings := make(map[string]int)
	for _, s := range list {
		siblings[s.Parent]++
	}
	for _, s := range list {
		sh := w.shard(s.ID)
		if parent := w.shards[s.Parent]; parent != nil {
			sh.mark.Raise(parent.mark.Mark()) // its changes came after all of its parent's
		}
		sh.parent, sh.closed, sh.listed, sh.siblings = s.Parent, s.Closed, true, siblings[s.Parent]
	}
}

// listShards lists the shards of the source, with retries: DynamoDB allows only ten DescribeStream
// calls a second, shared by all clients.
func (w *Worker) listShards(ctx context.Context) (list []Shard, err error) {
	err = w.requests.Retry(ctx, func() error {
		list, err = w.source.Shards(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fold: list shards: %w", err)
	}
	return list, nil
}

// parentsEvery is how often a worker checks whether others have finished the parent shards it waits
// for.
const parentsEvery = 250 * time.Millisecond

// checkParents reads the checkpoints of parent shards that others may have finished and that block
// shards of this worker.
func (w *Worker) checkParents(ctx context.Context, now time.Time) error {
	if now.Before(w.parentsAt) {
		return nil
	}
	w.parentsAt = now.Add(parentsEvery)
	var parents []*shard
	for _, sh := range w.order {
		if sh.listed && !sh.finished() && w.reads(sh, now) && !w.parentFinished(sh) && !slices.Contains(parents, w.shards[sh.parent]) {
			parents = append(parents, w.shards[sh.parent])
		}
	}
	return w.readCheckpoints(ctx, parents)
}

// shard returns the state of a shard, which it creates if necessary.
func (w *Worker) shard(id string) *shard {
	if sh := w.shards[id]; sh != nil {
		return sh
	}
	sh := newShard(id)
	sh.advancedAt = w.o.Clock()
	w.shards[id] = sh
	at, _ := slices.BinarySearchFunc(w.order, id, func(s *shard, id string) int { return cmp.Compare(s.id, id) })
	w.order = slices.Insert(w.order, at, sh)
	return sh
}

// dropTrimmed drops the shards that are no longer listed and have no waiting changes.
func (w *Worker) dropTrimmed(ctx context.Context) error {
	var unfinished []*shard
	for _, sh := range w.order {
		if !sh.listed && sh.waiting == 0 && !sh.finished() {
			unfinished = append(unfinished, sh)
		}
	}
	if err := w.readCheckpoints(ctx, unfinished); err != nil { // others may have finished them
		return err
	}
	for _, sh := range unfinished {
		if !sh.finished() {
			if err := w.closeExpired(ctx, sh.id, sh.advancedAt); err != nil {
				return err
			}
		}
	}
	w.order = slices.DeleteFunc(w.order, func(sh *shard) bool {
		if sh.listed || sh.waiting > 0 {
			return false
		}
		w.unlisted[sh.id], _ = sh.durable()
		delete(w.shards, sh.id)
		return true
	})
	return nil
}

// findGaps runs when a worker starts. It looks for shards that the group had begun and that no
// longer exist: their changes after the checkpoint were missed while no worker ran. It records each
// gap once and closes the checkpoint.
func (w *Worker) findGaps(ctx context.Context) error {
	begun, known := make(map[string]bool), make(map[string]bool)
	var last, fed time.Time
	moved := false
	for c, err := range CheckpointsOf.All(ctx, w.table, GroupIn{Group: w.o.Group}) {
		if err != nil {
			return fmt.Errorf("fold: list checkpoints: %w", err)
		}
		if c.Fed {
			fed = watermark.Latest(fed, c.At)
		}
		moved = moved || c.Position != "" || c.Done
		known[c.Shard], last = true, watermark.Latest(last, c.At)
		if sh := w.shards[c.Shard]; !c.Done && !c.Fed && (sh == nil || !sh.listed) {
			begun[c.Shard] = true
		}
	}
	if w.fed.Load() || !fed.IsZero() && last.Sub(fed) < feedsWithin {
		w.fed.Store(true)
		return nil
	}
	if !moved && w.o.Clock().Sub(last) < gapMargin {
		last = time.Time{} // other workers are starting now, like this one
	}
	if err := w.findParentGaps(ctx, known, last); err != nil || len(begun) == 0 {
		return err
	}
	// A shard created after the first listing may already have a checkpoint from another worker. So
	// a shard is gone only if a listing made after reading its checkpoint does not contain it.
	list, err := w.listShards(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		delete(begun, s.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(begun)) {
		if err := w.closeExpired(ctx, id, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// findParentGaps looks for listed shards whose parents have expired and left no checkpoint: the group has
// seen neither. Unless the group is new, the changes in these parents were missed. last is when the
// group last worked, or zero if it is new; the changes unread at that time were no older than
// streams keep them. A checkpoint at the start of each shard records that it was examined.
func (w *Worker) findParentGaps(ctx context.Context, known map[string]bool, last time.Time) error {
	for _, sh := range w.order {
		if parent := w.shards[sh.parent]; sh.parent == "" || parent != nil && parent.listed || known[sh.id] || known[sh.parent] {
			continue
		}
		if !last.IsZero() {
			if err := w.putGap(ctx, sh.parent, gapStart{from: last.Add(-keptByStreams)}); err != nil {
				return err
			}
		}
		switch err := w.putCheckpoint(ctx, sh); {
		case err == nil:
			sh.raiseCheckpoint("", true, false, 0)
		case !dynamo.IsConditionFailed(err):
			return fmt.Errorf("fold: first checkpoint: %w", err)
		}
	}
	return nil
}

// closeExpired records that the rest of a shard has expired, and closes its checkpoint. seen is when
// the shard was first seen, or zero if never. If the group had no checkpoint of it, all changes
// were missed that still existed at that time.
func (w *Worker) closeExpired(ctx context.Context, id string, seen time.Time) error {
	if w.fed.Load() {
		return nil
	}
	found, err := w.getCheckpoints(ctx, []string{id})
	if err != nil {
		return err
	}
	c, begun := found[id]
	if !begun && !seen.IsZero() {
		return w.putGap(ctx, id, gapStart{from: seen.Add(-keptByStreams)})
	}
	if !begun || c.Done || c.Fed {
		return nil
	}
	if err := w.putGap(ctx, id, gapStart{after: Sequence(c.Position), from: c.readTo()}); err != nil {
		return err
	}
	gone := newShard(id)
	gone.raiseCheckpoint(Sequence(c.Position), true, false, 0)
	gone.remember(&c)
	gone.position, gone.end, gone.gapCount = Sequence(c.Position), true, c.Gaps+1
	if err := w.putCheckpoint(ctx, gone); err != nil && !dynamo.IsConditionFailed(err) {
		return fmt.Errorf("fold: close checkpoint: %w", err)
	}
	return nil
}

// readyShards returns the shards that may be read now: unfinished, owned or helped with, whose parents
// are finished or expired. Reading a child before its parent is finished would break the order of
// an item's changes.
func (w *Worker) readyShards(now time.Time) []*shard {
	var ready []*shard
	for _, sh := range w.order {
		if sh.listed && !sh.end && !sh.finished() && w.reads(sh, now) && !now.Before(sh.retryAt) && w.parentFinished(sh) {
			ready = append(ready, sh)
		}
	}
	return ready
}

func (w *Worker) parentFinished(sh *shard) bool {
	parent := w.shards[sh.parent]
	return sh.parent == "" || parent == nil || !parent.listed || parent.finished()
}
