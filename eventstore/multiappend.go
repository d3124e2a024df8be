package eventstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

const (
	maxOperations = 100                     // DynamoDB's limit of a transaction
	maxParts      = (maxOperations - 1) / 2 // aggregates per append: each takes two operations, and the feed's entry one
)

// A multiAppend is an append in progress, to one or several aggregates. All its parts are in one
// transaction and have one commit ID, so if one part happened, all did. The parts of a group are
// commands on one aggregate, with commit IDs of their own.
type multiAppend struct {
	s     *Store
	parts []*appending
	group *appending // to the aggregate, if the parts are a group of commands on it
	ready bool       // the versions of the parts are known

	boundaries []boundary
	includes   []inclusion // of the whole append
	lists      tagLists

	plain      [][]Event // events of the parts before sealing
	sealed     time.Time // when they were sealed
	unsealable bool      // they cannot be sealed
}

// newMultiAppend validates an append and creates its events, without numbers.
func (s *Store) newMultiAppend(parts []AppendTo, options []AppendOption) (*multiAppend, error) {
	j := &multiAppend{s: s}
	if len(parts) == 0 || len(parts) > maxParts {
		return j, fmt.Errorf("%w: an append can have 1 to %d aggregates, not %d", ErrInvalid, maxParts, len(parts))
	}
	seen := map[ID]bool{}
	for i := range parts {
		a := &appending{s: s, id: parts[i].ID, expected: parts[i].Expected, chained: s.o.Chain}
		for _, o := range options {
			o(a)
		}
		if len(a.claims) > 0 {
			return j, fmt.Errorf("%w: reserve a value in the options of one aggregate", ErrInvalid)
		}
		j.includes, a.includes = a.includes, nil // the same for each part
		common := a.commit
		for _, o := range parts[i].Options {
			o(a)
		}
		if len(parts) > 1 && a.commit != common {
			return j, fmt.Errorf("%w: all parts of an append have the same commit ID", ErrInvalid)
		}
		if seen[a.id] {
			return j, fmt.Errorf("%w: %s is listed twice; pass its events in one part", ErrInvalid, shorten(a.id.String()))
		}
		seen[a.id] = true
		j.parts = append(j.parts, a)
	}
	return j, j.prepare(parts)
}

func (j *multiAppend) prepare(parts []AppendTo) error {
	events, operations := 0, 1 // one for the feed's entry
	for i, a := range j.parts {
		a.parts = len(j.parts)
		if err := a.check(parts[i].Events); err != nil {
			return err
		}
		events += len(parts[i].Events)
		operations += a.operations(len(parts[i].Events))
	}
	switch most := maxOperations - (operations - events); {
	case operations > maxOperations:
		return fmt.Errorf("%w: %d events; this append can have at most %d", ErrTooLarge, events, most)
	case j.s.o.PutMode && len(j.parts) > 1:
		return fmt.Errorf("%w: in put mode an append is limited to one aggregate", ErrInvalid)
	case j.s.o.PutMode && j.hasIncludes():
		return fmt.Errorf("%w: there are no included operations in put mode", ErrInvalid)
	}
	now := j.s.t.Now().UTC().Truncate(time.Millisecond)
	ids, err := j.s.newIDs(now, events)
	if err != nil {
		return err
	}
	commit, size := ids[0], 0
	for i, a := range j.parts {
		if !a.named {
			a.commit = commit
		}
		n := len(parts[i].Events)
		if err := a.prepare(parts[i].Events, ids[:n], now); err != nil {
			return err
		}
		ids, size = ids[n:], size+a.size
	}
	if size > maxCommitBytes {
		return fmt.Errorf("%w: the events have %d bytes; an append can have at most %d", ErrTooLarge, size, maxCommitBytes)
	}
	if err := j.checkBoundaries(); err != nil {
		return err
	}
	if operations += j.tagOperations(); operations > maxOperations {
		return fmt.Errorf("%w: %d events with %d different tags and %d conditions need %d operations; a transaction has at most %d", ErrTooLarge, events, len(j.lists.tags), len(j.boundaries), operations, maxOperations)
	}
	return nil
}

