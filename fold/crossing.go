package fold

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// crossing is a WaitFor under way, as to the shards that other workers own.
//
// Such a shard is read, from its durable checkpoint to its tip, without folding anything, to find the last change before
// the fence that the folds want. The shard is across when its durable checkpoint is there. An owner moves its checkpoint
// when it has written what it read, which may be late: its folds may let items wait, it may be paused or dead. So when
// a checkpoint has stood still for a while, this worker folds the shard too. That is right whoever else does it: see the
// package's comment.
type crossing struct {
	fence  Fence
	others map[string]*scout // by shard
	helped []*shard
}

// scout is what is known of a shard of another worker.
type scout struct {
	cursor Sequence // read up to here
	target Sequence // the last wanted change up to there
	found  bool     // there is none before the fence behind it
	seen   Sequence // the durable checkpoint when it was looked at last
	still  int      // for how many looks in a row it has been that
}

const (
	scoutPages = 10 // read of a shard between looks at its checkpoint
	helpAfter  = 20 // looks at a checkpoint that has not moved
)

// reads reports whether this worker folds a shard: its own, or one that it helps with.
func (w *Worker) reads(sh *shard, now time.Time) bool { return w.owns(sh, now) || sh.help > 0 }

// across reports whether the durable checkpoints of others' shards are past the fence.
func (w *Worker) across(ctx context.Context, c *crossing, others []*shard) (bool, error) {
	if len(others) == 0 {
		return true, nil
	}
	if err := w.readCheckpoints(ctx, others); err != nil {
		return false, err
	}
	errs := make([]error, len(others))
	scouts := make([]*scout, len(others))
	for i, sh := range others {
		scouts[i] = c.scout(sh)
	}
	w.each(w.o.Readers, len(others), func(i int) error { //nolint:errcheck // errors are in errs
		errs[i] = w.explore(ctx, c.fence, others[i], scouts[i])
		return nil
	})
	all := true
	for i, sh := range others {
		if sh.finished() {
			continue
		}
		if errs[i] != nil {
			return false, errs[i]
		}
		durable, _ := sh.durable()
		if sc := scouts[i]; !sc.found || durable.Compare(sc.target) < 0 {
			all = false
			w.lookAgain(c, sh, sc, durable)
		}
	}
	return all, nil
}

func (c *crossing) scout(sh *shard) *scout {
	durable, _ := sh.durable()
	sc := c.others[sh.id]
	if sc == nil {
		sc = &scout{cursor: durable}
		c.others[sh.id] = sc
	}
	sc.cursor = later(sc.cursor, durable)
	return sc
}

// explore reads on, to what is behind the fence.
func (w *Worker) explore(ctx context.Context, f Fence, sh *shard, sc *scout) error {
	for range scoutPages {
		if sc.found || sh.finished() {
			return nil
		}
		b, err := w.source.Read(ctx, ReadRequest{Shard: sh.id, After: sc.cursor, Max: w.o.PageSize, Want: w.wants, Turn: w.turns})
		if dynamo.IsThrottle(err) {
			w.counts.throttles.Add(1)
			return nil
		}
		if err != nil {
			return fmt.Errorf("look ahead in shard %s: %w", sh.id, err)
		}
		for i := range b.Changes {
			if c := &b.Changes[i]; !c.Expired { // which folds do not see
				sc.target = later(sc.target, c.Seq)
			}
		}
		sc.cursor = later(sc.cursor, b.Last)
		sc.found = b.Tip && cmp.Or(b.Since, w.turns) >= f.turn || b.End || f.before(b.At)
		if b.Read == 0 {
			return nil
		}
	}
	return nil
}

// lookAgain takes note of a checkpoint that is not across, and begins to help when it stands still.
func (w *Worker) lookAgain(c *crossing, sh *shard, sc *scout, durable Sequence) {
	if !sc.found || durable != sc.seen {
		sc.seen, sc.still = durable, 0
		return
	}
	if sc.still++; sc.still < helpAfter {
		return
	}
	w.help(c, sh)
}

// help begins to fold a shard, and those that it waits for: they may be folded to their last change, so that the fence is across,
// by a worker that stopped before it could say that they have ended.
func (w *Worker) help(c *crossing, sh *shard) {
	for now := w.o.Clock(); sh != nil && sh.listed && !sh.finished() && !w.reads(sh, now); sh = w.shards[sh.parent] {
		durable, _ := sh.durable()
		sh.help++
		w.jump(sh, durable)
		sh.end = false
		c.helped = append(c.helped, sh)
		w.o.Logger.Info("fold: helping with a shard whose owner does not come forward", "group", w.o.Group, "shard", sh.id)
	}
}

func (w *Worker) endHelp(c *crossing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sh := range c.helped {
		sh.help--
	}
}
