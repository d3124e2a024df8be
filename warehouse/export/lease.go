package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/pause"
	"github.com/onefold/onefold/table"
)

// Turns lets one of many processes export at a time. That saves work; that a fact is exported once does not need it.
//
// Clocks of two machines are not compared: a lease is free when it was given back, or when whoever asks has seen it unchanged
// for as long as it is good for.
type Turns struct {
	Table  *table.Table
	Owner  string                                     // tells this process from others
	For    time.Duration                              // how long a lease is good for; default 30 s
	Sleep  func(context.Context, time.Duration) error // default a timer
	Logger *slog.Logger                               // default slog.Default

	seen   int64 // the lease as it was seen last
	seenAt time.Time
}

var exporterLease = fold.LeaseKey{Group: "warehouse", Shard: "exporter"}

var leaseTurn = table.FieldOf(fold.Leases, func(l *fold.Lease) *int64 { return &l.Turn })

// Run waits for its turn and does the work, as long as the lease is kept, until ctx has ended. What fails is logged and begun
// again: an export that waits for its table is no reason to stop a server.
func (t *Turns) Run(ctx context.Context, work func(context.Context) error) error {
	if t.For <= 0 {
		t.For = 30 * time.Second
	}
	if t.Sleep == nil {
		t.Sleep = pause.For
	}
	if t.Logger == nil {
		t.Logger = slog.Default()
	}
	for {
		turn, err := t.take(ctx)
		if err == nil && turn > 0 {
			err = t.hold(ctx, turn, work)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, errLost) {
			t.Logger.Warn("warehouse: nothing is exported for now", "error", err)
		}
		if err := t.Sleep(ctx, t.For/3); err != nil {
			return err
		}
	}
}

var errLost = errors.New("export: another process exports now")

// take takes the lease if it is free, and returns its turn; 0: it is not free.
func (t *Turns) take(ctx context.Context) (int64, error) {
	l, err := fold.Leases.Get(ctx, t.Table, exporterLease)
	if errors.Is(err, table.ErrNotFound) {
		l, err = fold.Lease{LeaseKey: exporterLease}, nil
	}
	if err != nil {
		return 0, fmt.Errorf("export: lease: %w", err)
	}
	now := t.Table.Now()
	if l.Turn != t.seen || t.seenAt.IsZero() {
		t.seen, t.seenAt = l.Turn, now
	}
	if l.Owner != "" && l.Owner != t.Owner && now.Sub(t.seenAt) < t.For {
		return 0, nil
	}
	return t.put(ctx, t.Owner, l.Turn)
}

// put writes the lease if it still has a turn, and returns the next; 0: it has not.
func (t *Turns) put(ctx context.Context, owner string, turn int64) (int64, error) {
	l := &fold.Lease{LeaseKey: exporterLease, Owner: owner, For: t.For, At: t.Table.Now(), Turn: turn + 1}
	var err error
	if turn == 0 {
		err = fold.Leases.Create(ctx, t.Table, l)
	} else {
		err = fold.Leases.Put(ctx, t.Table, l, leaseTurn.Eq(turn))
	}
	switch {
	case errors.Is(err, table.ErrConflict), errors.Is(err, table.ErrExists):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("export: lease: %w", err)
	}
	return l.Turn, nil
}

// hold does the work and renews the lease meanwhile. When another has it the work is stopped. It is given back in the end.
func (t *Turns) hold(ctx context.Context, turn int64, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- work(ctx)
	}()
	lost := false
	for ctx.Err() == nil {
		if t.Sleep(ctx, t.For/3) != nil {
			break
		}
		next, err := t.put(ctx, t.Owner, turn)
		if err != nil {
			continue // the table cannot be reached: neither can the work go on, nor another take it over
		}
		if next == 0 {
			lost = true
			cancel()
			break
		}
		turn = next
	}
	err := <-done
	if lost {
		return errLost
	}
	back, stop := context.WithTimeout(context.WithoutCancel(ctx), t.For)
	defer stop()
	_, given := t.put(back, "", turn)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, given)
}
