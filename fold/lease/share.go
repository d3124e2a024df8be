package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onefold/onefold/table"
)

// RunShared divides n jobs, numbered from 0, among all processes that call it with the same name. It
// calls work for each job of this process's fair share; the context of work ends when another process
// takes the job over. A newcomer takes jobs from processes that have more than their share, and those
// of a process that is gone are taken when its leases have expired. RunShared ends with ctx, or when a
// call of work returns by itself; it then ends the others, releases the leases, and returns the error
// of work.
//
// work must tolerate cancellation at any point and a short overlap with another process that does the
// same job.
//
// Errors: ErrName, those of work, or that of ctx.
func RunShared(ctx context.Context, t *table.Table, name string, n int, o Options, work func(ctx context.Context, job int) error) error {
	if err := CheckName("job", name); err != nil {
		return err
	}
	s := &sharer{leader: newLeader(t, name, o), jobs: make([]*job, n), work: work}
	for i := range s.jobs {
		s.jobs[i] = &job{n: i, claim: NewClaim(fmt.Sprintf("%s/%d", name, i))}
		s.names = append(s.names, s.jobs[i].claim.shard)
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.end, s.Scope = cancel, "."+name
	s.share(inner)
	for _, j := range s.jobs {
		j.stop(nil)
	}
	s.running.Wait()
	rest, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer stop()
	var claims []*Claim
	for _, j := range s.jobs {
		claims = append(claims, j.claim)
	}
	released := errors.Join(s.Release(rest, claims, func(string) Progress { return Progress{} }), s.Leave(rest))
	if cause := context.Cause(inner); !errors.Is(cause, context.Canceled) && ctx.Err() == nil {
		return errors.Join(cause, released)
	}
	return cmp.Or(ctx.Err(), released)
}

// sharer is the state of a running RunShared. Its goroutine acquires, renews and loses leases; work
// runs in other goroutines.
type sharer struct {
	*leader
	jobs    []*job
	names   []string
	work    func(context.Context, int) error
	end     context.CancelCauseFunc
	running sync.WaitGroup
}

// job is one of the jobs. Only the sharer's goroutine uses it.
type job struct {
	n      int
	claim  *Claim
	cancel context.CancelCauseFunc // ends the work; nil if it was never begun
	ended  chan struct{}           // closed when the work has ended
}

// stop tells the work of a job to end. It does not wait, because other leases must be renewed.
func (j *job) stop(cause error) {
	if j.cancel != nil {
		j.cancel(cause)
	}
}

// share adjusts the jobs of this process until ctx ends.
func (s *sharer) share(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		next, err := s.adjust(ctx)
		if err != nil && ctx.Err() == nil {
			failures++
			s.logger.Warn("fold: cannot read or renew the leases of jobs; retrying", "job", s.claim.shard, "err", err)
			next = s.Requests.Backoff(failures)
		} else {
			failures = 0
		}
		s.dropExpired()
		if err := s.Requests.Sleep(ctx, next); err != nil {
			return
		}
	}
}

// adjust renews this process's leases, and acquires what is missing to its fair share: free leases
// first, then those of processes with more than their share. It returns when to do so again.
func (s *sharer) adjust(ctx context.Context) (time.Duration, error) {
	held, err := s.Read(ctx, s.names...)
	if err != nil {
		return 0, err
	}
	now := s.Clock()
	s.Observe(held, now, s.names...)
	mine, err := s.keep(ctx, held) // first: leases must not expire while members cannot be read
	if err != nil {
		return 0, err
	}
	members, err := s.Announce(ctx, held, now)
	if err != nil {
		return 0, err
	}
	quotas := members.Quotas(len(s.jobs))
	free, others := s.wanted(held, s.Surplus(held, quotas, now), now)
	for i, j := range slices.Concat(free, others) {
		if mine >= quotas[s.Owner] && (i >= len(free) || mine >= members.Free(len(s.jobs))) {
			break
		}
		ok, err := s.Acquire(ctx, j.claim, held[j.claim.shard], Progress{})
		if err != nil {
			return 0, err
		}
		if ok {
			mine++
			s.start(ctx, j)
		}
	}
	return s.nextLook(held, now), nil
}

// keep renews the leases of this process, and ends the work whose lease another one has.
func (s *sharer) keep(ctx context.Context, held map[string]Lease) (mine int, err error) {
	for _, j := range s.jobs {
		l := held[j.claim.shard]
		if !j.claim.Held() {
			continue
		}
		ok := s.Is(j.claim, &l)
		if ok {
			if ok, err = s.Acquire(ctx, j.claim, l, Progress{}); err != nil {
				return mine, err
			}
		}
		if !ok {
			j.claim.Drop()
			j.stop(errTaken)
			continue
		}
		mine++
	}
	return mine, nil
}

// wanted returns the jobs that this process may take: free ones, and those that others have beyond
// their share.
func (s *sharer) wanted(held map[string]Lease, surplus map[string]bool, now time.Time) (free, others []*job) {
	for _, j := range s.jobs {
		l := held[j.claim.shard]
		switch {
		case j.claim.Held():
		case !s.Live(&l, now), l.Owner == s.Owner: // its own if the response to a write was lost
			free = append(free, j)
		case surplus[j.claim.shard]:
			others = append(others, j)
		}
	}
	return free, others
}

// nextLook returns how long to wait: a third of a lease, or until one of another process may have
// expired.
func (s *sharer) nextLook(held map[string]Lease, now time.Time) time.Duration {
	next := s.For / 3
	for _, l := range held {
		if l.Owner != s.Owner && s.Live(&l, now) {
			next = min(next, s.Ends(&l).Sub(now))
		}
	}
	return next
}

// dropExpired ends the work of leases that could not be renewed in time: others may have it.
func (s *sharer) dropExpired() {
	for _, j := range s.jobs {
		if j.claim.Held() && !s.Clock().Before(j.claim.Until()) {
			j.stop(errTaken)
			j.claim.Drop()
		}
	}
}

// start runs the work of a job, after that of an earlier lease of this process has ended.
func (s *sharer) start(ctx context.Context, j *job) {
	j.stop(errTaken)
	before, ended := j.ended, make(chan struct{})
	inner, cancel := context.WithCancelCause(ctx)
	j.cancel, j.ended = cancel, ended
	s.running.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		if err := s.work(inner, j.n); inner.Err() == nil {
			s.end(cmp.Or(err, errReturned))
		}
	})
}

// errReturned is the error of RunShared if a call of work returned nil by itself.
var errReturned = errors.New("lease: the work of a job has ended")
