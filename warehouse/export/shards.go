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
	readRecords = 1000             // number of records read at once
	listEvery   = 10 * time.Second // how often shards are listed: an AWS account may list them ten times a second
	listAgain   = time.Second      // how soon the list is requested again after a failure
	// streamKeeps is how long streams keep changes, with a safety margin. If the last commit was
	// longer ago, a shard that was not yet read then may have lost its first changes.
	streamKeeps = 23 * time.Hour
)

// turn reads once from every shard that may be read, and returns how many records it read.
// Throttled reads are left for a later turn, so that what other shards returned need not be read
// again.
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
			x.listAt = time.Time{} // its children may be ready
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

// ready reports whether a shard may be read: it has not been read to its end, and its parent has,
// or the parent is no longer kept.
func (x *Exporter) ready(sh fold.Shard) bool {
	if x.at[sh.ID].Done {
		return false
	}
	kept := slices.ContainsFunc(x.listed, func(o fold.Shard) bool { return o.ID == sh.Parent })
	return !kept || x.at[sh.Parent].Done
}

// take adds what was read to the batch.
func (x *Exporter) take(shard string, r *fold.Batch) {
	b := x.batch
	if r.Trimmed {
		x.miss(shard)
	}
	for i := range r.Changes {
		if err := b.take(&r.Changes[i]); err != nil {
			b.skipped++
			x.o.Logger.Error("warehouse: cannot export a change", "shard", shard, "sequence", string(r.Changes[i].Seq), "error", err)
		}
	}
	if r.Read == 0 && !r.End && !r.Trimmed {
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
	x.batch.missed = append(x.batch.missed, warehouse.Gap{At: x.t.Now().UTC(), Shard: shard, After: x.at[shard].After})
	x.o.Logger.Error("warehouse: changes expired from the stream before they were exported; searching the table for them", "shard", shard)
}

// list lists the shards, and notices those that no longer exist.
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
