package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// Bounds of one append.
const (
	MaxEvents      = 99      // one less than what a transaction may have, for the head; with a CommitID another one less
	maxCommitBytes = 4 << 20 // DynamoDB's limit of a transaction
	maxCommitID    = 64
	maxTries       = 12
)

// Commit is an append that happened.
type Commit struct {
	CommitID string
	First    int64 // version after its first event
	Version  int64 // after its last
	// Again says that it had happened before: this call found it and wrote nothing.
	Again bool
}

// AppendOption changes an append.
type AppendOption func(*appending)

// CommitID names an append, 1 to 64 bytes: whoever repeats it with the same id gets the result of the first time, for
// ever. A command's own id serves. Without one a repeated call is another append.
func CommitID(id string) AppendOption {
	return func(a *appending) { a.commit, a.named = id, true }
}

// appending is one append under way.
type appending struct {
	s        *Store
	id       ID
	expected Expected
	commit   string
	named    bool // by the caller, who may come again
	events   []Event
	size     int
	claims   []claim
	prev     []byte // hash of the event before, if the stream is a chain
}

// Append adds events to a stream, all or none, if it has the expected version. When it returns a Commit they are durable
// and can be read. After an error whose outcome nobody knows, such as a time-out, it looks whether the events are there
// and tries again; if that fails, too, call it again with the same CommitID. Errors: *Conflict, which is an ErrConflict;
// ErrInvalid, ErrTooLarge, ErrClosed, ErrCommitReused, ErrReserved, ErrBusy; those of the store.
func (s *Store) Append(ctx context.Context, id ID, expected Expected, events []NewEvent, options ...AppendOption) (Commit, error) {
	a := &appending{s: s, id: id, expected: expected}
	for _, o := range options {
		o(a)
	}
	if err := a.prepare(events); err != nil {
		return Commit{}, fmt.Errorf("eventstore: append to %s: %w", shorten(id.String()), err)
	}
	c, err := a.run(ctx)
	if conflict := (*Conflict)(nil); err != nil && !errors.As(err, &conflict) {
		err = fmt.Errorf("eventstore: append to %s: %w", id, err)
	}
	return c, err
}

// prepare checks an append and makes its events but for their numbers.
func (a *appending) prepare(events []NewEvent) error {
	if err := a.id.check(); err != nil {
		return err
	}
	switch {
	case len(events) == 0:
		return fmt.Errorf("%w: there are no events", ErrInvalid)
	case len(events) > a.mostEvents():
		return fmt.Errorf("%w: %d events: at most %d at once here", ErrTooLarge, len(events), a.mostEvents())
	case a.s.o.OneByOne && (len(events) > 1 || len(a.claims) > 0):
		return fmt.Errorf("%w: without transactions an append has one event, and reserves nothing", ErrInvalid)
	case a.expected.version < 0:
		return fmt.Errorf("%w: version %d", ErrInvalid, a.expected.version)
	}
	now := a.s.t.Now().UTC().Truncate(time.Millisecond)
	ids, err := a.s.newIDs(now, len(events))
	if err != nil {
		return err
	}
	if !a.named {
		a.commit = ids[0]
	}
	if err := checkName("commit id", a.commit, maxCommitID); err != nil {
		return err
	}
	for i := range events {
		if err := a.add(&events[i], ids[i], now, len(events)); err != nil {
			return err
		}
	}
	if a.size > maxCommitBytes {
		return fmt.Errorf("%w: the events have %d bytes, at most %d at once", ErrTooLarge, a.size, maxCommitBytes)
	}
	return nil
}

// mostEvents is how many events fit into the transaction beside the head, the mark and what is reserved.
func (a *appending) mostEvents() int {
	most := MaxEvents - len(a.claims)
	if a.named {
		most--
	}
	return most
}

func (a *appending) add(n *NewEvent, eventID string, now time.Time, of int) error {
	if err := n.check(); err != nil {
		return err
	}
	e := Event{
		EventKey: EventKey{ID: a.id}, EventID: eventID, EventType: n.Type, Schema: n.Schema, OccurredAt: n.OccurredAt.UTC(), RecordedAt: now,
		Payload: n.Payload, Envelope: n.Envelope, CommitID: a.commit, Nth: len(a.events), Of: of,
		Shard: table.Shard(a.id.String(), a.s.o.TypeShards),
	}
	if n.OccurredAt.IsZero() {
		e.OccurredAt = now
	}
	a.size += len(n.Payload) + 512
	a.events = append(a.events, e)
	return nil
}

