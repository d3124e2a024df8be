package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/table"
)

// gap is where changes were trimmed before they were read.
type gap struct {
	after Sequence
	from  time.Time // about when the change at after was committed
}

// missedMargin is how much longer than they say times of changes are taken to be apart from those of facts: the clocks of
// whoever writes facts, of the service and of workers.
const missedMargin = 10 * time.Minute

// tellMissed writes down what was missed, before any checkpoint is behind it: so it is not forgotten in a crash.
func (w *Worker) tellMissed(ctx context.Context) error {
	for _, sh := range w.order {
		for len(sh.gaps) > 0 {
			if err := w.putMissed(ctx, sh.id, sh.gaps[0]); err != nil {
				return err
			}
			sh.gaps = sh.gaps[1:]
		}
	}
	return nil
}

// putMissed tells one gap. Of several workers that find it, the first does.
func (w *Worker) putMissed(ctx context.Context, shard string, g gap) error {
	now := w.o.Clock()
	m := Missed{
		MissedKey: MissedKey{Group: w.o.Group, Shard: shard, After: cmp.Or(string(g.after), "0")},
		From:      g.from.Add(-missedMargin), To: now, Found: now, Owner: w.o.Owner,
	}
	err := w.retry(ctx, func() error { return Misses.Create(ctx, w.table, &m) })
	if errors.Is(err, table.ErrConflict) || dynamo.IsConditionFailed(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("fold: missed changes: %w", err)
	}
	w.counts.missed.Add(1)
	w.o.Logger.Error("fold: changes were trimmed before they were read: what they touch is to be made again",
		"group", w.o.Group, "shard", shard, "after", g.after, "from", m.From)
	return nil
}

// Mend has what a group has missed made again: rebuild is called with a range of time that contains whatever was committed
// and not folded, and says in words what it did. If it fails, or the process ends, it is called again by the next Mend.
// One process at a time may do this: see Lead. mended is false when nothing was missed.
func Mend(ctx context.Context, t *table.Table, group string, rebuild func(ctx context.Context, from, to time.Time) (string, error)) (mended bool, err error) {
	var open []Missed
	for m, err := range MissesOf.All(ctx, t, GroupIn{Group: group}) {
		if err != nil {
			return false, fmt.Errorf("fold: mend: %w", err)
		}
		if m.Mended.IsZero() {
			open = append(open, m)
		}
	}
	if len(open) == 0 {
		return false, nil
	}
	from, to := open[0].From, open[0].To
	for _, m := range open {
		if m.From.Before(from) {
			from = m.From
		}
		to = latest(to, m.To)
	}
	told, err := rebuild(ctx, from, to)
	if err != nil {
		return false, fmt.Errorf("fold: mend what was missed from %s to %s: %w", from.Format(time.RFC3339), to.Format(time.RFC3339), err)
	}
	for i := range open {
		open[i].Mended, open[i].Told = t.Now(), told
		if err := Misses.Put(ctx, t, &open[i]); err != nil {
			return false, fmt.Errorf("fold: mend: %w", err)
		}
	}
	return true, nil
}
