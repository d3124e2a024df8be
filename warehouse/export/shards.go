package export

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/warehouse"
)

const (
	readRecords = 1000             // in a read
	listEvery   = 10 * time.Second // a stream's shards are listed, for all readers of an account may do so ten times a second
	listAgain   = time.Second      // when they could not be
	// streamKeeps is how long streams keep changes, with something to spare: a shard that nobody had begun when the last
	// commit was made that long ago may have lost its first changes.
	streamKeeps = 23 * time.Hour
)

// turn reads once from every shard that may be read, and returns how many records came. What is throttled is left for a later turn,
// so that what came of other shards is not read again.
func (x *Exporter) turn(ctx context.Context) (read int, err error) {
	x.held = nil
	if now := x.t.Now(); !now.Before(x.listAt) {
		x.listAt = now.Add(listEvery)
		if err := x.list(ctx); err != nil {
			x.listAt = now.Add(listAgain)
			if err := x.hold(fmt.Errorf("list shards: %w", err)); err != nil {
				return 0, err
			}
		}
	}
	for _, sh := range x.listed {
		if !x.ready(sh) || x.batch.rows >= 2*x.o.FlushRows {
			continue
		}
		b, err := x.source.Read(ctx, fold.ReadRequest{Shard: sh.ID, After: fold.Sequence(x.at[sh.ID].After), Max: readRecords, Want: wanted})
		if err != nil {
			if err := x.hold(fmt.Errorf("read shard %s: %w", sh.ID, err)); err != nil {
				return read, err
			}
			continue
		}
		x.take(sh.ID, &b)
		if read += b.Read; b.End {
			read = max(read, 1)
			x.listAt = time.Time{} // children may wait
		}
		if b.Tip {
			x.pass.tips[sh.ID] = true
		}
	}
	if read > 0 {
		x.holds = 0
	}
	return read, nil
}

// ready reports whether a shard may be read: it is not at its end, and its parent is, or is not kept any more.
func (x *Exporter) ready(sh fold.Shard) bool {
	if x.at[sh.ID].Done {
		return false
	}
	kept := slices.ContainsFunc(x.listed, func(o fold.Shard) bool { return o.ID == sh.Parent })
	return !kept || x.at[sh.Parent].Done
}

// take puts what was read into the batch.
func (x *Exporter) take(shard string, r *fold.Batch) {
	b := x.batch
	if r.Missed {
		x.miss(shard)
	}
	for i := range r.Changes {
		if err := b.take(&r.Changes[i]); err != nil {
			b.skipped++
			x.o.Logger.Error("warehouse: a change cannot be exported", "shard", shard, "sequence", string(r.Changes[i].Seq), "error", err)
		}
	}
	if r.Read == 0 && !r.End && !r.Missed {
		return
	}
	if b.records == 0 {
		b.opened = x.t.Now()
	}
	b.records += max(r.Read, 1)
	p := x.at[shard]
	p.After, p.Done = string(r.Last), r.End
	if !r.At.IsZero() {
		p.At = r.At.UTC()
	}
	x.at[shard], b.positions[shard] = p, p
}

func (x *Exporter) miss(shard string) {
	x.batch.missed = append(x.batch.missed, warehouse.Missed{At: x.t.Now().UTC(), Shard: shard, After: x.at[shard].After})
	x.o.Logger.Error("warehouse: changes were trimmed before they were exported; they are looked for in the table", "shard", shard)
}

// list lists the shards, and notices those that are gone.
func (x *Exporter) list(ctx context.Context) error {
	list, err := x.source.Shards(ctx)
	if err != nil {
		return err
	}
	kept := make(map[string]bool, len(list))
	for _, sh := range list {
		kept[sh.ID] = true
	}
	first, long := len(x.at) == 0, x.t.Now().Sub(x.w.Status().Read) > streamKeeps
	for _, sh := range list {
		p, known := x.at[sh.ID]
		_, parent := x.at[sh.Parent]
		orphan := !known && sh.Parent != "" && !parent && !kept[sh.Parent]
		if !first && (orphan || p.After == "" && !p.Done && long) {
			x.miss(sh.ID)
		}
		if !known {
			x.at[sh.ID], x.batch.positions[sh.ID] = p, p
		}
	}
	for _, id := range slices.Sorted(maps.Keys(x.at)) {
		if kept[id] {
			continue
		}
		if !x.at[id].Done {
			x.miss(id)
		}
		x.batch.forget = append(x.batch.forget, id)
		delete(x.batch.positions, id)
		delete(x.at, id)
	}
	x.listed, x.pass.listed = list, true
	return nil
}
