package resilient

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/dynamo"
)

// Store is a resilient API around another. Use Wrap to make one.
type Store struct {
	*sender
	inner dynamo.API
}

var _ dynamo.API = (*Store)(nil)

// Wrap returns a Store around inner. The inner client must not retry by itself.
func Wrap(inner dynamo.API, o Options) *Store {
	return &Store{sender: newSender("store", o), inner: inner}
}

// sender sends requests to one endpoint.
type sender struct {
	o         Options
	name      string // for logs
	breaker   *breaker
	budget    *budget
	gate      *gate
	throttles *throttles
	counts    counts
}

type counts struct {
	requests, repeats, timeouts, failures, refused, crowded, broke atomic.Int64
}

func newSender(name string, o Options) *sender {
	o = o.withDefaults()
	return &sender{
		o: o, name: name,
		breaker: &breaker{failures: o.Failures, openFor: o.OpenFor, random: o.Random, state: Closed, since: o.Clock()},
		budget:  newBudget(o.Budget), gate: newGate(&o), throttles: newThrottles(&o),
	}
}

// request describes a request to a sender.
type request struct {
	op    string
	takes time.Duration // timeout of one response
	bytes int64         // approximate number of bytes held
	once  bool          // not idempotent: each execution has an effect
	keys  func() []string
}

// do sends a request and returns the response. It waits for an unreachable store within
// Options.Patience.
func do[Out any](ctx context.Context, s *sender, r request, send func(context.Context) (*Out, error)) (*Out, error) {
	began := s.o.Clock()
	for left := time.Duration(math.MaxInt64); ; { // the first try does not wait, whatever the patience
		out, err := try(ctx, s, r, left, send)
		wait, again := s.mayRetry(r, err)
		left = s.o.Patience - s.o.Clock().Sub(began) - wait
		if !again || left < 0 {
			return out, err
		}
		if s.o.Sleep(ctx, wait) != nil {
			return out, err
		}
	}
}

// mayRetry reports whether a request that was given up may be tried again, and when: if the store is
// unreachable or too many requests are waiting for it.
func (s *sender) mayRetry(r request, err error) (wait time.Duration, again bool) {
	f, ok := dynamo.GaveUp(err)
	if !ok || f.Kind != dynamo.Unreachable && f.Kind != dynamo.Crowded {
		return 0, false
	}
	return f.After, f.Err == nil || !r.once || neverSent(f.Err)
}

