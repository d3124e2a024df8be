package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/internal/backoff"
)

// A Sink is any other store that is kept up to date with the events of all aggregates. It has each of them exactly once if it
// keeps the position together with the effects of what it is given, in one transaction of its own.
type Sink interface {
	// Position is through which position of the feed the sink has everything; 0: it has nothing.
	Position(ctx context.Context) (int64, error)
	// Put takes the events behind its position through another one, in order: whole appends, and none if nothing that it asks
	// for was appended. After an error, and after a crash, it is asked for its position again.
	Put(ctx context.Context, events []eventstore.FeedEvent, through int64) error
}

// FollowOptions configure Follow. The zero value has good defaults.
type FollowOptions struct {
	Only   []eventstore.FeedOption // what the sink is given; default everything
	AtOnce int                     // appends that are looked at together; default 500
	Poll   time.Duration           // how long to wait when there is nothing new; default 100 ms
	Retry  time.Duration           // how long to wait after an error of the sink; default 1 s

	Status func(FollowStatus)                         // is told after each attempt
	Sleep  func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
}

// FollowStatus is how far a sink is.
type FollowStatus struct {
	Position int64 // through which it has everything
	Head     int64 // through which the feed is, as of before
	Failures int   // in a row
	Err      error // of the last attempt
}

func (o FollowOptions) withDefaults() FollowOptions {
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

// Follow gives a sink what is in the feed, and what comes, until ctx ends; then it returns nil. Errors of the sink are told to
// Status, and tried again from the sink's position: a feed has one order, so what it cannot take it waits for.
func Follow(ctx context.Context, s *eventstore.Store, sink Sink, o FollowOptions) error {
	o = o.withDefaults()
	for failures := 0; ctx.Err() == nil; {
		at, err := CatchUp(ctx, s, sink, o)
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

// CatchUp gives a sink what is in the feed now. Errors: those of the sink and of the store.
func CatchUp(ctx context.Context, s *eventstore.Store, sink Sink, o FollowOptions) (at FollowStatus, err error) {
	o = o.withDefaults()
	if at.Position, err = sink.Position(ctx); err != nil {
		return at, fmt.Errorf("projection: position of the sink: %w", err)
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
			if err := sink.Put(ctx, p.Events, p.Through); err != nil {
				return at, fmt.Errorf("projection: sink at %d: %w", at.Position, err)
			}
			at.Position = p.Through
		}
		if p.Tip {
			return at, nil
		}
	}
}
