package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/backoff"
)

// A Subscriber is a subscriber: another store that is kept up to date with the feed. It gets each event
// exactly once if it stores its position together with the effects, in one transaction.
type Subscriber interface {
	// Position returns the feed position up to which the subscriber has everything; 0: nothing.
	Position(ctx context.Context) (int64, error)
	// Put passes the events after the subscriber's position up to through, in order and in whole appends;
	// there are none if nothing selected was appended. After an error or a crash, the subscriber is asked
	// for its position again.
	Put(ctx context.Context, events []eventstore.FeedEvent, through int64) error
}

// SubscribeOptions configures Subscribe. The zero value has good defaults.
type SubscribeOptions struct {
	Only   []eventstore.FeedOption // filter; default everything
	AtOnce int                     // appends processed together; default 500
	Poll   time.Duration           // wait if there is nothing new; default 100 ms
	Retry  time.Duration           // wait after an error of the subscriber; default 1 s

	Status func(SubscriptionStatus)                   // called after each attempt
	Sleep  func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
}

// SubscriptionStatus is the progress of a subscriber.
type SubscriptionStatus struct {
	Position int64 // the subscriber has everything up to this position
	Head     int64 // end of the feed, at an earlier moment
	Failures int   // consecutive failures
	Err      error // of the last attempt
}

func (o SubscribeOptions) withDefaults() SubscribeOptions {
	if o.AtOnce <= 0 {
		o.AtOnce = 500
	}
	if o.Poll <= 0 {
		o.Poll = 100 * time.Millisecond
	}
	if o.Retry <= 0 {
		o.Retry = time.Second
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	return o
}

// Subscribe passes the feed to a subscriber, and continues with new appends until ctx ends; then it returns
// nil. Errors are reported to Status and retried from the subscriber's position. The feed has one order,
// so a failing append blocks the later ones.
func Subscribe(ctx context.Context, s *eventstore.Store, subscriber Subscriber, o SubscribeOptions) error {
	o = o.withDefaults()
	for failures := 0; ctx.Err() == nil; {
		at, err := CatchUp(ctx, s, subscriber, o)
		wait := o.Poll
		if err != nil && ctx.Err() == nil {
			failures++
			wait = o.Retry
		} else {
			failures = 0
		}
		if o.Status != nil {
			at.Err, at.Failures = err, failures
			o.Status(at)
		}
		if err := o.Sleep(ctx, wait); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// CatchUp passes the current feed to a subscriber. Errors: those of the subscriber and of the store.
func CatchUp(ctx context.Context, s *eventstore.Store, subscriber Subscriber, o SubscribeOptions) (at SubscriptionStatus, err error) {
	o = o.withDefaults()
	if at.Position, err = subscriber.Position(ctx); err != nil {
		return at, fmt.Errorf("projection: position of the subscriber: %w", err)
	}
	for {
		h, err := s.FeedHead(ctx)
		if err != nil {
			return at, err
		}
		at.Head = h.Position
		p, err := s.FeedPage(ctx, at.Position, o.AtOnce, o.Only...)
		if err != nil {
			return at, err
		}
		if p.Through > at.Position {
			if err := subscriber.Put(ctx, p.Events, p.Through); err != nil {
				return at, fmt.Errorf("projection: subscriber at %d: %w", at.Position, err)
			}
			at.Position = p.Through
		}
		if p.Tip {
			return at, nil
		}
	}
}