// try sends a request, with retries where reasonable. It starts no retry once left has passed.
func try[Out any](ctx context.Context, s *sender, r request, left time.Duration, send func(context.Context) (*Out, error)) (*Out, error) {
	s.counts.requests.Add(1)
	held, err := s.gate.enter(ctx, r.bytes)
	if err != nil {
		if errors.Is(err, errCrowded) {
			s.counts.crowded.Add(1)
			err = &dynamo.Failure{Kind: dynamo.Crowded, After: time.Second}
		}
		return nil, err
	}
	defer s.gate.leave(held)
	began := s.o.Clock()
	var last error
	for attempt := 1; ; attempt++ {
		now := s.o.Clock()
		admitted := s.breaker.admit(now)
		if !admitted.ok {
			s.counts.refused.Add(1)
			return nil, &dynamo.Failure{Kind: dynamo.Unreachable, After: max(admitted.wait, time.Second), Err: last}
		}
		out, became, err := once(ctx, s, r, admitted, min(r.takes, max(s.o.Within, r.takes)-now.Sub(began)), send)
		if became == answered || became == ended || ctx.Err() != nil {
			if became == answered && attempt == 1 {
				s.budget.earn()
			}
			return out, err
		}
		last = err
		wait := s.backoff(attempt)
		if spent := s.o.Clock().Sub(began) + wait; spent > left || !s.again(r, became, err, attempt, spent) {
			s.counts.failures.Add(1)
			return nil, s.failure(became, err)
		}
		s.counts.repeats.Add(1)
		if err := s.o.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// once makes one attempt with the timeout most, and records the outcome, even if send panics.
func once[Out any](ctx context.Context, s *sender, r request, a admission, most time.Duration, send func(context.Context) (*Out, error)) (out *Out, became outcome, err error) {
	began := s.o.Clock()
	became = ended
	defer func() { s.note(a, became, r, err) }()
	short, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	out, err = send(short)
	became = outcomeOf(ctx, s.o.Clock().Sub(began), err)
	return out, became, err
}

// again decides whether a request is retried. It is not if it may have taken effect and is not
// idempotent, if it has used up its attempts or time, or if the budget is empty.
func (s *sender) again(r request, became outcome, err error, attempt int, spent time.Duration) bool {
	if became == down && r.once && !neverSent(err) {
		return false
	}
	return attempt < s.o.Attempts && spent+r.takes/2 <= max(s.o.Within, r.takes) && s.budget.spend()
}

const (
	firstBackoff = 50 * time.Millisecond
	mostBackoff  = 2 * time.Second
)

// backoff returns how long to wait after an attempt, counted from 1: exponential backoff with full
// jitter. https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
func (s *sender) backoff(attempt int) time.Duration {
	most := min(firstBackoff<<min(attempt-1, 10), mostBackoff)
	return time.Duration(s.o.Random()*float64(most)) + time.Millisecond
}

// failure returns the error of a request that is given up.
func (s *sender) failure(became outcome, err error) error {
	f := &dynamo.Failure{Kind: dynamo.Unreachable, After: time.Second, Err: err}
	if became == throttled {
		f.Kind = dynamo.Throttled
		return f
	}
	f.After = max(f.After, s.breaker.condition(s.o.Clock()).Wait)
	return f
}

// note records the outcome of an attempt, and logs changes of the breaker.
func (s *sender) note(a admission, became outcome, r request, err error) {
	switch became {
	case throttled:
		s.throttles.note(r, err)
	case down:
		s.counts.broke.Add(1)
		if errors.Is(err, context.DeadlineExceeded) {
			s.counts.timeouts.Add(1)
		}
	}
	switch s.breaker.note(a, became, s.o.Clock()) {
	case Open:
		then := "requests fail immediately until it responds"
		if s.o.Patience > 0 {
			then = "requests wait up to " + s.o.Patience.String()
		}
		s.o.Logger.Error(s.name+": not responding; "+then, "operation", r.op, "error", err)
	case Closed:
		s.o.Logger.Info(s.name+": responding again", "operation", r.op)
	}
}

// Stats counts requests since the start, and shows those in progress.
type Stats struct {
	Breaker Condition

	Requests int64 // requests made by callers
	Repeats  int64 // retries
	Timeouts int64 // attempts without a response in time
	Broken   int64 // attempts without a response, or with an internal error, including Timeouts
	Failures int64 // requests given up
	Refused  int64 // requests not sent because the breaker was open
	Crowded  int64 // requests not sent because too many were waiting

	InFlight, Waiting, InFlightBytes int64
	BudgetLeft                       int // remaining retries

	Throttles map[Throttle]int64 // attempts
	HotKeys   int64              // partition keys throttled for their own load within the last minute
}

// Stats returns the current statistics.
func (s *sender) Stats() Stats {
	c := &s.counts
	st := Stats{
		Breaker:  s.breaker.condition(s.o.Clock()),
		Requests: c.requests.Load(), Repeats: c.repeats.Load(), Timeouts: c.timeouts.Load(), Broken: c.broke.Load(),
		Failures: c.failures.Load(), Refused: c.refused.Load(), Crowded: c.crowded.Load(),
		InFlight: s.gate.inside.Load(), Waiting: s.gate.waiting.Load(), InFlightBytes: s.gate.held.Load(), BudgetLeft: s.budget.left(),
	}
	st.Throttles, st.HotKeys = s.throttles.counted()
	return st
}

// Condition returns the state of the breaker.
func (s *sender) Condition() Condition { return s.breaker.condition(s.o.Clock()) }