// run retries until the append has happened, or cannot happen.
func (j *multiAppend) run(ctx context.Context) ([]Commit, error) {
	for try := 0; ; try++ {
		commits, err := j.attempt(ctx)
		if err == nil {
			return commits, nil
		}
		if final(err) || j.unsealable {
			return j.findEarlier(ctx, err)
		}
		if j.ready || errors.Is(err, errTaken) {
			if commits, outcomeErr := j.findOutcome(ctx, err); outcomeErr != nil || commits != nil {
				return commits, outcomeErr
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, errors.Join(ctx.Err(), err)
		case try == maxTries-1 && errors.Is(err, errTaken):
			return nil, ErrBusy
		case try == maxTries-1:
			return nil, err
		}
		if err := j.s.sleep(ctx, retryDelay(try)); err != nil {
			return nil, err
		}
	}
}

// attempt tries once. Versions are determined again only if another append is known to have
// happened. While the outcome of an attempt is unknown, and it may still happen, the next attempt
// uses the same versions, so that at most one of them succeeds.
func (j *multiAppend) attempt(ctx context.Context) ([]Commit, error) {
	if !j.ready {
		if err := j.start(ctx); err != nil {
			return nil, err
		}
		j.ready = true
	}
	if j.s.t.Now().Sub(j.sealed) >= sealedFor { // the rules may have changed since
		if err := j.seal(ctx); err != nil {
			return nil, err
		}
	}
	err := j.write(ctx)
	if errors.Is(err, errTaken) {
		j.ready = false
	}
	for _, a := range j.streams() {
		if err == nil {
			a.s.tips.Add(a.id, a.next)
		} else {
			a.s.tips.Remove(a.id)
		}
	}
	if err != nil {
		return nil, err
	}
	return j.commits(), nil
}

// errTaken means that another append was faster, or that this append happened before.
var errTaken = errors.New("eventstore: another append was first")

// final reports whether a failed append will always fail.
func final(err error) bool {
	if failed := (*includeError)(nil); errors.As(err, &failed) || errors.Is(err, ErrIncluded) {
		return true
	}
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrReserved) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrHole) || errors.Is(err, ErrQueryConflict)
}

// start determines the versions of all parts, even if one of them is not as expected.
func (j *multiAppend) start(ctx context.Context) (taken error) {
	for _, a := range j.streams() {
		switch err := a.start(ctx); {
		case errors.Is(err, errTaken):
			taken = err
		case err != nil:
			return err
		}
	}
	if taken != nil {
		return taken
	}
	if j.group != nil {
		if err := j.startGroup(ctx); err != nil {
			return err
		}
	}
	return j.meet(ctx)
}

func (j *multiAppend) commits() []Commit {
	commits := make([]Commit, len(j.parts))
	for i, a := range j.parts {
		commits[i] = a.result()
	}
	return commits
}

// findEarlier checks whether an append that cannot happen now had already happened, for example before
// the stream was closed.
func (j *multiAppend) findEarlier(ctx context.Context, why error) ([]Commit, error) {
	commits := make([]Commit, len(j.parts))
	for i, a := range j.parts {
		c, err := a.findMark(ctx)
		if err != nil && !errors.Is(err, errIncomparable) {
			return nil, errors.Join(why, err)
		}
		if c.Version == 0 {
			return nil, why
		}
		commits[i] = c
	}
	return commits, nil
}

// findOutcome determines the outcome of a failed append. It returns the commits if the append happened
// after all, an error if something is in its way, or neither if it may be retried. If it happens
// while the parts are examined, the second round finds the parts that the first missed.
func (j *multiAppend) findOutcome(ctx context.Context, why error) ([]Commit, error) {
	if j.group != nil {
		return j.findGroup(ctx, why)
	}
	commits, found := make([]Commit, len(j.parts)), 0
	for range 2 {
		for i, a := range j.parts {
			if commits[i].Version > 0 {
				continue
			}
			c, err := a.findOutcome(ctx, why)
			if err != nil {
				return nil, err
			}
			if c.Version > 0 {
				commits[i] = c
				found++
			}
		}
		if found == 0 {
			return nil, nil
		}
	}
	if found < len(j.parts) {
		return nil, fmt.Errorf("%w: %q, an append to other aggregates", ErrCommitReused, j.parts[0].commit)
	}
	return commits, nil
}

