package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/fold/internal/watermark"
	"github.com/onefold/onefold/table"
)

// feedsWithin is for how long after the last checkpoint that Handle wrote, as to others of the group, a group is taken to be fed.
//
// A group that is fed leaves no evidence of what was missed. Its feeder keeps a place of its own, tells nobody that a shard
// has ended, and may leave out changes that no fold wants: so a checkpoint that is behind, or open when its shard is gone,
// or not there, is what a group looks like that has missed nothing. Workers that read the stream beside it tell no gaps
// then. The feeder knows what it gave up: Lambda tells its queue.
const feedsWithin = 7 * 24 * time.Hour

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

// putMissed tells one gap. Of several workers that find it, the first does. What was trimmed at the same place later is told
// with it.
func (w *Worker) putMissed(ctx context.Context, shard string, g gap) error {
	now := w.o.Clock()
	m := Missed{
		MissedKey: MissedKey{Group: w.o.Group, Shard: shard, After: cmp.Or(string(g.after), "0")},
		From:      g.from.Add(-missedMargin), To: now, Found: now, Owner: w.o.Owner,
	}
	exists := false
	err := w.retry(ctx, func() error {
		err := Misses.Create(ctx, w.table, &m)
		if exists = errors.Is(err, table.ErrExists); exists { // which has no code, as a broken connection has none
			return nil
		}
		return err
	})
	if exists {
		told := false
		_, err = Misses.Modify(ctx, w.table, m.MissedKey, func(was *Missed) error {
			told = was.covers(&m)
			if !told {
				was.extend(&m)
			}
			return nil
		})
		if err == nil && told {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("fold: missed changes: %w", err)
	}
	w.counts.missed.Add(1)
	w.o.Logger.Error("fold: changes were trimmed before they were read: what they touch is to be made again",
		"group", w.o.Group, "shard", shard, "after", g.after, "from", m.From)
	return nil
}

// covers reports whether all that was missed by what is found now is told already: what is trimmed is a day old, so that it
// was committed before what was found within a day.
func (m *Missed) covers(next *Missed) bool {
	return !next.From.Before(m.From) && !next.Found.Add(-keptByStreams).After(m.To)
}

// extend has it made again, with what was found now.
func (m *Missed) extend(next *Missed) {
	if next.From.Before(m.From) {
		m.From = next.From
	}
	m.To, m.Found, m.Owner, m.Mended, m.Told = watermark.Latest(m.To, next.To), next.Found, next.Owner, time.Time{}, ""
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
		to = watermark.Latest(to, m.To)
	}
	told, err := rebuild(ctx, from, to)
	if err != nil {
		return false, fmt.Errorf("fold: mend what was missed from %s to %s: %w", from.Format(time.RFC3339), to.Format(time.RFC3339), err)
	}
	for i := range open {
		_, err := Misses.Modify(ctx, t, open[i].MissedKey, func(m *Missed) error {
			if !m.To.After(open[i].To) && !m.From.Before(open[i].From) { // else more was found meanwhile, for the next time
				m.Mended, m.Told = t.Now(), told
			}
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("fold: mend: %w", err)
		}
	}
	return true, nil
}
