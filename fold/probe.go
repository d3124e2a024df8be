package fold

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// barrierWait is the part of a running WaitFor that concerns shards owned by other workers.
//
// Such a shard is probed: read from its durable checkpoint to its tip, without folding, to find
// the last wanted change before the barrier. The shard has passed the barrier once its durable
// checkpoint reaches that change.
//
// Owners advance a checkpoint only after writing what they read. This may take long: items can be
// on hold, and the owner can be paused or dead. If a checkpoint does not move for a while, this
// worker folds the shard too. Folding a shard twice is safe; see the package comment.
type barrierWait struct {
	barrier Barrier
	probes  map[string]*probe // by shard ID
	// helped are the shards whose help counter this barrierWait has increased.
	helped []*shard
}

// probe is the progress of reading ahead in a shard of another worker.
type probe struct {
	cursor     Sequence // read up to here
	target     Sequence // the last wanted change up to cursor
	found      bool     // no wanted change before the barrier follows
	checkpoint Sequence // the durable checkpoint at the last look
	unmoved    int      // consecutive looks at which the checkpoint had not moved
}

const (
	probePages = 10 // pages read between two looks at the checkpoint
	helpAfter  = 20 // looks at an unmoved checkpoint before helping
)

// reads reports whether this worker folds a shard, as its owner or as a helper.
func (w *Worker) reads(sh *shard, now time.Time) bool { return w.owns(sh, now) || sh.help > 0 }

// othersPassed reports whether the durable checkpoints of shards owned by others have passed the barrier.
func (w *Worker) othersPassed(ctx context.Context, c *barrierWait, others []*shard) (bool, error) {
	if len(others) == 0 {
		return true, nil
	}
	if err := w.readCheckpoints(ctx, others); err != nil {
		return false, err
	}
	errs := make([]error, len(others))
	probes := make([]*probe, len(others))
	for i, sh := range others {
		probes[i] = c.probe(sh)
	}
	each(w.o.Readers, len(others), func(i int) error { //nolint:errcheck // errors are in errs
		errs[i] = w.readAhead(ctx, c.barrier, others[i], probes[i])
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
		if sc := probes[i]; !sc.found || durable.Compare(sc.target) < 0 {
			all = false
			w.helpIfStalled(c, sh, sc, durable)
		}
	}
	return all, nil
}

// probe returns the probe of a shard, advanced at least to the durable checkpoint.
func (c *barrierWait) probe(sh *shard) *probe {
	durable, _ := sh.durable()
	sc := c.probes[sh.id]
	if sc == nil {
		sc = &probe{cursor: durable}
		c.probes[sh.id] = sc
	}
	sc.cursor = maxSequence(sc.cursor, durable)
	return sc
}

// readAhead reads ahead in a shard until nothing before the barrier can follow, at most probePages
// pages.
func (w *Worker) readAhead(ctx context.Context, f Barrier, sh *shard, sc *probe) error {
	for range probePages {
		if sc.found || sh.finished() {
			return nil
		}
		b, err := w.source.Read(ctx, ReadRequest{Shard: sh.id, After: sc.cursor, Max: w.o.PageSize, Want: w.wants, Turn: w.turns})
		if dynamo.IsThrottle(err) {
			w.requests.Throttled.Add(1)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read ahead in shard %s: %w", sh.id, err)
		}
		for i := range b.Changes {
			if c := &b.Changes[i]; !c.Expired { // folds do not see expired items
				sc.target = maxSequence(sc.target, c.Seq)
			}
		}
		sc.cursor = maxSequence(sc.cursor, b.Last)
		sc.found = b.Tip && cmp.Or(b.Since, w.turns) >= f.turn || b.End || f.before(b.At)
		if b.Read == 0 {
			return nil
		}
	}
	return nil
}

// helpIfStalled records a checkpoint that has not passed the barrier, and starts helping if it does not
// move.
func (w *Worker) helpIfStalled(c *barrierWait, sh *shard, sc *probe, durable Sequence) {
	if !sc.found || durable != sc.checkpoint {
		sc.checkpoint, sc.unmoved = durable, 0
		return
	}
	if sc.unmoved++; sc.unmoved < helpAfter {
		return
	}
	w.help(c, sh)
}

// help starts folding a shard and the unfinished ancestors that it waits for. An ancestor may be
// folded completely and still be unfinished, if its worker stopped before marking it.
func (w *Worker) help(c *barrierWait, sh *shard) {
	for now := w.o.Clock(); sh != nil && sh.listed && !sh.finished() && !w.reads(sh, now); sh = w.shards[sh.parent] {
		durable, _ := sh.durable()
		sh.help++
		w.moveTo(sh, durable)
		sh.end = false
		c.helped = append(c.helped, sh)
		w.o.Logger.Info("fold: reading a shard whose owner makes no progress", "group", w.o.Group, "shard", sh.id)
	}
}

// endHelp withdraws the barrierWait's help from all shards.
func (w *Worker) endHelp(c *barrierWait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sh := range c.helped {
		sh.help--
	}
}
