package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrNoShard is returned by Handle for a change that does not name its shard.
var ErrNoShard = errors.New("fold: change without a shard: configure the event source with a tumbling window, whose events name their shard, and a parallelization factor of 1")

// Handle folds a batch of changes that the caller has read, for instance in a Lambda invocation,
// and returns when they are durable. Batches of one shard must come in order and one at a time.
// They may be repeated, also when divided differently.
//
// If err is not nil, failed contains, for each shard, the first change from which the batch must be
// sent again. Errors include ErrNoShard.
func (w *Worker) Handle(ctx context.Context, changes []Change) (failed []Sequence, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.report()
	if err := w.handle(ctx, changes); err != nil {
		w.giveBack()
		return firsts(changes), fmt.Errorf("fold: handle: %w", err)
	}
	return nil, nil
}

func (w *Worker) handle(ctx context.Context, changes []Change) error {
	shards := make(map[string]*shard)
	var unread []*shard
	for i := range changes {
		id := changes[i].Shard
		if id == "" {
			return ErrNoShard
		}
		if shards[id] == nil {
			shards[id] = w.shard(id)
			shards[id].markFed()
			if _, asOf := shards[id].durable(); asOf == 0 || w.once {
				unread = append(unread, shards[id])
			}
		}
	}
	if err := w.readCheckpoints(ctx, unread); err != nil {
		return err
	}
	for _, sh := range unread {
		seq, _ := sh.durable() // another process may have handled changes in the meantime
		w.moveTo(sh, seq)
	}
	w.fed.Store(true)
	w.turns++
	changes = slices.Clone(changes) // route clears their images
	for i := range changes {
		c := &changes[i]
		if sh := shards[c.Shard]; c.Seq.Compare(sh.position) > 0 {
			if err := w.route(ctx, sh, c); err != nil {
				return err
			}
			sh.position, sh.lastAt = c.Seq, c.At
		}
	}
	return w.flush(ctx, true)
}

// firsts returns the first sequence of each shard.
func firsts(changes []Change) []Sequence {
	seen := make(map[string]bool)
	var out []Sequence
	for i := range changes {
		if !seen[changes[i].Shard] {
			seen[changes[i].Shard] = true
			out = append(out, changes[i].Seq)
		}
	}
	return out
}
