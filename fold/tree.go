package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// refresh lists the shards when it is time to, and reads the checkpoints of those that are new.
func (w *Worker) refresh(ctx context.Context) error {
	now := w.o.Clock()
	if now.Before(w.listAt) {
		return errors.Join(w.askForParents(ctx, now), w.keepLeases(ctx))
	}
	list, err := w.source.Shards(ctx)
	if err != nil {
		return fmt.Errorf("fold: list shards: %w", err)
	}
	var unread []*shard
	for _, sh := range w.order {
		sh.listed = false
	}
	for _, s := range list {
		sh := w.shard(s.ID)
		sh.parent, sh.closed, sh.listed = s.Parent, s.Closed, true
		if _, asOf := sh.durable(); asOf == 0 || !sh.finished() && !w.owns(sh, now) {
			unread = append(unread, sh)
			w.leaseAt = time.Time{}
		}
	}
	if err := w.readCheckpoints(ctx, unread); err != nil {
		return err
	}
	for _, sh := range unread {
		seq, _ := sh.durable()
		sh.position = later(sh.position, seq)
	}
	w.forgetTrimmed()
	w.listed, w.listAt = w.turns, now.Add(w.o.Refresh)
	return w.keepLeases(ctx)
}

// parentsEvery is how often a worker looks whether others have finished what it waits for.
const parentsEvery = 250 * time.Millisecond

// askForParents reads the checkpoints of shards that other workers own and whose children this one waits to read.
func (w *Worker) askForParents(ctx context.Context, now time.Time) error {
	if !w.o.Leases || now.Before(w.parentsAt) {
		return nil
	}
	w.parentsAt = now.Add(parentsEvery)
	var parents []*shard
	for _, sh := range w.order {
		if sh.listed && !sh.finished() && w.owns(sh, now) && !w.parentFinished(sh) && !slices.Contains(parents, w.shards[sh.parent]) {
			parents = append(parents, w.shards[sh.parent])
		}
	}
	return w.readCheckpoints(ctx, parents)
}

// shard returns what is known of a shard, new if nothing is.
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

// forgetTrimmed drops the shards that are not listed any more and of which nothing waits.
func (w *Worker) forgetTrimmed() {
	w.order = slices.DeleteFunc(w.order, func(sh *shard) bool {
		if sh.listed || sh.waiting > 0 {
			return false
		}
		if !sh.finished() {
			w.counts.missed.Add(1)
			w.o.Logger.Error("fold: a shard was trimmed before it was finished: rebuild the derived items",
				"group", w.o.Group, "shard", sh.id, "after", sh.position)
		}
		w.elders[sh.id], _ = sh.durable()
		delete(w.shards, sh.id)
		return true
	})
}

// ready returns the shards that may be read now: not finished, owned, and their parents finished or trimmed.
func (w *Worker) ready(now time.Time) []*shard {
	var ready []*shard
	for _, sh := range w.order {
		if sh.listed && !sh.end && !sh.finished() && w.owns(sh, now) && !now.Before(sh.retryAt) && w.parentFinished(sh) {
			ready = append(ready, sh)
		}
	}
	return ready
}

func (w *Worker) parentFinished(sh *shard) bool {
	parent := w.shards[sh.parent]
	return sh.parent == "" || parent == nil || !parent.listed || parent.finished()
}
