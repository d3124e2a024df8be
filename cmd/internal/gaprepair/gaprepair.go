// Package gaprepair repairs gaps: changes that expired from the stream before a worker folded them. The
// facts are still in the table, so derived items can be recomputed unless the facts have expired
// since.
package gaprepair

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/internal/groupcommit"
	"github.com/onefold/onefold/table"
)

// Repairer repairs gaps. All fields are required.
type Repairer struct {
	Table  *table.Table
	Folded reconcile.Folded
	Logger *slog.Logger
}

// leadWithin is how long Run waits for another process that repairs. It is longer than the lease of
// a dead process.
const leadWithin = 45 * time.Second

// Run repairs the gaps of the table's folds, if there are any and no other process repairs them.
func (m *Repairer) Run(ctx context.Context) error {
	if open, err := m.open(ctx); err != nil || !open {
		return err
	}
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	timer := time.AfterFunc(leadWithin, giveUp)
	defer timer.Stop()
	err := lease.RunAsLeader(waiting, m.Table, "gaprepair", lease.Options{Logger: m.Logger}, func(leading context.Context) error {
		if !timer.Stop() {
			return leading.Err()
		}
		defer timer.Reset(leadWithin) // if another process took over
		repaired, err := fold.RepairGaps(leading, m.Table, products.Group, m.Rebuild)
		if repaired {
			m.Logger.Warn("gap repaired; see onefold work status")
		}
		return err
	})
	if waiting.Err() != nil && ctx.Err() == nil {
		m.Logger.Info("another process repairs the gap")
		return nil
	}
	return err
}

// open reports whether there is a gap to repair.
func (m *Repairer) open(ctx context.Context) (bool, error) {
	for gap, err := range fold.GapsOf.All(ctx, m.Table, fold.GroupIn{Group: products.Group}) {
		if err != nil {
			return false, fmt.Errorf("repair gaps: %w", err)
		}
		if gap.Repaired.IsZero() {
			return true, nil
		}
	}
	return false, nil
}

// Rebuild recomputes everything derived from facts that were stored, changed or deleted between two
// times, and returns a description of its work. It may be repeated. If it was interrupted, it
// resumes within a day.
func (m *Repairer) Rebuild(ctx context.Context, from, to time.Time) (string, error) {
	r := &rebuild{Table: m.Table, Logger: m.Logger, since: from, drain: together(ctx, m.Folded)}
	m.Logger.Warn("repairing a gap", "from", from, "to", to)
	if err := r.resume(ctx, from, to); err != nil {
		return "", fmt.Errorf("repair gaps: %w", err)
	}
	for i, work := range []func(context.Context) error{r.fleets, r.devices, r.rules, r.sites, r.events} {
		if i < r.at.step {
			continue
		}
		if r.at.step < i {
			r.at = place{step: i}
		}
		if err := work(ctx); err != nil {
			return "", fmt.Errorf("repair gaps: %w", err)
		}
	}
	if err := reconcile.Jobs.Delete(ctx, m.Table, r.job); err != nil {
		return "", fmt.Errorf("repair gaps: delete the progress: %w", err)
	}
	return r.result.String(), nil
}

// rebuild is a running Rebuild.
type rebuild struct {
	Table    *table.Table
	Logger   *slog.Logger
	since    time.Time
	drain    drain
	job      reconcile.JobKey
	at       place
	loggedAt time.Time // time of the last progress log

	mu     sync.Mutex
	result result
}

// lateFolds is how far the folds may have lagged when they stopped. The last writes of a lagging
// fold may have been missed by the folds that depend on it. A stream keeps no older changes.
const lateFolds = 24 * time.Hour

// note updates the result, which several goroutines do.
func (r *rebuild) note(change func(*result)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.result)
}

// drain waits until everything is folded. Concurrent calls share a wait, which takes seconds on
// DynamoDB.
type drain func(context.Context) error

func (d drain) Drain(ctx context.Context) error { return d(ctx) }

// together returns a drain that lets concurrent callers share a wait. A caller only shares a wait
// that started after its call.
func together(ctx context.Context, w reconcile.Folded) drain {
	group := groupcommit.New(1<<20, 1, func(_ context.Context, asked []struct{}) []error {
		return slices.Repeat([]error{w.Drain(ctx)}, len(asked))
	})
	return func(ctx context.Context) error { return group.Do(ctx, struct{}{}) }
}

// result is the result of a Rebuild.
type result struct {
	resumed             bool
	sites, days, items  int
	devices, aggregates int
	labels, counts      int
	alerts              int
	feed, types         int
	indexed             int
	sealedDays, sealed  []string
	busy                []string
}

// String describes the result.
func (d *result) String() string {
	s := fmt.Sprintf("%d days of %d sites (%d items differed), %d devices (%d aggregates differed, %d alerts), %d labels and %d counts of fleets, %d appends in the feed of events, %d in their index by type, counts of %d types",
		d.days, d.sites, d.items, d.devices, d.aggregates, d.alerts, d.labels, d.counts, d.feed, d.indexed, d.types)
	if d.resumed {
		s += ", since the repair was resumed"
	}
	if sealed := slices.Concat(d.sealedDays, d.sealed); len(sealed) > 0 {
		s += fmt.Sprintf("; %d could not be repaired because raw facts have expired or cannot be read: %s", len(sealed), strings.Join(sealed[:min(len(sealed), maxNames)], ", "))
	}
	if len(d.busy) > 0 {
		s += fmt.Sprintf("; %d were written continuously and skipped: %s", len(d.busy), strings.Join(d.busy[:min(len(d.busy), maxNames)], ", "))
	}
	return s
}

// maxNames bounds the names listed per kind.
const maxNames = 20
