package main

import (
	"context"
	"errors"
	"strings"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
)

// Registered is the event of a member. Name and e-mail address are encrypted with a key of the member,
// which erasing the member deletes.
type Registered struct {
	Member string `personal:"subject"`
	Name   string `personal:"yes"`
	Email  string `personal:"yes"`
}

// Member is the state of a member.
type Member struct{ Name string }

// Register is the command.
type Register struct{ Member, Name, Email string }

// ErrMember is the error of a second registration.
var ErrMember = errors.New("the member is registered")

// members returns the decider of members.
func members(s *eventstore.Store, r *registry.Registry) *registry.Decider[Member, Register] {
	return &registry.Decider[Member, Register]{
		Store: s, Registry: r, Type: "member",
		Decide: func(m Member, c Register) ([]any, error) {
			if m.Name != "" {
				return nil, ErrMember
			}
			return []any{Registered(c)}, nil
		},
		Fold: registry.Fold(r, 1, registry.On(func(_ Member, e Registered) (Member, error) { return Member{e.Name}, nil })),
	}
}

// Register registers a member, if no other member has the e-mail address. Erasing the member releases
// it. Errors: ErrMember; eventstore.ErrReserved if the address is taken.
func (l *Library) Register(ctx context.Context, c Register) error {
	address := strings.ToLower(strings.TrimSpace(c.Email))
	_, err := l.Members.Handle(ctx, c.Member, c, eventstore.ReserveFor(c.Member, "email", address))
	return err
}

// Forget erases a member: name and address become unreadable in the events. Errors: table.ErrNotFound.
func (l *Library) Forget(ctx context.Context, member string) error {
	_, err := l.app.Keys.Erase(ctx, member)
	return err
}
