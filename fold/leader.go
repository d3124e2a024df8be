package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/table"
)

// LeaderOptions configure RunAsLeader. The zero value has good defaults.
type LeaderOptions struct {
	Owner    string                                     // unique name of this process; default as for workers
	LeaseFor time.Duration                              // how long others wait for a silent leader, at most one hour; default 30 s
	Clock    func() time.Time                           // default: the table's clock
	Sleep    func(context.Context, time.Duration) error // default: a timer
	Logger   *slog.Logger                               // default slog.Default()
}

// RunAsLeader runs work in at most one process of the table at a time. It waits until no other process
// leads under the given name and then calls work, whose context ends when another process takes
// over; RunAsLeader then waits for its next term. When work returns by itself, RunAsLeader releases the lease and
// returns the error of work. RunAsLeader ends with ctx.
//
// work must tolerate cancellation at any point and a short overlap with another leader: the lease
// avoids duplicate work, it is not a lock.
//
// Errors: ErrDefinition for an invalid name, the error of work, or that of ctx.
func RunAsLeader(ctx context.Context, t *table.Table, name string, o LeaderOptions, work func(context.Context) error) error {
	if err := checkName("job", name); err != nil {
		return fmt.Errorf("%w: %w", ErrDefinition, err)
	}
	w := &Worker{table: t, o: Options{Group: leaderGroup, Owner: o.Owner, LeaseFor: o.LeaseFor, Clock: o.Clock, Sleep: o.Sleep, Logger: o.Logger}.withDefaults(t)}
	l := &leader{w: w, sh: newShard(name)}
	for {
		if err := l.acquire(ctx); err != nil {
			return err
		}
		lost, err := l.lead(ctx, work)
		if !lost || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		w.o.Logger.Info("fold: another process has taken over a job", "job", name)
	}
}

// leaderGroup is the group that leases of jobs belong to.
const leaderGroup = "jobs"

// leader is the state of a running RunAsLeader. The lease of a job is stored like that of a shard.
type leader struct {
	w  *Worker
	sh *shard
}

// acquire returns when this process has the lease.
func (l *leader) acquire(ctx context.Context) error {
	w := l.w
	for failures := 0; ; {
		held, err := w.readLeases(ctx, []LeaseKey{{Group: leaderGroup, Shard: l.sh.id}})
		if err == nil {
			failures = 0
			now := w.o.Clock()
			w.observeLeases([]*shard{l.sh}, held, now)
			if lease := held[l.sh.id]; !w.isHeld(&lease, now) || lease.Owner == w.o.Owner {
				var ok bool
				if ok, err = w.writeLease(ctx, l.sh, lease); ok {
					return nil
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			failures++
			w.o.Logger.Warn("fold: cannot read the lease of a job; retrying", "job", l.sh.id, "err", err)
		}
		if err := w.o.Sleep(ctx, max(w.o.LeaseFor/3, w.backoff(failures))); err != nil {
			return err
		}
	}
}

// errTaken is the cause with which work's context ends when another process leads.
var errTaken = errors.New("fold: another process has the lease")

// lead runs work and renews the lease in the meantime. lost reports that another process has the
// lease now.
func (l *leader) lead(ctx context.Context, work func(context.Context) error) (lost bool, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var keep errgroup.Group
	keep.Go(func() error {
		l.renew(inner, cancel)
		return nil
	})
	err = work(inner)
	lost = errors.Is(context.Cause(inner), errTaken)
	cancel(nil)
	keep.Wait() //nolint:errcheck // it has none
	if lost {
		return true, nil
	}
	rest, stop := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer stop()
	l.w.o.Leases, l.w.order = true, []*shard{l.sh}
	return false, cmp.Or(err, l.w.releaseLeases(rest))
}

// renewOnce renews the lease. It waits no longer than the lease lasts, because others may lead
// after that.
func (l *leader) renewOnce(ctx context.Context) (bool, error) {
	w := l.w
	ctx, stop := context.WithTimeout(ctx, max(l.sh.leased.Sub(w.o.Clock()), w.o.LeaseFor/3))
	defer stop()
	return w.writeLease(ctx, l.sh, Lease{Turn: l.sh.turn})
}

// renew keeps the lease until ctx ends or another process has it. Failed renewals are repeated
// until the lease may have expired.
func (l *leader) renew(ctx context.Context, lose context.CancelCauseFunc) {
	w := l.w
	for {
		if err := w.o.Sleep(ctx, w.o.LeaseFor/3); err != nil {
			return
		}
		ok, err := l.renewOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && !ok, err != nil && !w.o.Clock().Before(l.sh.leased):
			l.sh.turn = 0
			lose(errTaken)
			return
		case err != nil:
			w.o.Logger.Warn("fold: cannot renew the lease of a job; retrying", "job", l.sh.id, "err", err)
		}
	}
}