// write appends at the versions, once. The error is errTaken if a stream has another version, a
// final error, or an error of the store, after which the outcome is unknown.
func (j *multiAppend) write(ctx context.Context) error {
	streams := j.streams()
	packs, bytes, err := j.pack()
	if err != nil {
		return err
	}
	if j.s.o.PutMode {
		return streams[0].put(ctx, &packs[0])
	}
	if bytes > closeBytes {
		if err := j.closeFirst(ctx, packs); err != nil {
			return err
		}
	}
	tx := table.NewTx(j.s.t, "")
	begins := make([]int, len(streams)) // index of the first operation for each stream
	for i, a := range streams {
		begins[i] = tx.Len()
		if err := a.addTo(tx, &packs[i]); err != nil {
			return err
		}
	}
	if j.group != nil {
		for _, a := range j.parts {
			a.addMark(tx)
		}
	}
	FeedEntries.TxPut(tx, j.entry(packs))
	tags := tx.Len()
	j.addTags(tx, packs)
	included := tx.Len()
	if err := j.include(tx); err != nil {
		return err
	}
	return j.explain(ctx, tx.Commit(ctx), begins, tags, included)
}

// streams returns the appends to streams: one to each aggregate.
func (j *multiAppend) streams() []*appending {
	if j.group != nil {
		return []*appending{j.group}
	}
	return j.parts
}

// pack encodes the events, with their numbers, for each stream, and returns their approximate size.
func (j *multiAppend) pack() (packs []pack, bytes int, err error) {
	if j.group != nil {
		return []pack{j.packGroup()}, j.group.size + j.group.at.bytes, nil
	}
	packs = make([]pack, len(j.parts))
	for i, a := range j.parts {
		a.number()
		if packs[i], err = a.pack(); err != nil {
			return nil, 0, err
		}
		bytes += a.size + a.at.bytes
	}
	return packs, bytes, nil
}

// page returns the first event of the page that has the first event of a part.
func (j *multiAppend) page(packs []pack, part int) int64 {
	if j.group != nil {
		part = 0
	}
	return packs[part].page()
}

// closeFirst writes closed pages before a transaction that would be too large with them.
func (j *multiAppend) closeFirst(ctx context.Context, packs []pack) error {
	for i := range packs {
		if p := packs[i].closed; p != nil {
			if err := j.s.closePage(ctx, p); err != nil {
				return err
			}
			packs[i].written = true
		}
	}
	return nil
}

// entry returns the append's entry for the feed.
func (j *multiAppend) entry(packs []pack) *FeedEntry {
	first := &j.parts[0].events[0]
	e := &FeedEntry{FeedEntryKey: FeedEntryKey{first.EventID}, Expires: first.RecordedAt.Add(keepEntry)}
	for i, a := range j.parts {
		e.Parts = append(e.Parts, FeedPart{ID: a.id, First: a.at.version + 1, N: len(a.events), Types: a.types(), Page: j.page(packs, i)})
	}
	return e
}

// explain interprets a failed transaction by its reasons, so that throttling is not mistaken for a
// conflict. The operations of tags begin at index tags, included ones at index included.
func (j *multiAppend) explain(ctx context.Context, err error, begins []int, tags, included int) error {
	if err == nil {
		return nil
	}
	if tooLarge(err) {
		return tooLargeError(err)
	}
	blamed := (*table.TxError)(nil)
	if !errors.As(err, &blamed) || errors.Is(err, table.ErrConflict) || errors.Is(err, table.ErrThrottled) {
		return err
	}
	switch {
	case blamed.Index >= included && refused(err):
		return fmt.Errorf("%w: %w", ErrIncluded, err)
	case blamed.Index >= included:
		return err
	case blamed.Index >= tags:
		return errTaken
	}
	at := 0
	for at+1 < len(begins) && begins[at+1] <= blamed.Index {
		at++
	}
	return j.streams()[at].explain(ctx, err, blamed, blamed.Index-begins[at])
}
