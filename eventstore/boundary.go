package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A dynamic consistency boundary is the condition of an append that no event which matches a query
// came after the events that a decision was based on. It replaces the version of one aggregate where
// a rule is about several, such as the places of a course and the courses of a student.
// https://dcb.events/specification/

// ErrQueryConflict is returned when events that match the query of an Unless came after its
// position. The error is a *QueryConflict.
var ErrQueryConflict = errors.New("eventstore: events that match the query were appended in the meantime")

// QueryConflict has what a decision did not know.
type QueryConflict struct {
	Since Matched // events after the position, at most 1,000 of them, and the position after all
}

func (c *QueryConflict) Error() string {
	return fmt.Sprintf("%v: %d or more", ErrQueryConflict, len(c.Since.Events))
}

// Unwrap returns ErrQueryConflict.
func (c *QueryConflict) Unwrap() error { return ErrQueryConflict }

// boundary is the condition of an append.
type boundary struct {
	query Query
	after QueryPosition
}

// Unless makes an append conditional: it is refused with a *QueryConflict if an event that matches
// the query came after the position, which is that of Query. The zero position stands for no event
// at all. It takes at most one operation for each item of the query.
func Unless(q Query, after QueryPosition) AppendOption {
	b := &boundary{q, after} // shared by the parts of an append, and perhaps by several appends: read-only
	return func(a *appending) { a.boundaries = append(a.boundaries, b) }
}

// checkBoundaries collects the tags and conditions of the parts, and validates the conditions.
func (j *multiAppend) checkBoundaries() error {
	var all []*boundary
	for _, a := range j.parts {
		for _, b := range a.boundaries {
			if slices.Contains(all, b) {
				continue
			}
			if err := b.query.check(); err != nil {
				return err
			}
			if err := b.after.check(b.query); err != nil {
				return err
			}
			all = append(all, b)
			j.boundaries = append(j.boundaries, *b)
		}
	}
	j.lists.tags = j.tagsOf()
	if j.s.o.PutMode && len(j.lists.tags)+len(j.boundaries) > 0 {
		return fmt.Errorf("%w: there are no tags in put mode", ErrInvalid)
	}
	return nil
}

// meet reads the heads of the tags' lists, and checks the conditions as of now. The transaction is
// conditional on these heads. Errors: *QueryConflict, those of the store.
func (j *multiAppend) meet(ctx context.Context) (err error) {
	tags := slices.Clone(j.lists.tags)
	for i := range j.boundaries {
		tags = append(tags, j.boundaries[i].query.tags(j.boundaries[i].after)...)
	}
	if len(tags) == 0 {
		return nil
	}
	slices.Sort(tags)
	if j.lists.heads, err = j.s.tagHeads(ctx, slices.Compact(tags)); err != nil {
		return err
	}
	var guards []string
	for i := range j.boundaries {
		b := &j.boundaries[i]
		if err := b.meet(ctx, j.s, j.lists.heads); err != nil {
			return err
		}
		for _, at := range b.after.at {
			if !slices.Contains(j.lists.tags, at.Tag) {
				guards = append(guards, at.Tag)
			}
		}
	}
	slices.Sort(guards)
	j.lists.guards = slices.Compact(guards)
	return nil
}

// meet checks the condition against heads, and advances its position to them.
func (b *boundary) meet(ctx context.Context, s *Store, heads map[string]*TagHead) error {
	b.after = b.after.in(b.query, heads)
	lists, any := make([][]TaggedEvent, len(b.query)), false
	next := QueryPosition{slices.Clone(b.after.at)}
	for i, item := range b.query {
		head := heads[b.after.at[i].Tag]
		found, err := s.matching(ctx, item, b.after.at[i], head)
		if err != nil {
			return err
		}
		any = any || len(found) > 0
		lists[i], next.at[i].N = found, head.N
	}
	if !any {
		b.after = next
		return nil
	}
	events, err := s.merged(ctx, lists)
	if err != nil {
		return err
	}
	return &QueryConflict{Matched{Events: events[:min(len(events), maxSince)], Position: next}}
}

// QueryState is a state over the events of a query.
type QueryState[S any] struct {
	State    S
	Position QueryPosition // after the events in State

	commit string // the caller's commit ID; "": none
	done   bool   // an event in State has it
}

// LoadQuery folds the events of a query into a state. Errors: those of Query and Fold.Apply.
func LoadQuery[S any](ctx context.Context, s *Store, q Query, f Fold[S]) (QueryState[S], error) {
	return QueryState[S]{}.catchUp(ctx, s, q, f)
}

// catchUp applies the events after the position.
func (l QueryState[S]) catchUp(ctx context.Context, s *Store, q Query, f Fold[S]) (QueryState[S], error) {
	m, err := s.QueryAfter(ctx, q, l.Position)
	for i := 0; i < len(m.Events) && err == nil; i++ {
		e := &m.Events[i]
		if l.State, err = f.Apply(l.State, *e); err != nil {
			err = fmt.Errorf("eventstore: apply event %d (%s) of %s: %w", e.Seq, e.EventType, e.ID, err)
		}
		l.done = l.done || l.commit != "" && e.CommitID == l.commit
	}
	if err == nil {
		l.Position = m.Position
	}
	return l, err
}

// TransactQuery is Transact for a decision over the events of a query instead of one aggregate. The
// events that decide returns are appended to their aggregates if nothing that matches the query was
// appended in the meantime; otherwise it decides again. They need the tags of the query to be found
// by it. It returns the state after the append. With a CommitID, a repeated command whose events
// match the query returns the current state. Calls of one Store for the same tags take turns. Errors:
// those of decide unchanged, ErrBusy, those of LoadQuery and AppendAll.
func TransactQuery[S any](ctx context.Context, s *Store, q Query, f Fold[S], decide func(S) ([]AppendTo, error), options ...AppendOption) (QueryState[S], error) {
	if err := q.check(); err != nil {
		return QueryState[S]{}, fmt.Errorf("eventstore: query: %w", err)
	}
	for _, tag := range q.tags(QueryPosition{}) { // sorted, so that no two calls wait for each other
		leave, err := s.turns.enter(ctx, ID{Type: "#tag", ID: tag})
		if err != nil {
			return QueryState[S]{}, err
		}
		defer leave()
	}
	at, err := QueryState[S]{commit: commitOf(options)}.catchUp(ctx, s, q, f)
	for try := 0; err == nil && !at.done; try++ {
		var parts []AppendTo
		if parts, err = decide(at.State); err != nil || len(parts) == 0 {
			return at, err
		}
		_, err = s.AppendAll(ctx, parts, append(slices.Clip(options), asCommand, Unless(q, at.Position))...)
		conflict := (*QueryConflict)(nil)
		switch {
		case err == nil:
			return at.catchUp(ctx, s, q, f)
		case !errors.As(err, &conflict):
			return at, err
		case try == maxTries-1:
			return at, fmt.Errorf("%w: %d conflicts on a query", ErrBusy, try+1)
		}
		if err = s.sleep(ctx, retryDelay(min(try, 4))); err == nil {
			at, err = at.catchUp(ctx, s, q, f)
		}
	}
	return at, err
}

// commitOf returns the commit ID in options; "": none.
func commitOf(options []AppendOption) string {
	a := &appending{}
	for _, o := range options {
		o(a)
	}
	return a.commit
}
