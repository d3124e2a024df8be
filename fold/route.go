package fold

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/onefold/onefold/table"
)

// route puts one change into the batch: into the deltas of all folds that read the changed item's entity. The images are
// dropped once they are decoded, for a batch may be large.
func (w *Worker) route(sh *shard, c *Change) {
	if c.Expired {
		return
	}
	before, after := entityOf(c.Old), entityOf(c.New)
	news, olds := w.read[after], w.read[before]
	if before == after {
		olds = nil
	}
	if len(news)+len(olds) == 0 {
		return
	}
	var buf [4]*kept
	changes := buf[:0]
	for _, r := range news {
		changes = append(changes, newKept(r, sh, c, before == after, true))
	}
	for _, r := range olds {
		changes = append(changes, newKept(r, sh, c, true, false))
	}
	c.bytes = table.ItemSize(c.Old) + table.ItemSize(c.New)
	c.Old, c.New = nil, nil
	for _, k := range changes {
		for _, l := range k.reader.lanes {
			err := k.err
			if err == nil {
				err = l.route(k)
			}
			if err != nil {
				w.deadChange(l, k, err)
			}
		}
	}
	if w.waiting == 0 {
		w.opened = w.o.Clock()
	}
	w.waiting++
	w.bytes += c.bytes
	sh.waiting++
	sh.mark.Wait(c.At)
	w.counts.changes.Add(1)
}

// newKept decodes a change for a reader. A failure is of all its lanes.
func newKept(r *reader, sh *shard, c *Change, before, after bool) *kept {
	item := c.New
	if item == nil {
		item = c.Old
	}
	k := &kept{change: c, shard: sh, reader: r, before: sh.position, pk: stringOf(item[table.AttrPK]), sk: stringOf(item[table.AttrSK])}
	k.err = guard(func() (err error) {
		k.typed, err = r.source.decode(c, before, after)
		return err
	})
	return k
}

const maxReason = 1000 // bytes

func reason(err error) string {
	s := err.Error()
	if len(s) > maxReason {
		s = s[:maxReason]
	}
	return strings.ToValidUTF8(s, "?")
}

// deadChange notes that a lane could not apply a change.
func (w *Worker) deadChange(l lane, k *kept, err error) {
	w.bury(Dead{
		DeadKey: DeadKey{Fold: l.fold().name, Seq: string(k.change.Seq), Shard: k.shard.id, Part: "change"},
		Reason:  reason(err), Kind: k.change.Kind.String(), Changes: 1, At: k.change.At, ItemPK: k.pk, ItemSK: k.sk,
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
