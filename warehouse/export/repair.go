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

// Comparing the warehouse with the table goes by chunks: facts of a part of a dataset, as the table has them now, and what
// of the warehouse belongs to that part. Each chunk of a repair is a commit, which says where the next one begins.

// chunk is a part of what the table has.
type chunk struct {
	facts map[warehouse.Partition]map[warehouse.Key]*op
	rows  int
	next  warehouse.Repair // where it goes on; an empty Dataset: nowhere
	doing string

	// parts are the partitions that may have rows of the chunk, beside those of facts. covers says which rows these are.
	// Without it nothing in the warehouse is looked at but for the facts.
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

// all are the partitions that the chunk is about.
func (c *chunk) all() []warehouse.Partition {
	all := slices.Clone(c.parts)
	for p := range c.facts {
		if !slices.Contains(c.parts, p) {
			all = append(all, p)
		}
	}
	return all
}

// plan is what comparing has found out about the table.
type plan struct {
	x       *Exporter
	limit   int // rows of a chunk
	sites   []string
	devices []deviceSpan
	dates   []string // of readings
	types   []string // of aggregates
}

func (x *Exporter) newPlan() *plan { return &plan{x: x, limit: x.o.FlushRows} }

// chunk reads the next part. The order is that of warehouse.Datasets.
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
	return nil, fmt.Errorf("%w: a repair of %q", warehouse.ErrDamaged, r.Dataset)
}

// begin makes a chunk say that the next one begins another dataset.
func (c *chunk) begin(d warehouse.Dataset) *chunk {
	c.next.Dataset, c.next.Key, c.next.Sub, c.next.At = d, "", "", 0
	return c
}

// repairChunks is how many chunks are made before the stream is looked at again, which does not wait for ever.
const repairChunks = 4

// repairSome goes on with a repair.
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
			err = x.mend(ctx, *r, c)
		}
		if err != nil {
			return fmt.Errorf("compare with the table: %w", err)
		}
	}
	return nil
}

// mend makes the warehouse have what a chunk says, and commits that.
func (x *Exporter) mend(ctx context.Context, r warehouse.Repair, c *chunk) error {
	e := &warehouse.Entry{Why: "repair", Repair: &c.next}
	if c.next.Dataset == "" {
		e.Repair, e.Repaired = nil, true
	}
	out := &resolver{w: x.w, out: &changes{}, gone: x.mended, whole: true}
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
		x.mended[f.Path] = true
	}
	if e.Repaired {
		x.plan = nil
		clear(x.mended)
	}
	x.tell(c.doing)
	return nil
}

// rowKey is a fact of a partition.
type rowKey struct {
	part warehouse.Partition
	key  warehouse.Key
}

func fullKey(p warehouse.Partition, row warehouse.Row) rowKey {
	k := row.Key()
	k.Sub = ""
	return rowKey{p, k}
}

// ttlSlack is how long before its time a fact may be gone from the table as far as this clock can tell.
const ttlSlack = 60 * 60 * 1000

// extras calls do for the facts that a chunk covers, that the warehouse has and the table has not, and says of each whether
// it may have expired.
func (x *Exporter) extras(ctx context.Context, c *chunk, do func(k rowKey, expired bool)) error {
	soon := x.t.Now().UnixMilli() + ttlSlack
	for _, p := range c.all() {
		for _, f := range x.w.In(p) {
			if x.mended[f.Path] {
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

// deleted are the facts of a chunk that the warehouse has, and that somebody has deleted from the table.
func (x *Exporter) deleted(ctx context.Context, c *chunk) (map[rowKey]bool, error) {
	gone := map[rowKey]bool{}
	devices := map[string]bool{} // whether it is a new one, which the chunk knows nothing of
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

// newDevice reports whether there is a device that the list of devices did not have yet when it was read.
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
