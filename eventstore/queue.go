package eventstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/onefold/onefold/internal/groupcommit"
)

// command is a call of Transact in the queue of its aggregate, whatever the type of its state.
type command interface {
	context() context.Context
	guard(step func() error) error // keeps a panic for the caller
	load(ctx context.Context, r *replay) (version int64, err error)
	apply(events []Event) error
	ask() (events []NewEvent, refused error, ok bool) // decide; ok is false if it panicked
	settings() []AppendOption
	rest(ctx context.Context, refused error) // ends a command without events
	settle()                                 // ends a command whose events are appended
	fail(err error)
	alone(ctx context.Context) error // loads, decides and appends by itself
}

// queues let the Transact calls on an aggregate within a process wait in order of arrival. Without
// them, the fastest caller would win every time, and the others would keep deciding again. Other
// processes are not waited for; versions handle these conflicts.
type queues struct {
	mu   sync.Mutex
	open map[ID]*queue
}

// queue is that of one aggregate.
type queue struct {
	*groupcommit.Group[command, struct{}]
	n int // callers; protected by queues.mu
}

// do waits until it is the command's turn, and has it handled. Errors: those of ctx, if it ends while
// the command waits.
func (q *queues) do(ctx context.Context, s *Store, id ID, c command) error {
	q.mu.Lock()
	of := q.open[id]
	if of == nil {
		if q.open == nil {
			q.open = map[ID]*queue{}
		}
		of = &queue{Group: groupcommit.New(groupCommands, 1, func(_ context.Context, commands []command) []struct{} {
			s.handle(id, commands)
			return nil
		})}
		q.open[id] = of
	}
	of.n++
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if of.n--; of.n == 0 {
			delete(q.open, id)
		}
	}()
	_, err := of.DoContext(ctx, c)
	return err
}

// handle handles commands that waited together.
func (s *Store) handle(id ID, commands []command) {
	if len(commands) == 1 {
		_ = commands[0].alone(commands[0].context()) // unguarded: a panic shows where it happened
		return
	}
	ctx, cancel := patient(commands)
	defer cancel()
	left := commands
	for try := 0; try < groupTries && len(left) > 1 && ctx.Err() == nil; try++ {
		var conflict bool
		if left, conflict = s.together(ctx, id, left); !conflict || s.sleep(ctx, retryDelay(try)) != nil {
			break
		}
	}
	for _, c := range left {
		_ = c.guard(func() error { return c.alone(c.context()) })
	}
}

// patient returns a context that ends when those of all commands have ended.
func patient(commands []command) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(commands[0].context()))
	var waiting atomic.Int64
	waiting.Store(int64(len(commands)))
	stops := make([]func() bool, len(commands))
	for i, c := range commands {
		stops[i] = context.AfterFunc(c.context(), func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// together handles commands as a group. It returns those that are left to handle, in order, and
// whether they conflicted with an append of somebody else.
func (s *Store) together(ctx context.Context, id ID, commands []command) (left []command, conflict bool) {
	d := &decisions{s: s, id: id, resting: map[command]error{}}
	for _, c := range commands {
		if !d.add(ctx, c) {
			left = append(left, c)
		}
	}
	if len(d.members) > 0 {
		certain, err := d.g.commit(ctx)
		switch {
		case err == nil:
		case certain: // nothing happened: the same commands are decided again
			return commands, errors.Is(err, ErrConflict)
		default:
			for _, c := range d.members {
				c.fail(err)
			}
			return slices.DeleteFunc(slices.Clone(commands), func(c command) bool { return slices.Contains(d.members, c) }), false
		}
	}
	for _, c := range d.members {
		c.settle()
	}
	for c, refused := range d.resting {
		c.rest(ctx, refused)
	}
	return left, false
}

// decisions are the commands of a group, decided one after the other.
type decisions struct {
	s       *Store
	id      ID
	g       *multiAppend
	read    replay            // the stream, for all
	pending []Event           // of the members
	members []command         // that append events
	resting map[command]error // that append nothing, if the members do append
}

// add decides on a command. It returns false if the command must be handled later, by itself: nobody
// is told of a panic either before the decisions that it may be based on are stored.
func (d *decisions) add(ctx context.Context, c command) bool {
	if !groupable(c.settings()) {
		return false
	}
	version, err := c.load(ctx, &d.read)
	if err != nil {
		return false
	}
	if d.g == nil {
		d.g = d.s.newGroup(d.id, version)
	}
	if version != d.g.group.expected.version || c.apply(d.pending) != nil {
		return false
	}
	events, refused, ok := c.ask()
	switch {
	case !ok:
		return false
	case refused != nil || len(events) == 0:
		d.resting[c] = refused
		return true
	}
	own, err := d.g.join(events, c.settings())
	if err != nil {
		return false
	}
	if err := c.apply(own); err != nil {
		c.fail(err)
	}
	d.pending, d.members = append(d.pending, own...), append(d.members, c)
	return true
}
