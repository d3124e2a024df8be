package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

var feedHead = eventstore.FeedHeads.Name()

// Done is what a move came to.
type Done struct {
	From     string        `json:"from"`
	To       string        `json:"to"`
	Compared *Compared     `json:"compared,omitempty"`
	Before   time.Time     `json:"finished_before,omitzero"` // when it was finished already; zero: now
	Took     time.Duration `json:"-"`
}

// Finish ends the move. It closes the source to all that work on it, which takes migration.Grace if others may. What is left to be folded
// there is folded, what is left to be copied copied, the two stores are compared, and the folds of the target begin behind what was copied.
// After an error the source is open again. Errors: ErrNoMove, ErrBusy, ErrDiffers.
func (m *Move) Finish(ctx context.Context) (Done, error) {
	began := m.o.Clock()
	done := Done{From: m.from.Name, To: m.to.Name}
	if m.Phase() == migration.Finished {
		done.Before = m.state.Saved
		return done, nil
	}
	if m.Phase() != migration.Following {
		return done, fmt.Errorf("%w: not all items are copied yet; run onefold move without --finish first", ErrNoMove)
	}
	if err := m.alone(ctx); err != nil {
		return done, err
	}
	err := m.keeping(ctx, func(ctx context.Context) (err error) {
		if err = m.shut(ctx); err == nil {
			err = m.finish(ctx, &done)
		}
		return err
	})
	if err != nil {
		return done, errors.Join(err, m.unshut(ctx))
	}
	m.setPhase(migration.Finished, 0)
	if err := m.leave(ctx, migration.Away); err != nil {
		return done, err
	}
	done.Took = m.o.Clock().Sub(began)
	return done, m.saveAs(ctx, 0)
}

// shut ends all that others do with the source, and waits until nothing is acknowledged any more that was written there.
func (m *Move) shut(ctx context.Context) error {
	if !m.from.Shared {
		return nil // it is open in this process alone
	}
	m.o.Progress(Progress{Phase: "closing"})
	if err := m.leave(ctx, migration.Leaving); err != nil {
		return err
	}
	return m.o.Sleep(ctx, migration.Grace)
}

