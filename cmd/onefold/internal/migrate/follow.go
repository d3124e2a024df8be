package migrate

import (
	"context"
	"time"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
)

// farBehind is the age of changes from which following no longer counts as caught up.
const farBehind = 10 * time.Second

// quiet is the delay after a read without changes.
const quiet = 200 * time.Millisecond

// refusedFor is the delay after a stream could not be read.
const refusedFor = time.Second

// applyAll applies changes of the source to the target, the last of each key. After a crash changes
// are applied again in order, so each key ends in the state of the source.
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

// Follow applies changes of the source. Once it has applied all changes that the stream had at the
// start, it calls caughtUp, and returns if that reports true; otherwise it goes on until ctx ends.
// Errors: ErrTrimmed, ErrTakenOver.
func (m *Move) Follow(ctx context.Context, caughtUp func() (enough bool)) error {
	caught := false
	m.source.ask()
	return m.keeping(ctx, func(ctx context.Context) error {
		for {
			read, tip, err := m.retry(ctx, m.source)
			if err != nil {
				return err
			}
			if _, _, err := m.retry(ctx, m.own); err != nil { // so that the end stays close
				return err
			}
			phase := string(migration.Following)
			// Once caught up, following stays so while new changes are applied promptly, although a
			// busy stream is never read to its end.
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

// retry reads one round, which may fail temporarily after the client's own retries. The next
// round reads what this one did not.
func (m *Move) retry(ctx context.Context, t *tail) (read int, tip bool, err error) {
	read, tip, err = t.round(ctx, m.o.Clock())
	if _, gaveUp := dynamo.GaveUp(err); err == nil || ctx.Err() != nil || !gaveUp && !dynamo.IsThrottle(err) {
		return read, tip, err
	}
	m.o.Logger.Warn("cannot read the stream; retrying", "store", t.store.Name, "error", err)
	return 0, false, m.o.Sleep(ctx, refusedFor)
}
