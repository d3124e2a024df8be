package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/table"
)

// Two processes of the operating system may handle one command at the same time: one of them was
// paused for longer than its lease. The commit ID of the command gives it one effect, but does not
// make them agree on a refusal, because the aggregate may change between their decisions.
//
// So a refusal is recorded before the instance reacts to it, and each append of a command is on
// condition that there is no such record. Then the command is handled again. If it was appended before
// the record, its commit ID is found, and it is accepted. Otherwise it can never be appended.

// RefusalKey names a command by its commit ID.
type RefusalKey struct {
	Command string `dynamodbav:"command"`
}

// Refusal records that a command was refused.
type Refusal struct {
	RefusalKey
	Process string `dynamodbav:"process"`
	Reason  string `dynamodbav:"reason"` // at most 500 bytes
}

// Refusals holds the refusals.
var Refusals = table.Define[Refusal, RefusalKey]("eventstore.refusal", table.Def[Refusal]{
	PK: "REFUSAL#{command}", SK: "REFUSED",
	Example: func(r *Refusal) {
		r.Command, r.Process, r.Reason = "01J8ZK7Q4W3M5N6P7R8S9TAVBX.0", "transfers", "the account is closed"
	},
	Doc: "A command of a process that its aggregate has refused, and that can no longer be appended.",
})

// RefusalOf reads the refusal of a command.
var RefusalOf = table.NewGet[RefusalKey](Refusals, table.GetDef{
	ID: "M2", Question: "the refusal of a command", Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 150},
})

// unlessRefused is a condition on the append of a command: there is no record of its refusal. If there
// is one, the append fails with eventstore.ErrIncluded.
func unlessRefused(command string) eventstore.AppendOption {
	return eventstore.Include(func(tx *table.Tx, _ []eventstore.Event) error {
		Refusals.TxCheck(tx, RefusalKey{command}, table.Absent())
		return nil
	})
}

// command handles a command with a commit ID. reason is why it was refused for good, "" if it was
// not. Errors: those of Definition.Handle.
func (m *Manager[S]) command(ctx context.Context, value any, commit string) (reason string, err error) {
	for {
		err = m.def.Handle(ctx, value, eventstore.CommitID(commit), unlessRefused(commit))
		no, isRefusal := errors.AsType[*refused](err)
		if err == nil || !isRefusal && !errors.Is(err, eventstore.ErrIncluded) {
			return "", err
		}
		stored, missing := RefusalOf.Get(ctx, m.s.Table(), RefusalKey{commit})
		switch {
		case missing == nil:
			return stored.Reason, nil
		case !errors.Is(missing, table.ErrNotFound):
			return "", missing
		case !isRefusal: // a condition that Handle added
			return "", err
		}
		r := Refusal{RefusalKey{commit}, m.def.Name, cmp.Or(subscription.Reason(no), "refused")}
		if err := Refusals.Create(ctx, m.s.Table(), &r); err != nil && !errors.Is(err, table.ErrExists) {
			return "", fmt.Errorf("store a refusal: %w", err)
		}
	}
}
