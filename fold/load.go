package fold

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/table"
)

const maxBatchGet = 100 // maximum number of keys in a BatchGetItem

// load reads, consistently, the items of all deltas that hold none. The tick is taken after the
// read: checkpoints that the deltas depend on must be read later.
func (w *Worker) load(ctx context.Context, deltas []*delta) error {
	var missing []*delta
	for _, d := range deltas {
		if d.held == nil {
			missing = append(missing, d)
		}
	}
	n := (len(missing) + maxBatchGet - 1) / maxBatchGet
	return w.each(w.o.Readers, n, func(i int) error {
		part := missing[i*maxBatchGet : min((i+1)*maxBatchGet, len(missing))]
		keys := make([]table.Item, len(part))
		for i, d := range part {
			keys[i] = d.key
		}
		items, err := w.getItems(ctx, keys)
		if err != nil {
			return fmt.Errorf("load states: %w", err)
		}
		tick := w.tick.Add(1)
		for _, d := range part {
			w.hold(d, items[d.id], tick)
		}
		return nil
	})
}

// hold gives a delta the item to merge into. An item that cannot be decoded is poison.
func (w *Worker) hold(d *delta, it table.Item, tick uint64) {
	s, err := d.read(it, tick)
	if err != nil {
		w.deadItem(d, err)
		d.done = true
		return
	}
	d.held = s
}

// reload reads the item of one delta again, and then the checkpoints it depends on.
func (w *Worker) reload(ctx context.Context, d *delta) error {
	if err := w.load(ctx, []*delta{d}); err != nil {
		return err
	}
	return w.readCheckpointsFor(ctx, []*delta{d})
}

// getItems reads all of the given items, consistently, into a map by itemID. Missing items are
// missing in the map.
func (w *Worker) getItems(ctx context.Context, keys []table.Item) (map[string]table.Item, error) {
	found := make(map[string]table.Item, len(keys))
	name := w.table.Name()
	for attempt := 0; len(keys) > 0; attempt++ {
		if attempt > 0 {
			w.counts.retries.Add(1)
			if err := w.o.Sleep(ctx, w.backoff(attempt)); err != nil {
				return nil, err
			}
		}
		if attempt > w.o.Retries {
			return nil, fmt.Errorf("%d items remained unprocessed", len(keys))
		}
		var out *dynamodb.BatchGetItemOutput
		err := w.retry(ctx, func() (err error) {
			out, err = w.table.API().BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{name: {Keys: keys, ConsistentRead: ptr(true)}},
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, it := range out.Responses[name] {
			found[itemID(it)] = it
		}
		w.counts.reads.Add(int64(len(out.Responses[name])))
		keys = out.UnprocessedKeys[name].Keys
	}
	return found, nil
}

// readCheckpointsFor reads the checkpoints that the deltas depend on and that were not yet read after their
// items: those of shards for which an item has no mark.
func (w *Worker) readCheckpointsFor(ctx context.Context, deltas []*delta) error {
	wanted := make(map[*shard]bool)
	for _, d := range deltas {
		if d.done || d.held == nil {
			continue
		}
		for _, sp := range d.spans {
			if _, ok := d.held.effective(sp.shard); !ok {
				wanted[sp.shard] = true
			}
		}
	}
	shards := make([]*shard, 0, len(wanted))
	for _, sh := range w.order {
		if wanted[sh] {
			shards = append(shards, sh)
		}
	}
	return w.readCheckpoints(ctx, shards)
}

// maxUnlisted limits how many checkpoints of unlisted shards a worker remembers.
const maxUnlisted = 10000

// readUnlistedCheckpoints looks up the checkpoints of shards known only from marks in items, so that these
// marks can be dropped.
func (w *Worker) readUnlistedCheckpoints(ctx context.Context, deltas []*delta) error {
	if len(w.unlisted) > maxUnlisted {
		clear(w.unlisted)
	}
	var unknown []string
	for _, d := range deltas {
		if d.held == nil {
			continue
		}
		for id := range d.held.marks {
			if _, ok := w.knownCheckpoint(id); !ok {
				w.unlisted[id] = ""
				unknown = append(unknown, id)
			}
		}
	}
	slices.Sort(unknown)
	found, err := w.getCheckpoints(ctx, unknown)
	for id, c := range found {
		w.unlisted[id] = Sequence(c.Position)
	}
	return err
}