// run tries until the append happened, or cannot.
func (a *appending) run(ctx context.Context) (Commit, error) {
	for try := 0; ; try++ {
		version, err := a.startVersion(ctx)
		if err == nil && a.named && a.s.o.OneByOne { // no mark keeps it from happening twice, but what came up to now can be read
			if c, err := a.look(ctx, version, nil); err != nil || c.Version > 0 {
				return c, err
			}
		}
		if err == nil {
			if err = a.write(ctx, version); err == nil {
				return Commit{CommitID: a.commit, First: version + 1, Version: version + int64(len(a.events))}, nil
			}
		}
		if final(err) {
			return Commit{}, err
		}
		c, lookErr := a.look(ctx, version, err)
		switch {
		case lookErr != nil:
			return Commit{}, lookErr
		case c.Version > 0:
			return c, nil
		case ctx.Err() != nil:
			return Commit{}, errors.Join(ctx.Err(), err)
		case try == maxTries-1 && errors.Is(err, errTaken):
			return Commit{}, ErrBusy
		case try == maxTries-1:
			return Commit{}, err
		}
		if err := a.s.sleep(ctx, backoff(try)); err != nil {
			return Commit{}, err
		}
	}
}

// errTaken says that another append was quicker, or that this one has happened before.
var errTaken = errors.New("eventstore: another append was quicker")

// final reports whether an append that failed will always fail.
func final(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrReserved) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrHole) || errors.Is(err, ErrChained)
}

// startVersion is the version that events are appended to. Where a transaction compares it, it need not be read, but for
// the hash that a chain goes on from.
func (a *appending) startVersion(ctx context.Context) (int64, error) {
	if a.expected.pinned() && !a.s.o.OneByOne && (!a.s.o.Chain || a.expected.version == 0) {
		return a.expected.version, nil
	}
	h, err := a.s.Head(ctx, a.id)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return 0, err
	}
	switch {
	case h.State != Open:
		return 0, fmt.Errorf("%w: it is %s", ErrClosed, h.State)
	case len(h.Hash) > 0 && !a.s.o.Chain:
		return 0, ErrChained
	case !a.expected.meets(h.Version):
		return h.Version, errTaken // or so it seems
	}
	a.prev = h.Hash
	return h.Version, nil
}

// look finds out what became of an append that failed: it returns the commit if it happened after all, or before; what is
// in its way, if anything is; or neither, and then it may be tried again.
func (a *appending) look(ctx context.Context, version int64, why error) (c Commit, err error) {
	if a.named && !a.s.o.OneByOne {
		m, err := MarkByID.Get(ctx, a.s.t, MarkKey{a.id, a.commit})
		if err == nil {
			return a.again(m.First, m.N)
		}
		if !errors.Is(err, table.ErrNotFound) {
			return c, errors.Join(err, why)
		}
	}
	from := version + 1
	if a.expected.pinned() {
		from = a.expected.version + 1
	}
	if a.named && a.s.o.OneByOne {
		from = 1 // there is no mark: it may be anywhere
	}
	conflict := &Conflict{ID: a.id, Expected: a.expected, Actual: from - 1}
	for e, err := range a.s.Read(ctx, a.id, From(from)) {
		if err != nil {
			return c, errors.Join(err, why)
		}
		if e.CommitID == a.commit {
			return a.again(e.Seq-int64(e.Nth), e.Of)
		}
		if conflict.Actual = e.Seq; e.Seq > a.expected.version && len(conflict.Since) < maxSince {
			conflict.Since = append(conflict.Since, e)
		}
	}
	return c, a.inTheWay(ctx, conflict)
}

// again is the result of an append that happened. One without a name of the caller's is this very call's.
func (a *appending) again(first int64, n int) (Commit, error) {
	if n != len(a.events) {
		return Commit{}, fmt.Errorf("%w: %q, of %d events", ErrCommitReused, a.commit, n)
	}
	return Commit{CommitID: a.commit, First: first, Version: first + int64(n) - 1, Again: a.named}, nil
}

// inTheWay returns the conflict if there is one. A stream that is shorter than expected has no events to tell.
func (a *appending) inTheWay(ctx context.Context, conflict *Conflict) error {
	if len(conflict.Since) == 0 {
		h, err := a.s.Head(ctx, a.id)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		if h.State != Open {
			return fmt.Errorf("%w: it is %s", ErrClosed, h.State)
		}
		conflict.Actual = h.Version
	}
	if a.expected.meets(conflict.Actual) {
		return nil
	}
	return conflict
}

// maxSince is how many events a Conflict carries.
const maxSince = 1000

// backoff is how long to wait after a number of tries: 10 ms, twice as long each time, a second at most, with jitter.
func backoff(try int) time.Duration {
	most := min(10*time.Millisecond<<min(try, 10), time.Second)
	return most/2 + jitter(most/2)
}
