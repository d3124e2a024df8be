package lease

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// Options configure RunAsLeader and RunShared. The zero value has good defaults.
type Options struct {
	Owner  string                                     // unique name of this process; default UniqueName
	For    time.Duration                              // how long others wait for a silent leader, at most one hour; default 30 s
	Clock  func() time.Time                           // default: the table's clock
	Sleep  func(context.Context, time.Duration) error // default: a timer
	Logger *slog.Logger                               // default slog.Default()
}

// DefaultFor is the duration of a lease unless options say otherwise.
const DefaultFor = 30 * time.Second

// jobs is the group that leases of jobs belong to.
const jobs = "jobs"

// releaseWithin is how long a leader that ends tries to release its lease.
const releaseWithin = 10 * time.Second

// RunAsLeader runs work in at most one process of the table at a time. It waits until no other
// process leads under the given name and then calls work, whose context ends when another process
// takes over; RunAsLeader then waits for its next term. When work returns by itself, RunAsLeader
// releases the lease and returns the error of work. RunAsLeader ends with ctx.
//
// work must tolerate cancellation at any point and a short overlap with another leader.
//
// Errors: ErrName, the error of work, or that of ctx.
func RunAsLeader(ctx context.Context, t *table.Table, name string, o Options, work func(context.Context) error) error {
	if err := CheckName("job", name); err != nil {
		return err
	}
	l := newLeader(t, name, o)
	for {
		if err := l.acquire(ctx); err != nil {
			return err
		}
		lost, err := l.lead(ctx, work)
		if !lost || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		l.logger.Info("fold: another process has taken over a job", "job", name)
	}
}

// leader is the state of a running RunAsLeader. The lease of a job is stored like that of a shard.
type leader struct {
	*Holder
	claim  *Claim
	logger *slog.Logger
}

func newLeader(t *table.Table, name string, o Options) *leader {
	if o.Clock == nil {
		o.Clock = t.Now
	}
	return &leader{
		Holder: &Holder{
			Requests: requests.New(t, requests.Options{Sleep: o.Sleep}), Group: jobs,
			Owner: cmp.Or(o.Owner, UniqueName()), For: cmp.Or(o.For, DefaultFor), Clock: o.Clock,
		},
		claim: NewClaim(name), logger: cmp.Or(o.Logger, slog.Default()),
	}
}

// acquire returns when this process has the lease.
func (l *leader) acquire(ctx context.Context) error {
	for failures := 0; ; {
		acquired, err := l.try(ctx)
		switch {
		case acquired:
			return nil
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			failures++
			l.logger.Warn("fold: cannot read the lease of a job; retrying", "job", l.claim.shard, "err", err)
		}
		if err := l.Requests.Sleep(ctx, max(l.For/3, l.Requests.Backoff(failures))); err != nil {
			return err
		}
	}
}

// try acquires the lease if no other process holds it.
func (l *leader) try(ctx context.Context) (acquired bool, err error) {
	held, err := l.Read(ctx, l.claim.shard)
	if err != nil {
		return false, err
	}
	now := l.Clock()
	l.Observe(held, now, l.claim.shard)
	stored := held[l.claim.shard]
	if l.Live(&stored, now) && stored.Owner != l.Owner {
		return false, nil
	}
	return l.Acquire(ctx, l.claim, stored, Progress{})
}

// errTaken is the cause with which work's context ends when another process leads.
var errTaken = errors.New("lease: another process has the lease")

// lead runs work and renews the lease in the meantime. lost reports that another process has the
// lease now.
func (l *leader) lead(ctx context.Context, work func(context.Context) error) (lost bool, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var keep errgroup.Group
	keep.Go(func() error {
		l.renewUntilLost(inner, cancel)
		return nil
	})
	err = work(inner)
	lost = errors.Is(context.Cause(inner), errTaken)
	cancel(nil)
	keep.Wait() //nolint:errcheck // it has none
	if lost {
		return true, nil
	}
	rest, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer stop()
	return false, cmp.Or(err, l.Release(rest, []*Claim{l.claim}, func(string) Progress { return Progress{} }))
}

// renewUntilLost keeps the lease until ctx ends or another process has it. Failed renewals are
// repeated until the lease may have expired.
func (l *leader) renewUntilLost(ctx context.Context, lose context.CancelCauseFunc) {
	for {
		if err := l.Requests.Sleep(ctx, l.For/3); err != nil {
			return
		}
		ok, err := l.renewOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && !ok, err != nil && !l.Clock().Before(l.claim.Until()):
			l.claim.Drop()
			lose(errTaken)
			return
		case err != nil:
			l.logger.Warn("fold: cannot renew the lease of a job; retrying", "job", l.claim.shard, "err", err)
		}
	}
}

// renewOnce renews the lease. It waits no longer than the lease lasts, because others may lead
// after that.
func (l *leader) renewOnce(ctx context.Context) (bool, error) {
	ctx, stop := context.WithTimeout(ctx, max(l.claim.Until().Sub(l.Clock()), l.For/3))
	defer stop()
	return l.Renew(ctx, l.claim, Progress{})
}
