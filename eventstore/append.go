package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// Limits of one append.
const (
	MaxEvents      = 98      // with a CommitID one less
	maxCommitBytes = 4 << 20 // DynamoDB's limit of a transaction
	maxCommitID    = 64
	maxTries       = 12
)

// Commit is a completed append.
type Commit struct {
	CommitID string
	First    int64 // version after its first event
	Version  int64 // version after its last event
	// Again is set if the commit was already stored: by an earlier call, or by a try of this call
	// whose response was lost. Only appends with a CommitID set it.
	Again bool
}

// AppendOption configures an append.
type AppendOption func(*appending)

// CommitID sets the commit ID of an append, 1 to 64 bytes. An append that is repeated with the same
// ID returns the result of the first, forever. The ID of a command is suitable. Without it, a
// repeated call appends again. Using the ID for events with other types, payloads, envelopes or
// given times is an ErrCommitReused. In Transact it identifies the command: the first result is
// returned, whatever is decided the second time.
func CommitID(id string) AppendOption {
	return func(a *appending) { a.commit, a.named = id, true }
}

// AppendTo is the part of a multi-stream append for one aggregate.
type AppendTo struct {
	ID       ID
	Expected Expected
	Events   []NewEvent
	Options  []AppendOption // for this aggregate: Reserve, Release
}

// appending is the state of an append to one aggregate.
type appending struct {
	s        *Store
	id       ID
	expected Expected
	commit   string
	named    bool     // the caller set the commit ID, and may repeat the append
	at       tip      // end of the stream to which it appends
	closes   bool     // the open page is full
	open     []Record // of the open page, if closes is set
	next     tip      // end of the stream after it
	events   []Event
	size     int
	claims   []claim
	chained  bool   // the stream is a chain, or becomes one
	parts    int    // parts of the append
	command  bool   // the commit ID names the command, whatever is decided
	dated    []bool // by event: the caller set its time
	content  content

	boundaries []*boundary
	includes   []inclusion

	// What an earlier attempt in put mode has written: the entry in the list of aggregates, and the
	// page that ends with a version.
	isListed bool
	closed   int64

	// Numbers of operations in the transaction: for pages, and before those of the mark and claims.
	pages, before int
}

// Append appends events to a stream, all or none, if the stream has the expected version. When it
// returns a Commit, the events are durable and readable. After an error with an unknown outcome,
// such as a timeout, it checks whether the events exist and retries; if that fails too, call it
// again with the same CommitID. Errors: *Conflict, which is an ErrConflict; ErrInvalid,
// ErrTooLarge, ErrClosed, ErrCommitReused, ErrReserved, ErrBusy, ErrWriteMode, ErrUnsealed; those
// of the store.
func (s *Store) Append(ctx context.Context, id ID, expected Expected, events []NewEvent, options ...AppendOption) (Commit, error) {
	commits, err := s.append(ctx, []AppendTo{{id, expected, events, options}}, nil)
	if err != nil {
		return Commit{}, err
	}
	return commits[0], nil
}

// AppendAll is a multi-stream append: it appends to several aggregates in one transaction, to all
// or none. The commits are in the order of parts. A *Conflict names the aggregate with another
// version; other errors are as in Append. A CommitID names the whole append, which must be repeated
// with the same parts, in any order. The append must fit in the hundred operations of a
// transaction: one for the append, one per event, one per aggregate (two with a CommitID), and one
// per reserved or released value.
func (s *Store) AppendAll(ctx context.Context, parts []AppendTo, options ...AppendOption) ([]Commit, error) {
	return s.append(ctx, parts, options)
}

func (s *Store) append(ctx context.Context, parts []AppendTo, options []AppendOption) ([]Commit, error) {
	j, err := s.newMultiAppend(parts, options)
	var commits []Commit
	if err == nil {
		err = s.agreeOnMode(ctx)
	}
	if err == nil {
		err = j.claim(ctx)
	}
	if err == nil {
		if err = j.seal(ctx); err != nil {
			commits, err = j.findEarlier(ctx, err)
		} else {
			commits, err = j.run(ctx)
		}
	}
	conflict, other := (*Conflict)(nil), (*QueryConflict)(nil)
	switch {
	case err == nil || errors.As(err, &conflict) || errors.As(err, &other):
		return commits, err
	case len(parts) == 0:
		return nil, fmt.Errorf("eventstore: append: %w", err)
	case len(parts) > 1:
		return nil, fmt.Errorf("eventstore: append to %s and %d more: %w", shorten(parts[0].ID.String()), len(parts)-1, err)
	}
	return nil, fmt.Errorf("eventstore: append to %s: %w", shorten(parts[0].ID.String()), err)
}

