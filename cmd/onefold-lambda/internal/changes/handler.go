// Package changes folds the batches of a table's stream that Lambda delivers. A batch is folded as
// in a worker, with the same marks and checkpoints. It may therefore be delivered again, in other
// divisions, and in parallel with other shards.
package changes

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/onefold/onefold/cmd/onefold-lambda/internal/emf"
	"github.com/onefold/onefold/fold"
)

// Handler handles batches.
type Handler struct {
	Worker  *fold.Worker
	Metrics *emf.Writer
	Logger  *slog.Logger
	Clock   func() time.Time

	// Piece is the number of records folded between checks of the remaining time.
	Piece int
}

// Time of an invocation reserved for its response.
const (
	reserve      = 10 // as a fraction of the time limit
	leastReserve = 50 * time.Millisecond
	mostReserve  = 2 * time.Second
)

// Invoke folds a batch. Its response names the first record to send again: the first that could not
// be read or folded, or for which there was no time. An error means that nothing of the batch can
// be folded, however often it is sent.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	b, err := decode(payload)
	if err != nil {
		return nil, err
	}
	before := h.Worker.Status()
	folded, err := h.fold(ctx, b)
	if err != nil {
		h.Logger.Error("records were not folded and will be delivered again", "shard", b.Shard, "folded", folded, "records", len(b.Records), "error", err)
	}
	failed := ""
	if folded < len(b.Records) {
		failed = b.Records[folded].Changed.Seq
	}
	if err := h.logBatch(b, folded, before); err != nil {
		h.Logger.Warn("cannot write metrics", "error", err)
	}
	return b.answer(failed)
}

// fold folds as many of the records as time allows, and returns their number.
func (h *Handler) fold(ctx context.Context, b *batch) (folded int, err error) {
	ctx, cancel := h.within(ctx)
	defer cancel()
	for folded < len(b.Records) {
		if ctx.Err() != nil {
			return folded, errTime
		}
		piece := b.Records[folded:min(folded+h.Piece, len(b.Records))]
		changes := make([]fold.Change, 0, len(piece))
		var unreadable error
		for i := range piece {
			c, err := piece[i].change(b.Shard)
			if err != nil {
				unreadable = err
				break
			}
			changes = append(changes, c)
		}
		// Changes before an unreadable record are folded, so that only the rest of the batch is
		// sent again.
		if len(changes) > 0 {
			if _, err := h.Worker.Handle(ctx, changes); err != nil {
				if ctx.Err() != nil {
					err = errors.Join(errTime, err)
				}
				return folded, err
			}
		}
		folded += len(changes)
		if unreadable != nil {
			return folded, unreadable
		}
	}
	return folded, nil
}

var errTime = errors.New("no_time: the invocation timed out; raise the function's timeout, or lower the batch size")

// within returns a context that ends before the invocation does, so that there is time for the
// response.
func (h *Handler) within(ctx context.Context) (context.Context, context.CancelFunc) {
	end, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	left := end.Sub(h.Clock())
	return context.WithDeadline(ctx, end.Add(-min(max(left/reserve, leastReserve), mostReserve)))
}

// logBatch writes the metrics of the invocation.
func (h *Handler) logBatch(b *batch, folded int, before fold.Status) error {
	now, oldest := h.Clock(), time.Duration(0)
	if len(b.Records) > 0 {
		oldest = max(now.Sub(at(b.Records[0].Changed.At)), 0)
	}
	after := h.Worker.Status()
	count := func(n int64) emf.Figure { return emf.Figure{Unit: emf.Count, Value: n} }
	return h.Metrics.Write(map[string]emf.Figure{
		"records":     count(int64(len(b.Records))),
		"folded":      count(int64(folded)),
		"failed":      count(int64(len(b.Records) - folded)),
		"age":         {Unit: emf.Milliseconds, Value: oldest.Milliseconds()},
		"writes":      count(after.Writes - before.Writes),
		"conflicts":   count(after.Conflicts - before.Conflicts),
		"throttles":   count(after.Throttles - before.Throttles),
		"deadLetters": count(after.DeadLetters - before.DeadLetters),
	})
}
