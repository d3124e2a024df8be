package spool

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/internal/backoff"
)

// A Sink delivers records of one kind, in order. It must be idempotent. It returns the records that
// it cannot decode, or that can never be delivered, to be put aside. After an error it is called
// again with the same records.
type Sink func(ctx context.Context, bodies [][]byte) (refused [][]byte, err error)

// Drain empties a spool. Spool and Sinks are required.
type Drain struct {
	Spool *Spool
	Sinks map[byte]Sink // by kind

	// Rate is the maximum number of records drained per second; default 2,000. Each appended record
	// allows two more, so that the spool empties however many arrive.
	Rate  int
	Batch int // records per call of a sink; default 256

	Clock  func() time.Time                           // default time.Now
	Sleep  func(context.Context, time.Duration) error // default: a timer
	Logger *slog.Logger                               // default: discards

	refused, failures atomic.Int64
}

const (
	firstPause = 250 * time.Millisecond // after a failure; doubled each time
	mostPause  = 5 * time.Second
	logEvery   = 10 * time.Second // how often progress is logged
)

// Refused returns how many records were put aside because no sink accepts them.
func (d *Drain) Refused() int64 { return d.refused.Load() }

// Failures returns how often a sink or the disk failed.
func (d *Drain) Failures() int64 { return d.failures.Load() }

func (d *Drain) defaults() {
	if d.Rate <= 0 {
		d.Rate = 2000
	}
	if d.Batch <= 0 {
		d.Batch = 256
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if d.Sleep == nil {
		d.Sleep = backoff.For
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
}

// Run drains until ctx ends, and returns its error. After an error of the spool's disk or of a
// sink, it waits and retries: it must not stop, because records are still being acknowledged.
func (d *Drain) Run(ctx context.Context) error {
	d.defaults()
	allowed := allowance{last: d.Clock(), came: d.Spool.Stats().Appended}
	for ctx.Err() == nil {
		if !d.Spool.Waiting() {
			select {
			case <-ctx.Done():
			case <-d.Spool.Came():
			}
			continue
		}
		if err := d.empty(ctx, &allowed); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// empty drains until nothing waits. Errors: those of ctx.
func (d *Drain) empty(ctx context.Context, allowed *allowance) error {
	began, told, failures, done := d.Clock(), d.Clock(), 0, 0
	for {
		n, err := d.some(ctx, allowed)
		now := d.Clock()
		switch done += n; {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failures++
			d.failures.Add(1)
			if failures == 1 || now.Sub(told) >= logEvery {
				told = now
				d.Logger.Warn("spool: cannot drain the queue yet", "records", d.Spool.Stats().Records, "failures", failures, "error", err)
			}
			wait := min(firstPause<<min(failures, 10), mostPause)
			if err := d.Sleep(ctx, wait/2+rand.N(wait/2)); err != nil {
				return err
			}
		case n == 0:
			if done > 0 {
				d.Logger.Info("spool: drained", "records", done, "seconds", now.Sub(began).Seconds())
			}
			return nil
		default:
			failures = 0
			if now.Sub(told) >= logEvery {
				told = now
				d.Logger.Info("spool: draining", "done", done, "records", d.Spool.Stats().Records)
			}
		}
	}
}

// some drains the oldest records and returns how many; 0 if nothing waits. Errors: those of ctx, of
// sinks and of the disk.
func (d *Drain) some(ctx context.Context, allowed *allowance) (int, error) {
	records, pos, err := d.Spool.Peek(d.Batch)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	if wait := allowed.take(len(records), d.Rate, d.Spool.Stats().Appended, d.Clock()); wait > 0 {
		if err := d.Sleep(ctx, wait); err != nil {
			return 0, err
		}
	}
	if err := d.give(ctx, records); err != nil {
		return 0, err
	}
	return len(records), d.Spool.Done(pos)
}

// give passes records to the sinks of their kinds, in order for each kind.
func (d *Drain) give(ctx context.Context, records []Record) error {
	bodies := map[byte][][]byte{}
	for i := range records {
		bodies[records[i].Kind] = append(bodies[records[i].Kind], records[i].Body)
	}
	var errs []error
	var refused [][]byte
	for kind, some := range bodies {
		sink, known := d.Sinks[kind]
		if !known {
			errs = append(errs, errors.New("spool: records have a kind that this version does not know: start the version that wrote them"))
			continue
		}
		left, err := sink(ctx, some)
		refused = append(refused, left...)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil || len(refused) == 0 {
		return err
	}
	d.refused.Add(int64(len(refused)))
	d.Logger.Error("spool: rejected records were moved to a file", "records", len(refused), "file", d.Spool.refusedFile())
	return d.Spool.moveToRejected(refused)
}

// allowance limits the rate of a drain.
type allowance struct {
	holds float64
	last  time.Time
	came  int64
}

// take charges n records, and returns how long to wait before draining them.
func (a *allowance) take(n, rate int, appended int64, now time.Time) time.Duration {
	a.holds += now.Sub(a.last).Seconds()*float64(rate) + 2*float64(appended-a.came)
	a.holds = min(a.holds, float64(rate)) // at most a second's worth
	a.last, a.came = now, appended
	if a.holds -= float64(n); a.holds >= 0 {
		return 0
	}
	return time.Duration(-a.holds / float64(rate) * float64(time.Second))
}
