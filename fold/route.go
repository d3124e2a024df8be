package fold

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/onefold/onefold/table"
)

// route puts one change into the batch: into the deltas of all folds that read the changed item's entity.
func (w *Worker) route(sh *shard, c *Change) {
	if c.Expired {
		return
	}
	before, after := entityOf(c.Old), entityOf(c.New)
	routed := false
	for _, r := range w.read[after] {
		w.routeTo(r, sh, c, before == after, true)
		routed = true
	}
	if before != after {
		for _, r := range w.read[before] {
			w.routeTo(r, sh, c, true, false)
			routed = true
		}
	}
	if !routed {
		return
	}
	if w.waiting == 0 {
		w.opened = w.o.Clock()
	}
	w.waiting++
	sh.waiting++
	w.counts.changes.Add(1)
}

func (w *Worker) routeTo(r *reader, sh *shard, c *Change, before, after bool) {
	k := &kept{change: c, shard: sh, source: r.source}
	err := guard(func() (err error) {
		k.typed, err = r.source.decode(c, before, after)
		return err
	})
	for _, l := range r.lanes {
		if err != nil {
			w.deadChange(l, c, sh.id, err)
		} else if err := l.route(k); err != nil {
			w.deadChange(l, c, sh.id, err)
		}
	}
}

const maxReason = 1000 // bytes

func reason(err error) string {
	s := err.Error()
	if len(s) > maxReason {
		s = s[:maxReason]
	}
	return s
}

// deadChange notes that a lane could not apply a change.
func (w *Worker) deadChange(l lane, c *Change, shard string, err error) {
	it := c.New
	if it == nil {
		it = c.Old
	}
	w.bury(Dead{
		DeadKey: DeadKey{Fold: l.fold().name, Seq: string(c.Seq), Shard: shard, Part: "change"},
		Reason:  reason(err), Kind: c.Kind.String(), Changes: 1, At: c.At,
		ItemPK: stringOf(it[table.AttrPK]), ItemSK: stringOf(it[table.AttrSK]),
	})
}

// deadItem notes that a derived item could not be written with what a delta would add.
func (w *Worker) deadItem(d *delta, err error) {
	if len(d.changes) == 0 {
		return
	}
	last := d.changes[len(d.changes)-1]
	h := fnv.New64a()
	h.Write([]byte(d.id)) //nolint:errcheck // a hash never fails
	w.bury(Dead{
		DeadKey: DeadKey{Fold: d.lane.fold().name, Seq: string(last.change.Seq), Shard: last.shard.id, Part: fmt.Sprintf("%016x", h.Sum64())},
		Reason:  reason(err), Changes: len(d.changes), At: last.change.At,
		ItemPK: stringOf(d.key[table.AttrPK]), ItemSK: stringOf(d.key[table.AttrSK]),
	})
}

func (w *Worker) bury(d Dead) {
	d.Found = w.o.Clock()
	w.counts.dead.Add(1)
	w.o.Logger.Error("fold: dead letter", "fold", d.Fold, "shard", d.Shard, "seq", d.Seq, "reason", d.Reason)
	w.deadMu.Lock()
	defer w.deadMu.Unlock()
	w.dead = append(w.dead, d)
}

// isPoison returns the poisonError in err.
func isPoison(err error) (*poisonError, bool) {
	var p *poisonError
	ok := errors.As(err, &p)
	return p, ok
}