// check validates the append to the aggregate.
func (a *appending) check(events []NewEvent) error {
	if err := a.id.check(); err != nil {
		return err
	}
	switch {
	case len(events) == 0:
		return fmt.Errorf("%w: an append needs an event", ErrInvalid)
	case a.s.o.PutMode && len(a.claims) > 0:
		return fmt.Errorf("%w: there are no reservations in put mode", ErrInvalid)
	case a.expected.version < 0:
		return fmt.Errorf("%w: expected version %d is negative", ErrInvalid, a.expected.version)
	}
	for i := range a.claims {
		if err := a.claims[i].check(); err != nil {
			return err
		}
	}
	if !a.named {
		return nil
	}
	return checkName("commit id", a.commit, maxCommitID)
}

// operations returns the number of operations for the events, the head, the mark and the claims.
func (a *appending) operations(events int) int {
	n := events + 1 + a.marks()
	for i := range a.claims {
		n += a.claims[i].operations()
	}
	return n
}

// prepare creates the events, without numbers.
func (a *appending) prepare(events []NewEvent, ids []string, now time.Time) error {
	for i := range events {
		if err := a.add(&events[i], ids[i], now, len(events)); err != nil {
			return err
		}
	}
	return nil
}

// number sets the numbers of the events, and their hashes, which depend on the numbers.
func (a *appending) number() {
	for i := range a.events {
		a.events[i].Seq = a.at.version + int64(i) + 1
	}
	a.chain()
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
	if a.dated = append(a.dated, !n.OccurredAt.IsZero()); n.OccurredAt.IsZero() {
		e.OccurredAt = now
	}
	a.size += len(n.Payload) + 512
	a.events = append(a.events, e)
	return nil
}

// start finds the end of the stream to append to. It need not be read if the stream has the expected
// version according to what the store remembers, because the write checks it.
func (a *appending) start(ctx context.Context) error {
	a.closes, a.open = false, nil
	size, searched := recordBound(a.events), a.s.o.PutMode && a.named
	if a.expected.pinned() && !searched {
		if a.at = (tip{}); a.expected.version == 0 {
			return nil
		}
		if at, ok := a.s.tips.Get(a.id); ok && at.version == a.expected.version && !a.s.full(&at, size) {
			a.at, a.chained = at, a.chained || len(at.hash) > 0
			return nil
		}
	}
	h, err := a.s.readHead(ctx, a.id)
	if err != nil {
		return err
	}
	a.at = tipOf(&h)
	if searched { // in put mode no mark prevents a second append
		switch _, err := a.markIn(ctx, &h); {
		case err == nil:
			return errTaken
		case !errors.Is(err, table.ErrNotFound):
			return err
		}
	}
	switch {
	case h.State != Open:
		return a.isClosed(h.State)
	case !a.expected.meets(h.Version):
		return errTaken // probably: it may also be this append, repeated
	}
	a.chained = a.chained || len(h.Hash) > 0
	if a.closes = a.s.full(&a.at, size); a.closes {
		a.open = h.Records
	}
	return h.complete()
}

func (a *appending) isClosed(as StreamState) error {
	return fmt.Errorf("%w: %s is %s", ErrClosed, shorten(a.id.String()), as)
}

// result returns the commit of an append that succeeded at the version.
func (a *appending) result() Commit {
	return Commit{CommitID: a.commit, First: a.at.version + 1, Version: a.at.version + int64(len(a.events))}
}

