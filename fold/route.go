package fold

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/onefold/onefold/table"
)

// route adds a change to the batch, in the deltas of all folds that read the entity of the changed
// item. It drops the images once they are decoded, because a batch may be large. After an error the
// batch contains no part of the change.
func (w *Worker) route(ctx context.Context, sh *shard, c *Change) error {
	if c.Expired {
		return nil
	}
	before, after := entityOf(c.Old), entityOf(c.New)
	news, olds := w.read[after], w.read[before]
	if before == after {
		olds = nil
	}
	if len(news)+len(olds) == 0 {
		return nil
	}
	var buf [4]routed
	changes := buf[:0]
	for _, r := range news {
		changes = append(changes, w.decode(r, sh, c, before == after, true))
	}
	for _, r := range olds {
		changes = append(changes, w.decode(r, sh, c, true, false))
	}
	defer func() {
		clear(w.facts)
		w.facts = w.facts[:0]
	}()
	for i := range changes {
		if err := w.dropRepeated(ctx, &changes[i]); err != nil {
			return err
		}
	}
	c.bytes = table.ItemSize(c.Old) + table.ItemSize(c.New)
	c.Old, c.New = nil, nil
	for i := range changes {
		w.apply(&changes[i])
	}
	if w.waiting == 0 {
		w.batchStarted = w.o.Clock()
	}
	w.waiting++
	w.bytes += c.bytes
	sh.waiting++
	sh.mark.Wait(c.At)
	w.counts.changes.Add(1)
	return nil
}

// routed is a change as decoded for a reader.
type routed struct {
	sourceChange
	from, to int   // range of its facts in Worker.facts
	err      error // why decoding failed
}

// decode decodes a change for a reader. A failure affects all pipelines of the reader.
func (w *Worker) decode(r *reader, sh *shard, c *Change, before, after bool) routed {
	item := c.New
	if item == nil {
		item = c.Old
	}
	d := routed{from: len(w.facts), sourceChange: sourceChange{
		change: c, shard: sh, reader: r, before: sh.position, pk: stringOf(item[table.AttrPK]), sk: stringOf(item[table.AttrSK]),
	}}
	d.err = catchPanic(func() (err error) {
		w.facts, err = r.source.decode(w.facts, c, before, after)
		return err
	})
	if d.err != nil { // some facts may have been decoded
		w.facts = w.facts[:d.from]
	}
	d.to = len(w.facts)
	return d
}

// apply passes a change to the pipelines that read it, fact by fact.
func (w *Worker) apply(d *routed) {
	pipelines := d.reader.pipelines
	if d.err != nil {
		for _, l := range pipelines {
			w.deadChange(l, &pendingChange{&d.sourceChange, fact{nth: wholeChange}}, d.err)
		}
		return
	}
	d.change.bytes += (d.to - d.from) * d.reader.source.bytes
	all := pendingChanges(d.sourceChange, w.facts[d.from:d.to])
	for i := range all {
		for _, l := range pipelines {
			if err := l.route(&all[i]); err != nil {
				w.deadChange(l, &all[i], err)
			}
		}
	}
}

// pendingChanges returns the kept changes of a change. The usual case, a single fact, needs only one
// allocation.
func pendingChanges(n sourceChange, facts []fact) []pendingChange {
	if len(facts) == 1 {
		both := &struct {
			noted sourceChange
			kept  [1]pendingChange
		}{noted: n}
		both.kept[0] = pendingChange{&both.noted, facts[0]}
		return both.kept[:]
	}
	all := make([]pendingChange, len(facts))
	for i, f := range facts {
		all[i] = pendingChange{&n, f}
	}
	return all
}

const maxReason = 1000 // bytes

func reason(err error) string {
	s := err.Error()
	if len(s) > maxReason {
		s = s[:maxReason]
	}
	return strings.ToValidUTF8(s, "?")
}

// deadChange records that a pipeline could not apply a change.
func (w *Worker) deadChange(l pipeline, k *pendingChange, err error) {
	w.addDeadLetter(Dead{
		DeadKey: DeadKey{Fold: l.fold().name, Seq: string(k.change.Seq), Shard: k.shard.id, Part: k.part()},
		Reason:  reason(err), Kind: k.change.Kind.String(), Changes: 1, At: k.change.At, ItemPK: k.pk, ItemSK: k.sk,
	})
}

// deadItem records that a derived item could not be written with the additions of a delta.
func (w *Worker) deadItem(d *delta, err error) {
	if len(d.changes) == 0 {
		return
	}
	last := d.changes[len(d.changes)-1]
	h := fnv.New64a()
	h.Write([]byte(d.id)) //nolint:errcheck // a hash never fails
	w.addDeadLetter(Dead{
		DeadKey: DeadKey{Fold: d.pipeline.fold().name, Seq: string(last.change.Seq), Shard: last.shard.id, Part: fmt.Sprintf("%016x", h.Sum64())},
		Reason:  reason(err), Changes: len(d.changes), At: last.change.At,
		ItemPK: stringOf(d.key[table.AttrPK]), ItemSK: stringOf(d.key[table.AttrSK]),
	})
}

// addDeadLetter logs a dead letter and adds it to the batch. Pipelines may call it concurrently, hence its own
// lock.
func (w *Worker) addDeadLetter(d Dead) {
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
