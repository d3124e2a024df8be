package fold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/fold/internal/watermark"
	"github.com/onefold/onefold/table"
)

// A shard whose records no fold wants gets a checkpoint only after this many records or this long.
// Without any, much would be read again after a restart and the position could expire. More often
// would be wasteful, because every checkpoint is itself a change in the stream.
const (
	skipRecords = 5000
	skipAge     = time.Hour
)

// checkpointDue reports whether the durable checkpoint of the shard should be advanced now.
func (sh *shard) checkpointDue(now time.Time) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch {
	case sh.end && !sh.done:
		return true
	case sh.flushedTo().Compare(sh.checkpoint) <= 0:
		return false
	}
	return sh.counted || sh.waiting > 0 || sh.skipped >= skipRecords || sh.skipped > 0 && now.Sub(sh.advancedAt) >= skipAge
}

// checkpointsDue reports whether some shard without waiting changes needs a checkpoint or has gaps to
// record.
func (w *Worker) checkpointsDue() bool {
	now := w.o.Clock()
	for _, sh := range w.order {
		if sh.waiting == 0 && (sh.checkpointDue(now) || len(sh.gaps) > 0) {
			return true
		}
	}
	return false
}

// advanceAll advances the checkpoints of all shards that are behind. By now every item is written
// except those on hold.
func (w *Worker) advanceAll(ctx context.Context) error {
	now := w.o.Clock()
	var behind []*shard
	for _, sh := range w.order {
		if sh.checkpointDue(now) {
			behind = append(behind, sh)
		}
	}
	return each(w.o.Readers, len(behind), func(i int) error { return w.advance(ctx, behind[i]) })
}

// advance moves the checkpoint of a shard up to the point where everything is written, on condition
// that it still has its previous value. It never moves a checkpoint back: if another worker has
// advanced it further, that value stays.
func (w *Worker) advance(ctx context.Context, sh *shard) error {
	for attempt := 1; ; attempt++ {
		if !sh.checkpointDue(w.o.Clock()) {
			sh.resetProgress()
			return nil
		}
		tick := w.tick.Add(1)
		err := w.putCheckpoint(ctx, sh)
		if err == nil {
			sh.raiseCheckpoint(sh.flushedTo(), true, sh.end, tick)
			sh.resetProgress()
			sh.advancedAt = w.o.Clock()
			w.counts.checkpoints.Add(1)
			return nil
		}
		if !dynamo.IsConditionFailed(err) || attempt > w.o.Retries {
			return fmt.Errorf("checkpoint of shard %s: %w", sh.id, err)
		}
		w.counts.conflicts.Add(1)
		if err := w.o.Sleep(ctx, w.requests.Backoff(attempt)); err != nil {
			return err
		}
		if err := w.readCheckpoints(ctx, []*shard{sh}); err != nil {
			return err
		}
	}
}

// resetProgress notes that everything read so far is durable.
func (sh *shard) resetProgress() { sh.counted, sh.skipped = false, 0 }

// putCheckpoint writes the shard's checkpoint on condition that it still has the value last seen,
// or does not exist yet.
func (w *Worker) putCheckpoint(ctx context.Context, sh *shard) error {
	it, err := Checkpoints.Encode(&Checkpoint{
		CheckpointKey: CheckpointKey{Group: w.o.Group, Shard: sh.id},
		Position:      string(sh.flushedTo()), Read: sh.readUntil(), Done: sh.end, Gaps: sh.gapCount, Fed: sh.isFed(), Owner: w.o.Owner, At: w.o.Clock(),
	})
	if err != nil {
		return err
	}
	sh.mu.Lock()
	previous, exists := sh.checkpoint, sh.exists
	sh.mu.Unlock()
	in := &dynamodb.PutItemInput{TableName: ptr(w.table.Name()), Item: it}
	if exists {
		in.ConditionExpression = ptr("#pos = :pos")
		in.ExpressionAttributeNames = map[string]string{"#pos": "pos"}
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":pos": &types.AttributeValueMemberS{Value: string(previous)}}
	} else {
		in.ConditionExpression = ptr("attribute_not_exists(#pk)")
		in.ExpressionAttributeNames = map[string]string{"#pk": table.AttrPK}
	}
	return w.requests.Retry(ctx, func() error {
		_, err := w.table.API().PutItem(ctx, in)
		return err
	})
}

