package subscription

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Errors of this package.
var (
	// ErrDefinition is returned for an invalid definition, or one that differs from the stored one.
	ErrDefinition = errors.New("subscription: invalid definition")
	// ErrNotFound is returned for a subscription that does not exist.
	ErrNotFound = errors.New("subscription: not found")
	// ErrFull is the error of a partition that has as many parked events as it may have. It waits
	// until its event can be handled, or until parked ones are retried or discarded.
	ErrFull = errors.New("subscription: too many events are parked")
	// ErrExists is returned when a subscription is created that exists with other settings.
	ErrExists = errors.New("subscription: exists with other settings")
	// ErrNotPulled is returned when events are pulled from a subscription that a program runs.
	ErrNotPulled = errors.New("subscription: a program runs this subscription, so that its events cannot be pulled")
)

// A Handler handles events in order. It returns how many of them it has handled, from the first one
// on; the error, if any, is that of the next one. Each partition calls it from a goroutine of its
// own.
type Handler func(ctx context.Context, events []eventstore.FeedEvent) (done int, err error)

// Each returns a Handler that handles one event after the other.
func Each(handle func(ctx context.Context, e *eventstore.FeedEvent) error) Handler {
	return func(ctx context.Context, events []eventstore.FeedEvent) (int, error) {
		for i := range events {
			if err := handle(ctx, &events[i]); err != nil {
				return i, err
			}
		}
		return len(events), nil
	}
}

// Permanent marks an error of a handler as permanent: the event is parked without further attempts.
func Permanent(err error) error { return &permanent{err} }

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// Definition defines a subscription.
type Definition struct {
	Name string                  // 1 to 64 bytes without '#' and '/'
	Only []eventstore.FeedOption // filter of events; default all
	// Partitions is the number of parts that can be handled at the same time, 1 to 64; default 1.
	// Events of an aggregate are in one part. It cannot be changed while the subscription exists.
	Partitions int
	FromNow    bool // a new subscription begins at the end of the feed, not at its beginning
	Handle     Handler
}

// Options configures a Subscription. The zero value has good defaults.
type Options struct {
	AtOnce     int                       // appends read at once; default 500
	Poll       time.Duration             // pause at the end of the feed; default 25 ms, 500 ms for a table of a service
	Attempts   int                       // attempts to handle an event before it is parked; default 10, negative: no limit. Permanent errors park at once
	Delay      func(n int) time.Duration // wait before attempt n, from 1; default random, growing to 30 s
	MostParked int                       // parked events of a partition, default 1,000; see ErrFull
	Checkpoint time.Duration             // how long handled events may be without a checkpoint; default 200 ms
	Lease      lease.Options             // how processes divide the partitions

	Sleep  func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
	Logger *slog.Logger                               // default slog.Default()
}

const (
	maxPartitions     = 64
	defaultCheckpoint = 200 * time.Millisecond
)

func (o Options) withDefaults(t *table.Table) Options {
	poll := 500 * time.Millisecond
	if _, embedded := t.API().(dynamo.Putter); embedded {
		poll = 25 * time.Millisecond
	}
	if o.Attempts < 0 {
		o.Attempts = math.MaxInt
	}
	for v, to := range map[*int]int{&o.AtOnce: 500, &o.Attempts: 10, &o.MostParked: 1000} {
		if *v <= 0 {
			*v = to
		}
	}
	for v, to := range map[*time.Duration]time.Duration{&o.Poll: poll, &o.Checkpoint: defaultCheckpoint} {
		if *v <= 0 {
			*v = to
		}
	}
	if o.Delay == nil {
		o.Delay = func(n int) time.Duration { return backoff.Delay(n, 100*time.Millisecond, 30*time.Second) }
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Lease.Owner == "" {
		o.Lease.Owner = lease.UniqueName()
	}
	return o
}

// Subscription is a subscription that this process can run. It is safe for concurrent use.
type Subscription struct {
	s   *eventstore.Store
	t   *table.Table
	def Definition
	o   Options
}

// New returns a subscription to a store's feed. Nothing is stored before Run. Errors: ErrDefinition.
func New(s *eventstore.Store, d Definition, o Options) (*Subscription, error) {
	if d.Partitions == 0 {
		d.Partitions = 1
	}
	if d.Handle == nil {
		return nil, fmt.Errorf("%w: %s: set Handle", ErrDefinition, d.Name)
	}
	if err := checkPlace(s, d.Name, d.Partitions); err != nil {
		return nil, err
	}
	return &Subscription{s: s, t: s.Table(), def: d, o: o.withDefaults(s.Table())}, nil
}

// checkPlace checks the name of a subscription, its number of partitions, and that there is a feed.
func checkPlace(s *eventstore.Store, name string, partitions int) error {
	switch {
	case name == "" || len(name) > 64 || !utf8.ValidString(name) || strings.ContainsAny(name, "#/"):
		return fmt.Errorf("%w: name %q: use 1 to 64 bytes without # and /", ErrDefinition, name)
	case partitions < 1 || partitions > maxPartitions:
		return fmt.Errorf("%w: %s: use 1 to %d partitions, not %d", ErrDefinition, name, maxPartitions, partitions)
	case s.PutMode():
		return fmt.Errorf("%w: %s: there is no feed in put mode", ErrDefinition, name)
	}
	return nil
}

// Name returns the name of the subscription.
func (s *Subscription) Name() string { return s.def.Name }

// Run handles events until ctx ends, and then returns nil. Several processes may run a subscription:
// they divide the partitions. Errors of handlers and of the store are retried, logged, and shown by
// Get. Errors: ErrDefinition if the stored subscription has another number of partitions; an error
// of the store when the subscription is created.
func (s *Subscription) Run(ctx context.Context) error {
	err := s.create(ctx)
	if err == nil {
		err = lease.RunShared(ctx, s.t, "subscription/"+s.def.Name, s.def.Partitions, s.o.Lease, s.consume)
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("subscription %s: %w", s.def.Name, err)
}

// create stores the subscription, unless it exists.
func (s *Subscription) create(ctx context.Context) error {
	r := Record{Key: Key{s.def.Name}, Partitions: s.def.Partitions, CreatedAt: s.t.Now().UTC()}
	if s.def.FromNow {
		head, err := s.s.FeedHead(ctx)
		if err != nil {
			return err
		}
		r.Start = head.Position
	}
	stored, _, err := createRecord(ctx, s.t, r)
	if err == nil {
		err = s.agrees(&stored)
	}
	return err
}

// agrees checks that the subscription is as it is stored.
func (s *Subscription) agrees(stored *Record) error {
	if stored.Pulled != nil {
		return fmt.Errorf("%w: the events of the subscription are pulled: use another name, or delete it", ErrDefinition)
	}
	if stored.Partitions != s.def.Partitions {
		return fmt.Errorf("%w: the subscription has %d partitions, not %d: use that number, or delete it", ErrDefinition, stored.Partitions, s.def.Partitions)
	}
	return nil
}
