package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A group is the appends of several commands on one aggregate, decided one after the other. Each is
// an append of its own, with a record, a mark and a position in the feed, but all are in one write of
// the head. So the commands of a busy aggregate do not wait for a write each.

// Limits of a group.
const (
	groupCommands = 32
	groupBytes    = 64 << 10
	groupTries    = 3 // attempts to decide a group, before its commands are handled one by one
)

// errAlone means that a command cannot be in a group.
var errAlone = errors.New("eventstore: the command is handled by itself")

// newGroup begins a group of commands on an aggregate with a version.
func (s *Store) newGroup(id ID, version int64) *multiAppend {
	return &multiAppend{s: s, group: &appending{s: s, id: id, expected: Exact(version), chained: s.o.Chain}}
}

// groupable reports whether a command with these options can be in a group: it has no operations on
// other items.
func groupable(options []AppendOption) bool {
	a := new(appending)
	for _, o := range options {
		o(a)
	}
	return len(a.claims)+len(a.boundaries)+len(a.includes) == 0
}

// join adds the append of a command to the group, and returns its events as they will be read. Errors:
// errAlone, those of invalid events.
func (j *multiAppend) join(events []NewEvent, options []AppendOption) ([]Event, error) {
	whole := j.group
	a := &appending{s: j.s, id: whole.id, expected: Exact(whole.expected.version + int64(len(whole.events))), chained: whole.chained, parts: 1}
	for _, o := range append(slices.Clip(options), asCommand) {
		o(a)
	}
	if a.operations(len(events)) >= maxOperations || a.named && slices.ContainsFunc(j.parts, func(b *appending) bool { return b.commit == a.commit }) {
		return nil, errAlone
	}
	if err := a.check(events); err != nil {
		return nil, err
	}
	now := j.s.t.Now().UTC().Truncate(time.Millisecond)
	ids, err := j.s.newIDs(now, len(events))
	if err != nil {
		return nil, err
	}
	if !a.named {
		a.commit = ids[0]
	}
	if err := a.prepare(events, ids, now); err != nil {
		return nil, err
	}
	return j.admit(a)
}

// admit adds the append of a command, if there is room for it.
func (j *multiAppend) admit(a *appending) ([]Event, error) {
	const forStream = 4 // operations: head, closed page, entry in the list of aggregates, entry for the feed
	whole, tagged := j.group, j.lists.tags
	j.parts = append(j.parts, a)
	j.lists.tags = j.tagsOf()
	room := forStream+len(j.parts)+j.tagOperations() <= maxOperations && (len(j.parts) == 1 || whole.size+a.size <= groupBytes) && a.size <= groupBytes
	if !room || j.s.o.PutMode && len(j.lists.tags) > 0 {
		j.parts, j.lists.tags = j.parts[:len(j.parts)-1], tagged
		return nil, errAlone
	}
	for i := range a.events {
		a.events[i].Seq = a.expected.version + int64(i) + 1
	}
	whole.events, whole.size = append(whole.events, a.events...), whole.size+a.size
	return NewRecord(a.events, RecordInfo{}).decode(a.id, nil)
}

// commit appends the group. If certain is set, an error means that nothing of it happened.
func (j *multiAppend) commit(ctx context.Context) (certain bool, err error) {
	if err := j.s.agreeOnMode(ctx); err != nil {
		return true, err
	}
	if err := j.seal(ctx); err != nil {
		return true, err
	}
	commits, err := j.run(ctx)
	if err == nil {
		for i, a := range j.parts {
			if commits[i].First != a.at.version+1 {
				err = errAlone // the commands happened earlier
			}
		}
	}
	conflict := (*Conflict)(nil)
	certain = final(err) || j.unsealable || errors.Is(err, errAlone) || errors.Is(err, ErrBusy) || errors.As(err, &conflict)
	if err != nil {
		err = fmt.Errorf("eventstore: append to %s: %w", shorten(j.group.id.String()), err)
	}
	return certain, err
}

// startGroup checks in put mode that no command has happened, because no mark prevents it.
func (j *multiAppend) startGroup(ctx context.Context) error {
	if !j.s.o.PutMode || !slices.ContainsFunc(j.parts, func(a *appending) bool { return a.named }) {
		return nil
	}
	for _, a := range j.parts {
		c, err := a.findMark(ctx)
		if err != nil {
			return err
		}
		if c.Version > 0 {
			return errTaken
		}
	}
	return nil
}

// packGroup numbers the events, and encodes those of each command as a record.
func (j *multiAppend) packGroup() pack {
	whole, at := j.group, j.group.at
	whole.events = whole.events[:0]
	var p pack
	for _, a := range j.parts {
		a.at, a.chained = at, whole.chained
		a.number()
		whole.events = append(whole.events, a.events...)
		p.records = append(p.records, NewRecord(a.events, a.recordInfo()))
		at.version, at.hash = at.version+int64(len(a.events)), a.lastHash()
	}
	p.first = whole.events[0].Seq
	whole.turnPage(&p)
	return p
}

// findGroup determines the outcome of a failed group, as findOutcome. If only some of the commands
// have happened, they did so before, and the error is errAlone. The second round is for a group that
// happened while the first one looked.
func (j *multiAppend) findGroup(ctx context.Context, why error) ([]Commit, error) {
	commits, found := make([]Commit, len(j.parts)), 0
	conflict := &Conflict{ID: j.group.id, Expected: j.group.expected}
	for range 2 {
		conflict.Since = nil
		if _, err := j.group.readSince(ctx, conflict); err != nil {
			return nil, errors.Join(err, why)
		}
		for i, a := range j.parts {
			if commits[i].Version > 0 {
				continue
			}
			c, err := a.findMark(ctx)
			if err != nil {
				return nil, errors.Join(err, why)
			}
			if at := slices.IndexFunc(conflict.Since, func(e Event) bool { return e.CommitID == a.commit }); !a.named && at >= 0 {
				c = Commit{CommitID: a.commit, First: conflict.Since[at].Seq, Version: conflict.Since[at].Seq + int64(len(a.events)) - 1}
			}
			if c.Version > 0 {
				commits[i] = c
				found++
			}
		}
		if found == 0 {
			break
		}
	}
	switch {
	case found == len(j.parts):
		return commits, nil
	case found > 0:
		return nil, errAlone
	}
	return nil, j.groupConflict(ctx, conflict)
}

// groupConflict returns the conflict if the stream does not have the expected version.
func (j *multiAppend) groupConflict(ctx context.Context, conflict *Conflict) error {
	if len(conflict.Since) == 0 {
		if err := j.group.readActual(ctx, conflict); err != nil {
			return err
		}
	}
	if !j.group.expected.meets(conflict.Actual) {
		return conflict
	}
	return nil
}
