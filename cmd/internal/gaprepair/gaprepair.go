// Package gaprepair recomputes derived items after a gap: changes that expired from the stream before any worker folded
// them. It recomputes from the stored facts, so facts that have expired since cannot be repaired.
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
	"github.com/onefold/onefold/internal/groupcommit"
	"github.com/onefold/onefold/table"
)

// Mender makes things again. All fields are required.
type Mender struct {
	Table  *table.Table
	Folded reconcile.Folded
	Logger *slog.Logger
}

// leadWithin is how long Run waits for another process that does the same: for longer than its lease holds if it is dead.
const leadWithin = 45 * time.Second

// Run makes again what the table's folds have missed, if they have missed anything and no other process is at it.
func (m *Mender) Run(ctx context.Context) error {
	if open, err := m.open(ctx); err != nil || !open {
		return err
	}
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	timer := time.AfterFunc(leadWithin, giveUp)
	defer timer.Stop()
	err := fold.Lead(waiting, m.Table, "mend", fold.LeadOptions{Logger: m.Logger}, func(leading context.Context) error {
		if !timer.Stop() {
			return leading.Err()
		}
		defer timer.Reset(leadWithin) // if another took over
		mended, err := fold.Mend(leading, m.Table, products.Group, m.Rebuild)
		if mended {
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

// open reports whether anything is to be made again.
func (m *Mender) open(ctx context.Context) (bool, error) {
	for missed, err := range fold.MissesOf.All(ctx, m.Table, fold.GroupIn{Group: products.Group}) {
		if err != nil {
			return false, fmt.Errorf("mend: %w", err)
		}
		if missed.Mended.IsZero() {
			return true, nil
		}
	}
	return false, nil
}

// Rebuild makes again what facts touch that were stored, changed or deleted from one time to another, and says in words what
// it did. It may be repeated, also when it was broken off: within a day it goes on where it was.
func (m *Mender) Rebuild(ctx context.Context, from, to time.Time) (string, error) {
	r := &rebuild{Table: m.Table, Logger: m.Logger, since: from, drain: together(ctx, m.Folded)}
	m.Logger.Warn("repairing a gap", "from", from, "to", to)
	if err := r.resume(ctx, from, to); err != nil {
		return "", fmt.Errorf("mend: %w", err)
	}
	for i, work := range []func(context.Context) error{r.fleets, r.devices, r.rules, r.sites, r.events} {
		if i < r.at.step {
			continue
		}
		if r.at.step < i {
			r.at = place{step: i}
		}
		if err := work(ctx); err != nil {
			return "", fmt.Errorf("mend: %w", err)
		}
	}
	if err := reconcile.Jobs.Delete(ctx, m.Table, r.job); err != nil {
		return "", fmt.Errorf("mend: forget the progress: %w", err)
	}
	return r.did.String(), nil
}

// rebuild is a Rebuild under way.
type rebuild struct {
	Table  *table.Table
	Logger *slog.Logger
	since  time.Time
	drain  drain
	job    reconcile.JobKey
	at     place
	toldAt time.Time // when progress was logged

	mu  sync.Mutex
	did did
}

// lateFolds is how far folds may have been behind when they stopped: what they wrote last of facts that are older may have
// been missed by the folds that follow these. A stream has no change that is older.
const lateFolds = 24 * time.Hour

// note changes what is told, of which there are several at a time.
func (r *rebuild) note(change func(*did)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.did)
}

// drain waits until everything is folded: once for all that ask meanwhile, as that takes seconds on a table of a service.
type drain func(context.Context) error

func (d drain) Drain(ctx context.Context) error { return d(ctx) }

// together lets those who ask at the same time wait together, for what began after they asked.
func together(ctx context.Context, w reconcile.Folded) drain {
	group := groupcommit.New(1<<20, 1, func(_ context.Context, asked []struct{}) []error {
		return slices.Repeat([]error{w.Drain(ctx)}, len(asked))
	})
	return func(ctx context.Context) error { return group.Do(ctx, struct{}{}) }
}

// did is what was done.
type did struct {
	resumed             bool
	sites, days, items  int
	devices, aggregates int
	labels, counts      int
	alerts              int
	feed, types         int
	sealedDays, sealed  []string
	busy                []string
}

// String is it in words.
func (d *did) String() string {
	s := fmt.Sprintf("%d days of %d sites (%d items differed), %d devices (%d aggregates differed, %d alerts), %d labels and %d counts of fleets, %d appends in the feed of events, counts of %d types",
		d.days, d.sites, d.items, d.devices, d.aggregates, d.alerts, d.labels, d.counts, d.feed, d.types)
	if d.resumed {
		s += ", since the repair was resumed"
	}
	if sealed := slices.Concat(d.sealedDays, d.sealed); len(sealed) > 0 {
		s += fmt.Sprintf("; %d could not be repaired because raw facts have expired or cannot be read: %s", len(sealed), strings.Join(sealed[:min(len(sealed), maxTold)], ", "))
	}
	if len(d.busy) > 0 {
		s += fmt.Sprintf("; %d were written continuously and skipped: %s", len(d.busy), strings.Join(d.busy[:min(len(d.busy), maxTold)], ", "))
	}
	return s
}

// maxTold is how many of a kind are told by name.
const maxTold = 20