// findOutcome determines the outcome of a failed append. It returns the commit if the append happened
// after all, a *Conflict if something is in its way, or neither if it may be retried.
func (a *appending) findOutcome(ctx context.Context, why error) (Commit, error) {
	c, err := a.findMark(ctx)
	if err != nil {
		return c, errors.Join(err, why)
	}
	if c.Version > 0 {
		return c, nil
	}
	for range 2 { // the head may belong to an append that came after the events were read
		conflict := &Conflict{ID: a.id, Expected: a.expected}
		if c, err = a.readSince(ctx, conflict); err != nil {
			return c, errors.Join(err, why)
		}
		if c.Version > 0 {
			return c, nil
		}
		if read := conflict.Actual; len(conflict.Since)%maxSince == 0 { // nothing was read, or not everything
			if err := a.readActual(ctx, conflict); err != nil {
				return c, err
			}
			if conflict.Actual > read && len(conflict.Since) == 0 {
				continue
			}
		}
		if !a.expected.meets(conflict.Actual) {
			return c, conflict
		}
		return c, nil
	}
	return c, fmt.Errorf("%w: %s has fewer events than the version in its head", ErrHole, a.id)
}

// readSince reads the events after the version, as many as a conflict carries. If an attempt of
// this call succeeded, the first of them are its own, and it returns the commit.
func (a *appending) readSince(ctx context.Context, conflict *Conflict) (Commit, error) {
	from := a.at.version + 1
	if a.expected.pinned() {
		from = a.expected.version + 1
	}
	conflict.Actual = from - 1
	for e, err := range a.s.Read(ctx, a.id, From(from), Kept()) {
		if err != nil {
			return Commit{}, err
		}
		switch {
		case e.CommitID == a.commit && a.named: // it happened after the mark was read
			return a.findMark(ctx)
		case e.CommitID == a.commit:
			return a.again(Mark{First: e.Seq - int64(e.Nth), N: e.Of})
		}
		conflict.Actual = e.Seq
		if conflict.Since = append(conflict.Since, e); len(conflict.Since) == maxSince {
			break
		}
	}
	return Commit{}, nil
}

// readActual reads the version of a stream without new events, which may be shorter than expected.
func (a *appending) readActual(ctx context.Context, conflict *Conflict) error {
	h, err := a.s.Head(ctx, a.id)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return err
	}
	if h.State != Open {
		return a.isClosed(h.State)
	}
	conflict.Actual = h.Version
	return nil
}

// findMark returns the commit with the caller's commit ID, if it happened.
func (a *appending) findMark(ctx context.Context) (Commit, error) {
	if !a.named {
		return Commit{}, nil
	}
	m, err := a.loadMark(ctx)
	switch {
	case err == nil:
		return a.again(m)
	case errors.Is(err, table.ErrNotFound):
		return Commit{}, nil
	}
	return Commit{}, err
}

// loadMark returns the mark of the commit ID.
func (a *appending) loadMark(ctx context.Context) (Mark, error) {
	if a.s.o.PutMode {
		h, err := a.s.readHead(ctx, a.id)
		if err != nil {
			return Mark{}, err
		}
		return a.markIn(ctx, &h)
	}
	return MarkByID.Get(ctx, a.s.t, MarkKey{a.id, a.commit})
}

// markIn returns the mark of the commit ID in put mode: of an append in the open page, or written
// when its page was closed.
func (a *appending) markIn(ctx context.Context, h *Head) (Mark, error) {
	info, err := h.find(a.commit)
	if err != nil {
		return Mark{}, err
	}
	if info != nil {
		return info.mark(a.id), nil
	}
	if h.First <= 1 {
		return Mark{}, table.ErrNotFound
	}
	return MarkByID.Get(ctx, a.s.t, MarkKey{a.id, a.commit})
}

// again returns the result of an append that already happened. Without a caller's commit ID it
// belongs to this very call.
func (a *appending) again(m Mark) (Commit, error) {
	if a.named && !a.command {
		if err := a.compare(&m); err != nil {
			return Commit{}, err
		}
	}
	return Commit{CommitID: a.commit, First: m.First, Version: m.First + int64(m.N) - 1, Again: a.named}, nil
}

// maxSince is the maximum number of events in a Conflict.
const maxSince = 1000

// retryDelay returns the wait before retry n, counted from 0.
func retryDelay(n int) time.Duration { return backoff.Delay(n, 20*time.Millisecond, time.Second) }
