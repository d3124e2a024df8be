package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/warehouse"
)

// The warehouse is compared with the table in chunks. A chunk has the facts of a part of a dataset,
// as the table has them now, and selects the rows of the warehouse that belong to that part. Each
// chunk of a repair is one commit, which says where the next chunk begins.

// chunk is a part of the table's facts.
type chunk struct {
	facts map[warehouse.Partition]map[warehouse.Key]*op
	rows  int
	next  warehouse.Repair // where to continue; an empty Dataset means the end
	doing string

	// parts are the partitions that may have rows of the chunk, in addition to those of facts.
	// covers selects the rows. If covers is nil, only rows of facts are looked at in the warehouse.
	parts  []warehouse.Partition
	covers func(p warehouse.Partition, r warehouse.Row) bool
}

func newChunk(r warehouse.Repair) *chunk {
	return &chunk{facts: map[warehouse.Partition]map[warehouse.Key]*op{}, next: r}
}

func (c *chunk) put(v version) {
	facts := c.facts[v.part]
	if facts == nil {
		facts = map[warehouse.Key]*op{}
		c.facts[v.part] = facts
	}
	facts[v.key] = &op{rows: v.rows}
	c.rows += max(len(v.rows), 1)
}

// all returns the partitions of the chunk.
func (c *chunk) all() []warehouse.Partition {
	all := slices.Clone(c.parts)
	for p := range c.facts {
		if !slices.Contains(c.parts, p) {
			all = append(all, p)
		}
	}
	return all
}

// plan holds what a comparison has read about the table.
type plan struct {
	x       *Exporter
	limit   int // number of rows in a chunk
	sites   []string
	devices []deviceSpan
	dates   []string // days that have readings
	types   []string // aggregate types
}

func (x *Exporter) newPlan() *plan { return &plan{x: x, limit: x.o.FlushRows} }

// chunk reads the next part, in the order of warehouse.Datasets.
func (p *plan) chunk(ctx context.Context, r warehouse.Repair) (*chunk, error) {
	if r.Dataset == "" {
		r.Dataset = warehouse.Events
	}
	switch r.Dataset {
	case warehouse.Events:
		return p.events(ctx, r)
	case warehouse.Readings:
		return p.readings(ctx, r)
	case warehouse.DomainEvents:
		return p.domain(ctx, r)
	}
	return nil, fmt.Errorf("%w: a repair of unknown dataset %q", warehouse.ErrDamaged, r.Dataset)
}

// begin makes the next chunk begin another dataset.
func (c *chunk) begin(d warehouse.Dataset) *chunk {
	c.next.Dataset, c.next.Key, c.next.Sub, c.next.At = d, "", "", 0
	return c
}

// repairChunks is the number of chunks after which the stream is read again, because it keeps
// changes only for a limited time.
const repairChunks = 4

// repairSome continues a repair.
func (x *Exporter) repairSome(ctx context.Context) error {
	if x.batch.records > 0 || !x.batch.empty() {
		if err := x.flush(ctx); err != nil {
			return err
		}
	}
	for range repairChunks {
		r := x.w.Status().Repair
		if r == nil {
			break
		}
		if x.plan == nil {
			x.plan = x.newPlan()
		}
		c, err := x.plan.chunk(ctx, *r)
		if err == nil {
			err = x.repair(ctx, *r, c)
		}
		if err != nil {
			return fmt.Errorf("compare with the table: %w", err)
		}
	}
	return nil
}

// repair makes the warehouse match a chunk, and commits that.
func (x *Exporter) repair(ctx context.Context, r warehouse.Repair, c *chunk) error {
	e := &warehouse.Entry{Why: "repair", Repair: &c.next}
	if c.next.Dataset == "" {
		e.Repair, e.Repaired = nil, true
	}
	out := &resolver{w: x.w, out: &changes{}, gone: x.repairedFiles, whole: true}
	if r.Removes && c.covers != nil {
		deleted, err := x.deleted(ctx, c)
		if err != nil {
			return err
		}
		if len(deleted) > 0 {
			out.extra = func(p warehouse.Partition, row warehouse.Row) bool { return deleted[fullKey(p, row)] }
		}
	}
	if err := out.all(ctx, c.all(), func(p warehouse.Partition) map[warehouse.Key]*op { return c.facts[p] }); err != nil {
		return err
	}
	if err := x.commit(ctx, out.out, e); err != nil {
		return err
	}
	for _, f := range out.out.add {
		x.repairedFiles[f.Path] = true
	}
	if e.Repaired {
		x.plan = nil
		clear(x.repairedFiles)
	}
	x.reportProgress(c.doing)
	return nil
}

// rowKey identifies a fact in a partition.
type rowKey struct {
	part warehouse.Partition
	key  warehouse.Key
}

func fullKey(p warehouse.Partition, row warehouse.Row) rowKey {
	k := row.Key()
	k.Sub = ""
	return rowKey{p, k}
}

// ttlSlack is how long before its expiry, by this machine's clock, a fact may be missing from the
// table, in milliseconds.
const ttlSlack = 60 * 60 * 1000

// extras calls do for each fact that a chunk covers and that only the warehouse has. expired tells
// whether the fact may have expired.
func (x *Exporter) extras(ctx context.Context, c *chunk, do func(k rowKey, expired bool)) error {
	soon := x.t.Now().UnixMilli() + ttlSlack
	for _, p := range c.all() {
		for _, f := range x.w.In(p) {
			if x.repairedFiles[f.Path] {
				continue
			}
			var last rowKey
			for row, err := range x.w.Keys(ctx, f, f.Min, f.Max) {
				if err != nil {
					return err
				}
				k := fullKey(p, row)
				if k == last || !c.covers(p, row) || c.facts[p][k.key] != nil {
					continue
				}
				last = k
				do(k, row.Expires() != 0 && row.Expires() <= soon)
			}
		}
	}
	return nil
}

// deleted returns the facts of a chunk that the warehouse has and that were deleted from the table.
func (x *Exporter) deleted(ctx context.Context, c *chunk) (map[rowKey]bool, error) {
	gone := map[rowKey]bool{}
	devices := map[string]bool{} // whether it is a new device, which the chunk does not include
	var failed error
	err := x.extras(ctx, c, func(k rowKey, expired bool) {
		if expired || failed != nil {
			return
		}
		if k.part.Dataset == warehouse.Readings {
			device, _, _ := strings.Cut(k.key.ID, "#")
			if _, asked := devices[device]; !asked {
				devices[device], failed = x.newDevice(ctx, device)
			}
			if devices[device] {
				return
			}
		}
		gone[k] = true
	})
	return gone, errors.Join(err, failed)
}

// newDevice reports whether the device exists but was not in the list of devices when that was
// read.
func (x *Exporter) newDevice(ctx context.Context, id string) (bool, error) {
	for _, d := range x.plan.devices {
		if d.id == id {
			return false, nil
		}
	}
	_, err := telemetry.DeviceByID.Get(ctx, x.t, telemetry.DeviceIn{DeviceID: id})
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
