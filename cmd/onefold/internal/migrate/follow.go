package migrate

import (
	"context"
	"time"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
)

// farBehind is how old changes are when following is not any more caught up.
const farBehind = 10 * time.Second

// quiet is how long to wait when nothing came.
const quiet = 200 * time.Millisecond

// refusedFor is how long to wait when a stream refuses to be read.
const refusedFor = time.Second

// applyAll brings changes of the source to the target: of each key the last. What was applied before a crash is applied again, and
// again in order, so that each key ends as it is in the source.
func (m *Move) applyAll(ctx context.Context, changes []fold.Change) error {
	last := make(map[string]int, len(changes))
	var todo []change
	for i := range changes {
		c := &changes[i]
		it := c.New
		if it == nil {
			it = c.Old
		}
		if !copied(it) {
			continue
		}
		next := change{key: keyOf(it)}
		if c.New != nil {
			next.item = unmarked(c.New)
		}
		if at, ok := last[id(it)]; ok {
			todo[at] = next
			continue
		}
		last[id(it)] = len(todo)
		todo = append(todo, next)
	}
	return m.write.apply(ctx, todo)
}

// Follow applies what changes in the source, until all is applied that the stream had when Follow began and caughtUp, which is then called,
// says that this is enough, or ctx ends. Errors: ErrTrimmed, ErrTakenOver.
func (m *Move) Follow(ctx context.Context, caughtUp func() (enough bool)) error {
	caught := false
	m.source.ask()
	return m.keeping(ctx, func(ctx context.Context) error {
		for {
			read, tip, err := m.patient(ctx, m.source)
			if err != nil {
				return err
			}
			if _, _, err := m.patient(ctx, m.own); err != nil { // so that its end is never far
				return err
			}
			phase := string(migration.Following)
			if caught = (caught || tip) && m.source.behind < farBehind; caught {
				phase = "caught_up"
			}
			m.mu.Lock()
			m.o.Progress(Progress{Phase: phase, Items: max(m.state.Items, 0), Behind: m.source.behind.Seconds()})
			m.mu.Unlock()
			if tip && caughtUp() {
				return nil
			}
			if read == 0 {
				if err := m.o.Sleep(ctx, quiet); err != nil {
					return err
				}
			}
		}
	})
}

// patient is a round that may fail for now: what was not read is read by the next. The clients have tried again for a while then.
func (m *Move) patient(ctx context.Context, t *tail) (read int, tip bool, err error) {
	read, tip, err = t.round(ctx, m.o.Clock())
	if _, gaveUp := dynamo.GaveUp(err); err == nil || ctx.Err() != nil || !gaveUp && !dynamo.IsThrottle(err) {
		return read, tip, err
	}
	m.o.Logger.Warn("cannot read the stream; retrying", "store", t.store.Name, "error", err)
	return 0, false, m.o.Sleep(ctx, refusedFor)
}
