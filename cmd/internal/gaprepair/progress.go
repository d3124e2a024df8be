package gaprepair

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/table"
)

// place is the progress of a Rebuild. Its steps run in order, and so do the names within a step.
type place struct {
	step int
	last string // the last finished name of the step; "": none
}

func (p place) String() string { return fmt.Sprint(p.step, " ", p.last) }

// verb distinguishes jobs of this package from those of package reconcile, which are as
// short-lived.
const verb reconcile.Verb = "gaprepair"

// resume loads the progress of the same Rebuild, if it was interrupted within a day. If the gap has
// grown since, the Rebuild starts again.
func (r *rebuild) resume(ctx context.Context, from, to time.Time) error {
	r.job = reconcile.JobKey{Group: products.Group, Verb: verb, SiteID: "all", From: from.UTC().Format(time.RFC3339Nano), To: to.UTC().Format(time.RFC3339Nano)}
	job, err := reconcile.Jobs.Get(ctx, r.Table, r.job)
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the progress: %w", err)
	}
	step, last, _ := strings.Cut(job.Last, " ")
	if r.at.step, err = strconv.Atoi(step); err != nil {
		return fmt.Errorf("read the progress: %w", err)
	}
	r.at.last, r.result.resumed = last, true
	r.Logger.Warn("resuming the repair of a gap", "step", r.at.step, "after", last)
	return nil
}

// logEvery is the interval at which progress is logged.
const logEvery = 30 * time.Second

// inBatches calls do for each name of a sorted list that comes after the saved progress, in
// parallel batches of the given size. It saves the progress after each batch.
func (r *rebuild) inBatches(ctx context.Context, what string, names []string, size int, do func(context.Context, string) error) error {
	for done := 0; done < len(names); {
		batch := names[done:min(done+size, len(names))]
		done += len(batch)
		if batch[len(batch)-1] <= r.at.last {
			continue
		}
		g, gctx := errgroup.WithContext(ctx)
		for _, name := range batch {
			if name > r.at.last {
				g.Go(func() error { return do(gctx, name) })
			}
		}
		if err := g.Wait(); err != nil {
			return err
		}
		r.at.last = batch[len(batch)-1]
		if err := r.write(ctx); err != nil {
			return err
		}
		if now := r.Table.Now(); now.Sub(r.loggedAt) >= logEvery || done == len(names) {
			r.loggedAt = now
			r.Logger.Info("repairing a gap", "what", what, "done", done, "of", len(names))
		}
	}
	return nil
}

func (r *rebuild) write(ctx context.Context) error {
	if err := reconcile.Jobs.Put(ctx, r.Table, &reconcile.Job{JobKey: r.job, Last: r.at.String(), At: r.Table.Now()}); err != nil {
		return fmt.Errorf("write the progress down: %w", err)
	}
	return nil
}
