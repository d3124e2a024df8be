package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/eventstore/subscription"
)

// Errors of this package.
var (
	// ErrDefinition is returned for an invalid definition.
	ErrDefinition = errors.New("process: invalid definition")
	// ErrReaction is the error of a reaction with invalid commands, deadlines or keys. Its event is
	// parked.
	ErrReaction = errors.New("process: invalid reaction")
	// ErrChain is the error of an instance whose commands are refused, and whose reactions are
	// refused again, more than 10 times.
	ErrChain = errors.New("process: too many refusals follow from each other")
)

// Definition defines a process. S is the state of an instance; it must survive being encoded as JSON.
type Definition[S any] struct {
	Name string // 1 to 40 bytes without '#' and '/'
	// Registry has the types of events and commands. Events of other types are ignored.
	Registry *registry.Registry
	// Only filters the events; default all.
	Only []eventstore.FeedOption
	// Partitions is the number of events that can be handled at the same time, 1 to 64; default 1.
	// Events of different aggregates may reach an instance in another order than that of the feed.
	// It cannot be changed while the process exists.
	Partitions int
	// Key returns the ID of the instance that an event belongs to, or "" if it concerns none.
	Key func(m *Message) string
	// React decides what follows from a message. It must depend on nothing but its arguments, and
	// have no side effects, because it runs again after a conflict. An instance begins with the zero
	// S, and exists once a reaction has changed or done something. Errors are retried.
	React func(state S, m *Message) (S, Reaction, error)
	// Handle handles a command of a reaction. It must pass the options to one append, and ctx, which has
	// the envelope (see registry.Within), as registry.Decider.Handle does. The options are the commit ID,
	// and the condition that the command was not refused before, which is one of the hundred operations
	// of the append. The append must be to the table of the process. If Handle returns Refused, it is
	// called once more, and the process reacts to the refusal. Other errors are retried.
	Handle func(ctx context.Context, command any, options ...eventstore.AppendOption) error
}

// Message is what an instance reacts to: an event, a deadline, or the refusal of a command.
type Message struct {
	Event    *eventstore.FeedEvent // nil for a deadline or a refusal
	Data     any                   // the event's payload, or the refused command, as a registered type
	Deadline string                // the name of the deadline; "": none
	Refused  string                // why the command was refused; "": it is not a refusal
	At       time.Time             // when the event was recorded, the deadline was due, or the refused command was decided

	reaction int64 // of a deadline: the reaction that set it
}

// Reaction is what follows from a message.
type Reaction struct {
	Commands []any      // of registered types, handled in order
	Set      []Deadline // an instance has one deadline of a name; a later one replaces it
	Cancel   []string   // names of deadlines
	End      bool       // the instance ends: it reacts to nothing any more
}

// Deadline is a message to the instance itself at a time.
type Deadline struct {
	Name string // 1 to 24 bytes without '#'
	At   time.Time
}

// Refused marks the error of a command as a refusal by its aggregate. The instance reacts to it. The
// first 500 bytes of the error's text are stored permanently, and not encrypted, so the text must not
// have personal data.
func Refused(err error) error { return &refused{err} }

type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

// Manager runs a process. It is safe for concurrent use.
type Manager[S any] struct {
	s    *eventstore.Store
	def  Definition[S]
	o    subscription.Options
	fold eventstore.Fold[instance]
	subs *subscription.Subscription
}

const (
	maxName     = 40
	maxDeadline = 24
	maxCached   = 10_000 // instances whose states are kept in memory
)

// New returns the manager of a process. Options are those of its subscription; events that fail are
// parked there. Errors: ErrDefinition.
func New[S any](s *eventstore.Store, d Definition[S], o subscription.Options) (*Manager[S], error) {
	switch {
	case d.Name == "" || len(d.Name) > maxName || strings.ContainsAny(d.Name, "#/"):
		return nil, fmt.Errorf("%w: name %q: use 1 to %d bytes without # and /", ErrDefinition, d.Name, maxName)
	case d.Registry == nil || d.Key == nil || d.React == nil || d.Handle == nil:
		return nil, fmt.Errorf("%w: %s: set Registry, Key, React and Handle", ErrDefinition, d.Name)
	}
	m := &Manager[S]{s: s, def: d, o: o}
	m.fold = eventstore.Fold[instance]{Apply: applyReaction, Cache: eventstore.NewCache[instance](maxCached)}
	var err error
	m.subs, err = subscription.New(s, subscription.Definition{
		Name: "process." + d.Name, Only: d.Only, Partitions: d.Partitions, Handle: subscription.Each(m.handle),
	}, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDefinition, err)
	}
	return m, nil
}

// Run reacts to events and deadlines until ctx ends, and then returns nil. Several processes of the
// operating system may run it. Errors: those of subscription.Subscription.Run.
func (m *Manager[S]) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := m.subs.Run(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		return errors.New("process: the subscription has ended")
	})
	g.Go(func() error { return m.watchDeadlines(ctx) })
	err := g.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// State returns the state of an instance; ok is false if it has not begun. ended is true after a
// Reaction with End.
func (m *Manager[S]) State(ctx context.Context, key string) (state S, ended, ok bool, err error) {
	at, err := eventstore.Load(ctx, m.s, m.id(key), m.fold)
	if err == nil {
		state, err = stateOf[S](&at.State)
	}
	return state, at.State.Ended, at.Version > 0, err
}

func (m *Manager[S]) logger() *slog.Logger { return cmp.Or(m.o.Logger, slog.Default()) }

// id returns the stream of an instance.
func (m *Manager[S]) id(key string) eventstore.ID {
	return eventstore.ID{Type: m.streamType(), ID: key}
}

func (m *Manager[S]) streamType() string { return "process." + m.def.Name }
