package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// DueKey names a deadline by time.
type DueKey struct {
	Process  string `dynamodbav:"process"`
	At       int64  `dynamodbav:"at"` // epoch milliseconds
	Instance string `dynamodbav:"instance"`
	Deadline string `dynamodbav:"deadline"`
	Reaction int64  `dynamodbav:"reaction"` // number of the reaction that set it
}

// Due is a deadline of an instance. A deadline that was cancelled, or replaced by a later reaction,
// is deleted when it is due.
type Due struct {
	DueKey
	Failures int       `dynamodbav:"failures,omitempty"` // failed attempts to react to it
	Error    string    `dynamodbav:"error,omitempty"`    // of the last attempt, at most 500 bytes
	NextAt   time.Time `dynamodbav:"nextAt,omitempty"`   // of the next attempt after a failed one
}

// Dues holds the deadlines.
var Dues = table.Define[Due, DueKey]("eventstore.due", table.Def[Due]{
	PK: "PROCESS#{process}", SK: "DUE#{at:015}#{instance}#{deadline}#{reaction:012}",
	Example: func(d *Due) {
		d.Process, d.At, d.Instance, d.Deadline, d.Reaction, d.Failures, d.Error = "holds", 1_780_000_000_000, "copy-1", "expires", 1, 0, ""
	},
	Doc: "A deadline of a process, by time.",
})

// DueIn selects the deadlines of a process before a time.
type DueIn struct {
	Process string `dynamodbav:"process"`
	To      int64  `dynamodbav:"to"`
}

// DueBefore queries the deadlines of a process, by time.
var DueBefore = table.NewQuery(Dues, table.QueryDef[DueIn]{
	ID: "M1", Question: "the deadlines of a process that are due", From: "DUE#", To: "DUE#{to:015}",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 150},
})

// Schema holds what processes store. Add it to the schema of the table, with subscription.Schema.
var Schema = table.MustSchema("eventstore.processes", Dues, DueBefore, Refusals, RefusalOf)

// setDeadlines stores the deadlines of a reaction. It may be repeated.
func (m *Manager[S]) setDeadlines(ctx context.Context, key string, reaction int64, all []Deadline) error {
	for _, d := range all {
		due := Due{DueKey: DueKey{m.def.Name, d.At.UnixMilli(), key, d.Name, reaction}}
		if err := Dues.Put(ctx, m.s.Table(), &due); err != nil {
			return fmt.Errorf("process %s: deadline %q of %q: %w", m.def.Name, d.Name, key, err)
		}
	}
	return nil
}

const (
	lookForDue = time.Second // how often due deadlines are looked for
	dueAtOnce  = 100
)

// watchDeadlines reacts to deadlines, in one process of the operating system at a time.
func (m *Manager[S]) watchDeadlines(ctx context.Context) error {
	sleep := m.o.Sleep
	if sleep == nil {
		sleep = backoff.For
	}
	return lease.RunShared(ctx, m.s.Table(), "process/"+m.def.Name, 1, m.o.Lease, func(ctx context.Context, _ int) error {
		for {
			more, err := m.meetDeadlines(ctx)
			if err != nil && ctx.Err() == nil {
				m.logger().Warn("process: cannot read or react to deadlines; retrying", "process", m.def.Name, "err", err)
			}
			if !more || err != nil {
				if err := sleep(ctx, lookForDue); err != nil {
					return err
				}
			}
		}
	})
}

// meetDeadlines reacts to the deadlines that are due. more reports whether there may be more.
func (m *Manager[S]) meetDeadlines(ctx context.Context) (more bool, err error) {
	now := m.s.Table().Now()
	n := 0
	for d, err := range DueBefore.All(ctx, m.s.Table(), DueIn{m.def.Name, now.UnixMilli() + 1}) {
		if err != nil {
			return false, err
		}
		if d.NextAt.After(now) {
			continue
		}
		if n++; n > dueAtOnce {
			break
		}
		if err := m.meet(ctx, &d); err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			m.logger().Warn("process: cannot react to a deadline; retrying", "process", m.def.Name, "deadline", d.Deadline, "failures", d.Failures+1, "err", err)
			if err := m.postpone(ctx, &d, err); err != nil {
				return false, err
			}
		}
	}
	return n > dueAtOnce, nil
}

// meet reacts to a deadline, and deletes it after everything that follows is done.
func (m *Manager[S]) meet(ctx context.Context, d *Due) error {
	at, err := eventstore.Load(ctx, m.s, m.id(d.Instance), m.fold)
	if err != nil {
		return err
	}
	commit := fmt.Sprintf("due.%d.%s", d.Reaction, d.Deadline)
	open := at.State.Deadlines[d.Deadline] == d.Reaction
	if !open {
		// It may have been met by a process that did not live to delete it: then what follows has to
		// be done again. Otherwise it was cancelled.
		if open, err = m.reacted(ctx, d.Instance, commit); err != nil {
			return err
		}
	}
	if open {
		reaction := &at.State.reaction
		cause := eventstore.Envelope{Correlation: cmp.Or(reaction.Correlation, reaction.EventID), Causation: reaction.EventID, Actor: reaction.Actor, Tenant: reaction.Tenant}
		if err := m.follow(ctx, d.Instance, &Message{Deadline: d.Deadline, At: time.UnixMilli(d.At).UTC(), reaction: d.Reaction}, commit, cause); err != nil {
			return err
		}
	}
	return Dues.Delete(ctx, m.s.Table(), d.DueKey)
}

// reacted reports whether an instance has a reaction with a commit ID.
func (m *Manager[S]) reacted(ctx context.Context, key, commit string) (bool, error) {
	_, err := eventstore.MarkByID.Get(ctx, m.s.Table(), eventstore.MarkKey{ID: m.id(key), CommitID: commit})
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// postpone records that a deadline could not be met.
func (m *Manager[S]) postpone(ctx context.Context, d *Due, failed error) error {
	d.Failures++
	d.Error = subscription.Reason(failed)
	d.NextAt = m.s.Table().Now().UTC().Add(backoff.Delay(d.Failures, time.Second, time.Minute))
	err := Dues.Put(ctx, m.s.Table(), d, table.Present())
	if errors.Is(err, table.ErrCondition) {
		return nil
	}
	return err
}
