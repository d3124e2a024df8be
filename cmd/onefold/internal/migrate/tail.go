package migrate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
)

const (
	pageRecords = 1000            // limit of a read
	listEvery   = 5 * time.Second // interval of listing shards while none ends
)

// tail reads the stream of a store, each shard after its parents, and keeps the positions.
type tail struct {
	store Store
	from  fold.Source
	take  func(context.Context, []fold.Change) error // returns when the changes are durable; nil: discard them
	want  func(entity string) bool                   // filter by entity; nil: all

	listed   []fold.Shard
	listedAt time.Time
	behind   time.Duration

	turn  uint64        // current round; see fold.Batch.Since
	asked uint64        // round since which the end of the stream is being determined
	looks *fenceWatcher // nil: do not look for fences

	mu        sync.Mutex
	positions map[string]migration.Position
	readAt    time.Time // when everything readable was last read; zero: never
}

func newTail(s Store, arn string, take func(context.Context, []fold.Change) error, want func(string) bool) *tail {
	return &tail{store: s, from: streamsource.New(s.Streams, arn), take: take, want: want}
}

// ask starts to determine the end of the stream. Earlier findings do not count.
func (t *tail) ask() { t.asked = t.turn + 1 }

// atTip reports whether a batch shows that its shard had no more records when that was asked.
func (t *tail) atTip(b *fold.Batch) bool { return b.Tip && cmp.Or(b.Since, t.turn) >= t.asked }

// saved returns a copy of the positions.
func (t *tail) saved() map[string]migration.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.positions)
}

// followed returns when everything readable was last read; zero: never.
func (t *tail) followed() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.readAt
}

// note records that everything readable was read.
func (t *tail) note(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readAt = now
}

// late returns an error if a stream was not read for so long that changes may have expired
// unnoticed. An empty shard has no position whose expiry could be detected; a shard with a position
// is checked elsewhere.
func (t *tail) late(ready []fold.Shard, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.take == nil || t.readAt.IsZero() || now.Sub(t.readAt) <= kept {
		return nil
	}
	// A shard without a sequence number, or one that is new and whose parent is unknown, may have
	// lost records.
	for _, s := range ready {
		p, known := t.positions[s.ID]
		if _, behind := t.positions[s.Parent]; known && p.Seq == "" || !known && !behind {
			return trimmed("the stream has not been read since " + t.readAt.UTC().Format(time.DateTime))
		}
	}
	return nil
}

func (t *tail) at(shard string) migration.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.positions[shard]
}

func (t *tail) move(shard string, p migration.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.positions[shard] = p
}

// list lists the shards. A shard that disappeared before it was read to its end is an error.
func (t *tail) list(ctx context.Context, now time.Time) error {
	if now.Sub(t.listedAt) < listEvery && now.After(t.listedAt) {
		return nil
	}
	listed, err := t.from.Shards(ctx)
	if err != nil {
		return err
	}
	t.listed, t.listedAt = listed, now
	there := map[string]bool{}
	for _, s := range listed {
		there[s.ID] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for shard, p := range t.positions {
		switch {
		case there[shard]:
		case !p.Done && t.take != nil:
			return trimmed("the shard " + shard + " of the stream is gone")
		default:
			delete(t.positions, shard)
		}
	}
	return nil
}

// ready returns the shards to read: those not at their end whose parents are.
func (t *tail) ready() (ready []fold.Shard) {
	there := make(map[string]bool, len(t.listed))
	for _, s := range t.listed {
		there[s.ID] = true
	}
	for _, s := range t.listed {
		if !t.at(s.ID).Done && (!there[s.Parent] || t.at(s.Parent).Done) {
			ready = append(ready, s)
		}
	}
	return ready
}

// round reads every ready shard once. It returns the number of records, and whether everything was
// read that existed when ask was called.
func (t *tail) round(ctx context.Context, now time.Time) (read int, tip bool, err error) {
	t.turn++
	if err := t.list(ctx, now); err != nil {
		return 0, false, fmt.Errorf("move: stream of %s: %w", t.store.Name, err)
	}
	ready := t.ready()
	if err := t.late(ready, now); err != nil {
		return 0, false, err
	}
	batches := make([]fold.Batch, len(ready))
	// Shards are read in parallel, and their changes applied together. Changes of one key are
	// always in one shard, or in a parent that was finished in an earlier round, so their order is
	// kept.
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, s := range ready {
		group.Go(func() (err error) {
			batches[i], err = t.from.Read(within, fold.ReadRequest{Shard: s.ID, After: fold.Sequence(t.at(s.ID).Seq), Max: pageRecords, Want: t.want, Turn: t.turn})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, false, fmt.Errorf("move: stream of %s: %w", t.store.Name, err)
	}
	var changes []fold.Change
	tip = true
	for i := range batches {
		b := &batches[i]
		if b.Trimmed && t.take != nil {
			return 0, false, trimmed("in the shard " + ready[i].ID + " of the stream")
		}
		read += b.Read
		tip = tip && t.atTip(b) && !b.End
		changes = append(changes, b.Changes...)
		if t.looks != nil {
			t.looks.observe(ready[i].ID, b)
		}
	}
	if t.take != nil && len(changes) > 0 {
		if err := t.take(ctx, changes); err != nil {
			return 0, false, err
		}
	}
	// Positions move only after take has made the changes durable.
	t.advance(ready, batches, now, tip)
	t.note(now)
	return read, tip, nil
}

// advance records the progress of a round. After the end of a shard there may be new shards.
func (t *tail) advance(ready []fold.Shard, batches []fold.Batch, now time.Time, tip bool) {
	t.behind = 0
	for i, b := range batches {
		if b.Read > 0 || b.End {
			t.move(ready[i].ID, migration.Position{Seq: string(b.Last), Done: b.End})
		}
		// The children of a finished shard are read at once, not at the next regular listing.
		if b.End {
			t.listedAt = time.Time{}
		}
		if b.Read > 0 && !tip {
			t.behind = max(t.behind, now.Sub(b.At))
		}
	}
}

// skip moves to the present end of the stream without reading. Everything written from now on comes
// after it.
func (t *tail) skip(ctx context.Context, now time.Time) error {
	shards, err := t.from.Shards(ctx)
	if err != nil {
		return fmt.Errorf("move: stream of %s: %w", t.store.Name, err)
	}
	t.ask()
	t.turn++
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, s := range shards {
		if s.Closed { // everything in it was written before
			t.move(s.ID, migration.Position{Done: true})
			continue
		}
		group.Go(func() error {
			for p := t.at(s.ID); ; {
				b, err := t.from.Read(ctx, fold.ReadRequest{Shard: s.ID, After: fold.Sequence(p.Seq), Max: pageRecords, Want: func(string) bool { return false }, Turn: t.turn})
				if err != nil {
					return fmt.Errorf("move: stream of %s: %w", t.store.Name, err)
				}
				p = migration.Position{Seq: string(b.Last), Done: b.End}
				if t.atTip(&b) || b.End {
					t.move(s.ID, p)
					return nil
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	t.note(now)
	return nil
}
