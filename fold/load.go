package fold

import (
	"context"
	"fmt"
	"slices"

	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// load reads, consistently, the items of all deltas that hold none. The tick is taken after the
// read: checkpoints that the deltas depend on must be read later.
func (w *Worker) load(ctx context.Context, deltas []*delta) error {
	var missing []*delta
	for _, d := range deltas {
		if d.held == nil {
			missing = append(missing, d)
		}
	}
	n := (len(missing) + requests.MaxItems - 1) / requests.MaxItems
	return each(w.o.Readers, n, func(i int) error {
		part := missing[i*requests.MaxItems : min((i+1)*requests.MaxItems, len(missing))]
		keys := make([]table.Item, len(part))
		for i, d := range part {
			keys[i] = d.key
		}
		items, err := w.requests.Items(ctx, keys)
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
