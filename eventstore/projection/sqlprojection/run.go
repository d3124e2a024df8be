package sqlprojection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
)

// EventError is the error of an event that cannot be applied. Nothing of its append was applied.
type EventError struct {
	Projection string
	Version    int // of the projection
	Position   int64
	Event      eventstore.EventKey
	EventType  string
	Err        error // of Apply or of the database
}

func (e *EventError) Error() string {
	return fmt.Sprintf("sqlprojection: %s version %d: event %d (%s) of %s at position %d: %v",
		e.Projection, e.Version, e.Event.Seq, printable(e.EventType), printable(e.Event.ID.String()), e.Position, e.Err)
}

// printable quotes a name unless it is printable.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// Run calls Start, and keeps the tables up to date until ctx ends; then it returns nil. Several
// processes may run the same version: each event is applied by one of them. Once a version has
// reached the end of the feed, it becomes active if none or an earlier one is. Errors after Start are
// retried and reported to Options.Feed.Status; among them is an *EventError, which blocks all later
// events unless Options.ParkAfter is set.
func (p *Projection) Run(ctx context.Context) error {
	switch err := p.Start(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	o, sub := p.o.Feed, p.subscriber()
	o.Status = func(s projection.SubscriptionStatus) {
		if s.Err == nil && sub.active < p.def.Version {
			_, s.Err = p.activateLater(ctx)
		}
		if p.o.Feed.Status != nil {
			p.o.Feed.Status(s)
		}
	}
	return projection.Subscribe(ctx, p.s, sub, o)
}

// CatchUp is Run up to the present end of the feed. Errors: an *EventError, those of the database and
// of the store.
func (p *Projection) CatchUp(ctx context.Context) (at projection.SubscriptionStatus, err error) {
	if err := p.Start(ctx); err != nil {
		return at, err
	}
	for active := false; !active && err == nil; {
		if at, err = projection.CatchUp(ctx, p.s, p.subscriber(), p.o.Feed); err == nil {
			active, err = p.activateLater(ctx)
		}
	}
	return at, err
}

func (p *Projection) subscriber() *subscriber {
	return &subscriber{Projection: p, attempts: map[string]int{}}
}

// subscriber is the projection in one call of Subscribe or CatchUp.
type subscriber struct {
	*Projection
	from     int64          // position after which the events of the next Put begin
	active   int            // active version when Position was called, 0: none
	attempts map[string]int // failed attempts since the last Put that succeeded, by event ID
}

// Position returns the stored position. Errors: ErrNotFound; ErrPosition if the feed ends before it;
// those of the database and of the store.
func (s *subscriber) Position(ctx context.Context) (int64, error) {
	err := s.row(ctx, s.db, "position, (SELECT COALESCE(MAX(version), 0) FROM onefold_projections WHERE name = $1 AND active = 1)").Scan(&s.from, &s.active)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err == nil {
		var head eventstore.FeedState
		if head, err = s.s.FeedHead(ctx); err == nil && head.Position < s.from {
			err = fmt.Errorf("%w: the feed ends at %d, before the position %d of the database: the event store was restored from an older backup; restore the database to before that, or increase Version", ErrPosition, head.Position, s.from)
		}
	}
	return s.from, s.wrap("position of", err)
}

// Put applies events in one transaction with the position. If one of them fails, it applies them again
// with savepoints, up to the failing append, or with its aggregate parked.
func (s *subscriber) Put(ctx context.Context, events []eventstore.FeedEvent, through int64) error {
	err := s.put(ctx, events, through, (*batch).all)
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrPosition) || errors.Is(err, ErrNotFound) {
		return err
	}
	return s.put(ctx, events, through, (*batch).each)
}

func (s *subscriber) put(ctx context.Context, events []eventstore.FeedEvent, through int64, apply func(*batch, []eventstore.FeedEvent) error) error {
	var failed error
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		b, err := s.begin(ctx, tx)
		if err != nil {
			return err
		}
		if b.position < s.from {
			return fmt.Errorf("%w: from %d to %d", ErrPosition, s.from, b.position)
		}
		if b.through = max(b.position, through); b.position >= through {
			return nil // another process was faster
		}
		// An append that another process has applied is skipped as a whole.
		events = slices.DeleteFunc(slices.Clone(events), func(e eventstore.FeedEvent) bool { return e.Position <= b.position })
		if err := apply(b, events); err != nil {
			return err
		}
		failed = b.failed
		return b.end()
	})
	if err != nil {
		if failed := (*EventError)(nil); errors.As(err, &failed) {
			return err
		}
		return s.wrap(fmt.Sprintf("apply positions %d to %d to", s.from+1, through), err)
	}
	if failed == nil {
		s.from = through
		clear(s.attempts)
	}
	return failed
}

// Position returns the position of the active version, 0 if no version is active. Call Start or Run
// before. Errors: those of the database.
func (p *Projection) Position(ctx context.Context) (int64, error) {
	position, err := p.activePosition(ctx)
	return max(position, 0), err
}

// activePosition returns -1 if no version is active.
func (p *Projection) activePosition(ctx context.Context) (position int64, err error) {
	err = p.db.QueryRowContext(ctx, `SELECT position FROM onefold_projections WHERE name = $1 AND active = 1`, p.def.Name).Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		position, err = -1, nil
	}
	return position, p.wrap("position of", err)
}