// unshut lets the source be used again when the move could not be finished, unless another process finishes it.
func (m *Move) unshut(ctx context.Context) error {
	if !m.from.Shared {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	err := migration.States.Delete(ctx, m.from.table(m.o.Clock), migration.Key{}, stateOwner.Eq(m.state.Owner), statePhase.Eq(migration.Leaving))
	if err == nil || errors.Is(err, table.ErrCondition) {
		return nil
	}
	return fmt.Errorf("move: %s stays closed until `onefold move --reopen '%[1]s'`, or until the move is finished: %w", m.from.Name, err)
}

// finish copies what is left, compares, and makes the target ready.
func (m *Move) finish(ctx context.Context, done *Done) error {
	if err := m.drain(ctx); err != nil {
		return err
	}
	if !m.o.Trust {
		c, err := m.compare(ctx)
		if err != nil {
			return err
		}
		done.Compared = &c
	}
	if err := m.still(ctx); err != nil {
		return err
	}
	if c := done.Compared; c != nil && len(c.Differ) > 0 {
		return fmt.Errorf("%w: %s; use --restart to copy again", ErrDiffers, c.tell())
	}
	return m.start(ctx)
}

// alone fails while workers read the source, by what their leases say: what they fold would never get to the target.
func (m *Move) alone(ctx context.Context) error {
	if !m.from.Shared {
		return nil // it is open in this process alone
	}
	o, err := fold.Read(ctx, m.from.table(m.o.Clock), products.Group)
	if err != nil {
		return fmt.Errorf("move: %w", err)
	}
	if len(o.Owners) > 0 {
		return fmt.Errorf("%w: worker %s still reads the changes of %s, or has just been killed: stop all workers and servers, and finish again when onefold work status shows none",
			ErrBusy, strings.Join(o.Owners, ", "), m.from.Name)
	}
	return nil
}

// drains is how often the folds of the source may find something new when nobody writes any more.
const drains = 5

// drain folds what is left in the source and copies what came of it, until nothing does.
func (m *Move) drain(ctx context.Context) error {
	worker, err := m.worker(ctx)
	if err != nil {
		return err
	}
	m.o.Progress(Progress{Phase: "draining"})
	for range drains {
		before := worker.Status()
		if err := worker.Drain(ctx); err != nil {
			return fmt.Errorf("move: fold remaining changes of %s: %w", m.from.Name, err)
		}
		if err := m.toEnd(ctx, m.source); err != nil {
			return err
		}
		// The worker has read since when the stream's end was found: if there was nothing for it, it was through before.
		if err := worker.Drain(ctx); err != nil {
			return fmt.Errorf("move: fold remaining changes of %s: %w", m.from.Name, err)
		}
		if after := worker.Status(); after.Writes == before.Writes && after.Changes == before.Changes {
			return m.toEnd(ctx, m.source)
		}
	}
	return fmt.Errorf("%w: %s is still being written to: stop its servers, workers and imports", ErrBusy, m.from.Name)
}

// worker folds what is left in the source. It heeds no leases: nobody else is there, and if they were, marks keep it right.
func (m *Move) worker(ctx context.Context) (*fold.Worker, error) {
	_, arn, err := stream(ctx, m.from)
	if err != nil {
		return nil, err
	}
	t := m.from.table(m.o.Clock)
	return fold.NewWorker(t, streamsource.New(m.from.Streams, arn), products.Folds(t, 0), fold.Options{Group: products.Group, Logger: m.o.Logger, Clock: m.o.Clock, Owner: "move-" + m.state.Owner})
}

func (s Store) table(clock func() time.Time) *table.Table {
	return table.New(s.API, s.Table, table.Options{Clock: clock})
}

// still fails if anything that would have to be copied has come since the last look.
func (m *Move) still(ctx context.Context) error {
	var came error
	take := m.source.take
	defer func() { m.source.take = take }()
	m.source.take = func(_ context.Context, changes []fold.Change) error {
		for i := range changes {
			if c := &changes[i]; !c.Expired && (copied(c.New) || copied(c.Old)) {
				came = fmt.Errorf("%w: %s of %s was written while the stores were compared; stop the source's servers, workers and imports, and finish again",
					ErrBusy, text(imageOf(c)[table.AttrEntity]), m.from.Name)
			}
		}
		if came != nil {
			return came // the position stays before it
		}
		return take(ctx, changes)
	}
	return m.toEnd(ctx, m.source)
}

func imageOf(c *fold.Change) table.Item {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// start sets the checkpoints of the target's folds behind all that its stream has of the move: what is derived of it was copied, too.
func (m *Move) start(ctx context.Context) error {
	if err := m.toEnd(ctx, m.own); err != nil {
		return err
	}
	for shard, p := range m.own.saved() {
		c := fold.Checkpoint{
			CheckpointKey: fold.CheckpointKey{Group: products.Group, Shard: shard},
			Position:      p.Seq, Read: m.o.Clock(), Done: p.Done, Owner: "move-" + m.state.Owner, At: m.o.Clock(),
		}
		it, err := fold.Checkpoints.Encode(&c)
		if err == nil {
			_, err = m.to.API.PutItem(ctx, &dynamodb.PutItemInput{TableName: &m.to.Table, Item: it})
		}
		if err != nil {
			return fmt.Errorf("move: checkpoint of %s: %w", shard, err)
		}
	}
	return m.save(ctx)
}

// leave says in the source that its successor is about to be used, or is.
func (m *Move) leave(ctx context.Context, phase migration.Phase) error {
	t := m.from.table(m.o.Clock)
	have, _, err := migration.Read(ctx, t)
	if err != nil {
		return err
	}
	if have.Phase == migration.Away {
		return nil
	}
	left := migration.State{Phase: phase, Peer: m.to.Name, Version: have.Version + 1, Saved: m.o.Clock(), Owner: m.state.Owner}
	return migration.States.Put(ctx, t, &left)
}

// Reopen lets a store be used again that was moved away. It has nothing of what happened at its new place.
func Reopen(ctx context.Context, s Store) error {
	t := s.table(time.Now)
	have, ok, err := migration.Read(ctx, t)
	switch {
	case err != nil:
		return err
	case !ok || have.Phase != migration.Away && have.Phase != migration.Leaving:
		return fmt.Errorf("%w: %s was not moved", ErrNoMove, s.Name)
	}
	return migration.States.Delete(ctx, t, migration.Key{})
}
