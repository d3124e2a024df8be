package eventstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Limits of a chunk of the feed, which is one item.
const (
	chunkCommits = 500
	chunkBytes   = 128 << 10
)

// keepMark is how long the mark of a shard outlives its last record. Records are kept for a day,
// and a worker returns what it held after an hour, so no record of the shard can arrive later.
const keepMark = 48 * time.Hour

// fresh is an append from the change stream.
type fresh struct {
	FeedCommit
	shard string
	seq   fold.Sequence
}

// FeedFold returns the fold that writes the feed, for a fold.Worker in any number of processes. All
// feed entries are in one partition, so the stream has them in order. Each chunk is written in a
// transaction with the feed head, which has the marks of the stream's shards, on condition that
// nobody else wrote the head. So each append gets one position even if it is delivered again, and
// readers never see a position before the lower ones.
func FeedFold() *fold.Fold {
	return fold.Observe("eventstore.feed", writeFeed, fold.On(FeedEntries, func(c fold.Typed[FeedEntry], at func(struct{}) *[]fresh) error {
		if c.New != nil && c.Old == nil {
			seen := at(struct{}{})
			for _, parts := range c.New.appends() {
				*seen = append(*seen, fresh{FeedCommit{Parts: parts}, c.Shard, c.Seq})
			}
		}
		return nil
	}))
}

// writeFeed appends what a worker has seen to the feed.
func writeFeed(ctx context.Context, t *table.Table, seen *[]fresh) error {
	for rest, lost := *seen, 0; ; {
		h, err := readFeedHead(ctx, t)
		if err != nil {
			return err
		}
		if rest = h.uncounted(rest, t.Now()); len(rest) == 0 {
			return nil
		}
		part := cut(rest)
		commits := make([]FeedCommit, len(part))
		for i, c := range part {
			commits[i] = c.FeedCommit
			h.Marks[c.shard] = FeedMark{Seq: string(c.seq), At: t.Now().UTC()}
		}
		switch err := h.write(ctx, t, commits); {
		case err == nil:
			lost = 0
		case !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrExists) || lost == maxTries:
			return fmt.Errorf("eventstore: write the feed: %w", err)
		default: // another worker was faster: check what it has written
			lost++
		}
	}
}

func readFeedHead(ctx context.Context, t *table.Table) (FeedHead, error) {
	h, err := FeedHeads.Get(ctx, t, FeedHeadKey{})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return h, fmt.Errorf("eventstore: feed head: %w", err)
	}
	if h.Marks == nil {
		h.Marks = map[string]FeedMark{}
	}
	return h, nil
}

// uncounted returns the changes after the marks, and removes the marks of shards without recent
// records. It renews the marks of shards that delivered old records again.
func (h *FeedHead) uncounted(changes []fresh, now time.Time) []fresh {
	var rest []fresh
	for _, c := range changes {
		m, marked := h.Marks[c.shard]
		if !marked || c.seq.Compare(fold.Sequence(m.Seq)) > 0 {
			rest = append(rest, c)
			continue
		}
		m.At = now.UTC()
		h.Marks[c.shard] = m
	}
	maps.DeleteFunc(h.Marks, func(_ string, m FeedMark) bool { return now.Sub(m.At) > keepMark })
	return rest
}

// cut returns as many changes as fit in one chunk, and all appends of the last entry.
func cut(changes []fresh) []fresh {
	size := 0
	for i := range changes {
		size += changes[i].bytes()
		if (i >= chunkCommits || size > chunkBytes) && i > 0 && !changes[i].with(&changes[i-1]) {
			return changes[:i]
		}
	}
	return changes
}

// with reports whether two appends have the same entry.
func (f *fresh) with(other *fresh) bool { return f.shard == other.shard && f.seq == other.seq }

// bytes returns the approximate size of an append in a chunk.
func (c *FeedCommit) bytes() int {
	n := 16
	for i := range c.Parts {
		p := &c.Parts[i]
		n += 64 + len(p.Type) + len(p.ID.ID)
		for _, t := range p.Types {
			n += len(t) + 1
		}
	}
	return n
}

// write appends a chunk, on condition that the head is unchanged. Errors: table.ErrCondition,
// table.ErrExists.
func (h *FeedHead) write(ctx context.Context, t *table.Table, commits []FeedCommit) error {
	was := h.Version
	h.Version++
	h.Position += int64(len(commits))
	h.UpdatedAt = t.Now().UTC()
	unchanged := table.Absent()
	if was > 0 {
		unchanged = feedVersion.Eq(was)
	}
	tx := table.NewTx(t, "")
	FeedHeads.TxPut(tx, h, unchanged)
	FeedChunks.TxCreate(tx, &FeedChunk{FeedChunkKey: FeedChunkKey{h.Position}, Commits: commits, At: h.UpdatedAt})
	return tx.Commit(ctx)
}

var feedVersion = table.FieldOf(FeedHeads, func(h *FeedHead) *int64 { return &h.Version })