// readCheckpoints reads the durable checkpoints of shards. The tick is taken before the read, so
// that a checkpoint counts only for items that were loaded earlier.
func (w *Worker) readCheckpoints(ctx context.Context, shards []*shard) error {
	ids := make([]string, len(shards))
	for i, sh := range shards {
		ids[i] = sh.id
	}
	tick := w.tick.Add(1)
	found, err := w.getCheckpoints(ctx, ids)
	if err != nil {
		return err
	}
	for _, sh := range shards {
		c, exists := found[sh.id]
		sh.raiseCheckpoint(Sequence(c.Position), exists, c.Done, tick)
		if !exists {
			sh.checkpointExpired()
		} else {
			sh.remember(&c)
			if c.Fed && w.o.Clock().Sub(c.At) < feedsWithin {
				w.fed.Store(true)
			}
		}
	}
	return nil
}

// remember takes over from a stored checkpoint what the shard must keep: gaps, feeding and
// watermark.
func (sh *shard) remember(c *Checkpoint) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.gapCount = max(sh.gapCount, c.Gaps)
	sh.fed = sh.fed || c.Fed
	sh.readTo = watermark.Latest(sh.readTo, c.readTo())
	sh.mark.Raise(c.readTo())
}

// readTo returns a time no later than the commit of the first change after the checkpoint.
// Checkpoints from older versions store only the time of writing; the change may have been
// committed as much earlier as streams keep changes.
func (c *Checkpoint) readTo() time.Time {
	if c.Read.IsZero() {
		return c.At.Add(-keptByStreams)
	}
	return c.Read
}

// keptByStreams is how long DynamoDB Streams keeps changes.
const keptByStreams = 24 * time.Hour

// getCheckpoints reads the checkpoints of shards by ID. Shards without a checkpoint are missing
// from the result.
func (w *Worker) getCheckpoints(ctx context.Context, ids []string) (map[string]Checkpoint, error) {
	found := make(map[string]Checkpoint, len(ids))
	keys := make([]CheckpointKey, len(ids))
	for i, id := range ids {
		keys[i] = CheckpointKey{Group: w.o.Group, Shard: id}
	}
	err := requests.Each(ctx, w.requests, Checkpoints, keys, func(c Checkpoint) { found[c.Shard] = c })
	return found, err
}

// flushDead writes the dead letters of the batch. An existing letter for the same change is kept.
func (w *Worker) flushDead(ctx context.Context) error {
	err := each(w.o.Writers, len(w.dead), func(i int) error {
		it, err := DeadLetters.Encode(&w.dead[i])
		if err != nil {
			return fmt.Errorf("fold: dead letter: %w", err)
		}
		err = w.requests.Retry(ctx, func() error {
			_, err := w.table.API().PutItem(ctx, &dynamodb.PutItemInput{
				TableName: ptr(w.table.Name()), Item: it,
				ConditionExpression:      ptr("attribute_not_exists(#pk)"),
				ExpressionAttributeNames: map[string]string{"#pk": table.AttrPK},
			})
			return err
		})
		if dynamo.IsConditionFailed(err) {
			return nil
		}
		return err
	})
	if err == nil {
		w.dead = nil
	}
	return err
}

var errTooOld = errors.New("fold: the batch is too old to write")

// discardOld gives up a batch that was held for maxBatchAge: other workers may have done so much
// since that the batch can no longer be written safely.
func (w *Worker) discardOld(ctx context.Context) error {
	if w.waiting == 0 || w.o.Clock().Sub(w.batchStarted) < maxBatchAge {
		return nil
	}
	w.o.Logger.Warn("fold: restarting from the checkpoints", "group", w.o.Group, "err", errTooOld)
	return w.discard(ctx)
}

// discard drops the batch and returns to the durable checkpoints, read again.
func (w *Worker) discard(ctx context.Context) error {
	w.giveBack()
	if err := w.readCheckpoints(ctx, w.order); err != nil {
		return err
	}
	for _, sh := range w.order {
		seq, _ := sh.durable()
		w.moveTo(sh, seq)
	}
	return nil
}

// giveBack drops the batch and returns to the checkpoints as last seen.
func (w *Worker) giveBack() {
	w.clear()
	w.dead, w.unsettled = nil, false
	for _, sh := range w.order {
		w.forgetWindows(sh) // they may contain facts of the batch that are not stored
		sh.position, _ = sh.durable()
		sh.end, sh.gaps, sh.lastAt = false, nil, time.Time{}
		sh.mark.Forget()
		sh.resetProgress()
	}
}
