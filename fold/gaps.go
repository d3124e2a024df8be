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

// feedsWithin is how long after the last checkpoint written by Handle a group still counts as fed.
//
// Gaps cannot be detected in a fed group. The feeder tracks its own position, does not report the
// end of a shard, and may omit changes that no fold wants. So a checkpoint that is behind, or
// missing, or still open although its shard is gone, is normal even if nothing was missed. Workers
// that read the stream as well record no gaps during this time. The feeder knows what it gave up:
// Lambda sends it to its failure queue.
const feedsWithin = 7 * 24 * time.Hour

// gapStart is a position where changes expired before they were read.
type gapStart struct {
	after Sequence  // approximate commit time of the change at after
	from  time.Time // about when the change at after was committed
}

// gapMargin widens the time range of a gap. It allows for differences between the clocks of
// clients that write facts, of the service and of workers.
const gapMargin = 10 * time.Minute

// recordGaps records gaps before any checkpoint passes them, so that a crash cannot lose them.
func (w *Worker) recordGaps(ctx context.Context) error {
	for _, sh := range w.order {
		for len(sh.gaps) > 0 {
			if err := w.putGap(ctx, sh.id, sh.gaps[0]); err != nil {
				return err
			}
			sh.gaps = sh.gaps[1:]
		}
	}
	return nil
}

// putGap records one gap. If several workers find it, the first one records it. A later gap at
// the same position extends the record.
func (w *Worker) putGap(ctx context.Context, shard string, g gapStart) error {
	now := w.o.Clock()
	m := Gap{
		GapKey: GapKey{Group: w.o.Group, Shard: shard, After: cmp.Or(string(g.after), "0")},
		From:   g.from.Add(-gapMargin), To: now, Found: now, Owner: w.o.Owner,
	}
	exists := false
	err := w.requests.Retry(ctx, func() error {
		err := Gaps.Create(ctx, w.table, &m)
		if exists = errors.Is(err, table.ErrExists); exists { // ErrExists has no code, like a network error, and must not be retried
			return nil
		}
		return err
	})
	if exists {
		covered := false
		_, err = Gaps.Modify(ctx, w.table, m.GapKey, func(was *Gap) error {
			covered = was.covers(&m)
			if !covered {
				was.extend(&m)
			}
			return nil
		})
		if err == nil && covered {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("fold: gap: %w", err)
	}
	w.counts.gaps.Add(1)
	w.o.Logger.Error("fold: changes expired from the stream before they were read; derived items will be repaired",
		"group", w.o.Group, "shard", shard, "after", g.after, "from", m.From)
	return nil
}

// covers reports whether this record already includes a gap found now. Changes expire a day after
// their commit, so everything missing now was committed at least a day before it was found.
func (m *Gap) covers(next *Gap) bool {
	return !next.From.Before(m.From) && !next.Found.Add(-keptByStreams).After(m.To)
}

// extend widens the record by a gap found now, and opens it for repair again.
func (m *Gap) extend(next *Gap) {
	if next.From.Before(m.From) {
		m.From = next.From
	}
	m.To, m.Found, m.Owner, m.Repaired, m.Report = watermark.Latest(m.To, next.To), next.Found, next.Owner, time.Time{}, ""
}

// RepairGaps repairs the gaps of a group. It calls rebuild once with a time range that contains
// everything that was committed but not folded; rebuild returns a description of what it did. If
// rebuild fails or the process ends, the next RepairGaps calls it again. At most one process at a time
// should call RepairGaps: see lease.RunAsLeader. repaired is false if there was no open gap.
func RepairGaps(ctx context.Context, t *table.Table, group string, rebuild func(ctx context.Context, from, to time.Time) (string, error)) (repaired bool, err error) {
	var open []Gap
	for m, err := range GapsOf.All(ctx, t, GroupIn{Group: group}) {
		if err != nil {
			return false, fmt.Errorf("fold: repair gaps: %w", err)
		}
		if m.Repaired.IsZero() {
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
	report, err := rebuild(ctx, from, to)
	if err != nil {
		return false, fmt.Errorf("fold: repair the gap from %s to %s: %w", from.Format(time.RFC3339), to.Format(time.RFC3339), err)
	}
	for i := range open {
		_, err := Gaps.Modify(ctx, t, open[i].GapKey, func(m *Gap) error {
			if !m.To.After(open[i].To) && !m.From.Before(open[i].From) { // otherwise the gap has grown in the meantime and stays open for the next call
				m.Repaired, m.Report = t.Now(), report
			}
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("fold: repair gaps: %w", err)
		}
	}
	return true, nil
}
