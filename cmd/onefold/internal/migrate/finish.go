package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

var feedHead = eventstore.FeedHeads.Name()

// Done is the result of a migration.
type Done struct {
	From     string        `json:"from"`
	To       string        `json:"to"`
	Compared *Compared     `json:"compared,omitempty"`
	Before   time.Time     `json:"finished_before,omitzero"` // when it was finished before; zero: now
	Took     time.Duration `json:"-"`
}

// Finish completes the migration. It closes the source for all other processes, which takes
// migration.Grace if the source is shared. Then it folds and copies the remaining changes,
// compares the stores, and sets the checkpoints of the target's folds behind the copied changes.
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
	// A worker that holds a lease could still fold into the source after the last copy.
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
	// The source is marked as away before the target is marked as finished. A crash in between
	// leaves neither usable, and finishing again completes both.
	m.setPhase(migration.Finished, 0)
	if err := m.leave(ctx, migration.Away); err != nil {
		return done, err
	}
	done.Took = m.o.Clock().Sub(began)
	return done, m.saveAs(ctx, 0)
}

// shut closes the source for other processes, and waits until no write to it is acknowledged any
// more.
func (m *Move) shut(ctx context.Context) error {
	if !m.from.Shared {
		return nil // open in this process only
	}
	m.o.Progress(Progress{Phase: "closing"})
	if err := m.leave(ctx, migration.Leaving); err != nil {
		return err
	}
	// After this time, no process acknowledges a write to the source: see migration.Grace.
	return m.o.Sleep(ctx, migration.Grace)
}

// unshut reopens the source if the migration could not be finished, unless another process finishes
// it.
func (m *Move) unshut(ctx context.Context) error {
	if !m.from.Shared {
		return nil
	}
	// The source must be reopened even if the command was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	err := migration.States.Delete(ctx, m.from.table(m.o.Clock), migration.Key{}, stateOwner.Eq(m.state.Owner), statePhase.Eq(migration.Leaving))
	if err == nil || errors.Is(err, table.ErrCondition) {
		return nil
	}
	return fmt.Errorf("move: %s stays closed until `onefold move --reopen '%[1]s'`, or until the move is finished: %w", m.from.Name, err)
}

// finish copies the rest, compares, and prepares the target.
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
		return fmt.Errorf("%w: %s; use --restart to copy again", ErrDiffers, c.describe())
	}
	return m.start(ctx)
}

// alone returns an error while workers hold leases on the source, since their folds would not reach
// the target.
func (m *Move) alone(ctx context.Context) error {
	if !m.from.Shared {
		return nil // open in this process only
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

// drains is how many times the folds of the source may find changes although there are no other
// writers.
const drains = 5

// drain folds the remaining changes of the source and copies the results, until there are none.
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
		// The worker has read past the end of the stream that was determined. If it folds nothing
		// now, it was done before.
		if err := worker.Drain(ctx); err != nil {
			return fmt.Errorf("move: fold remaining changes of %s: %w", m.from.Name, err)
		}
		if after := worker.Status(); after.Writes == before.Writes && after.Changes == before.Changes {
			return m.toEnd(ctx, m.source)
		}
	}
	return fmt.Errorf("%w: %s is still being written to: stop its servers, workers and imports", ErrBusy, m.from.Name)
}

// worker folds the rest of the source. It ignores leases: no other worker should exist, and if one
// does, marks keep the results correct.
func (m *Move) worker(ctx context.Context) (*fold.Worker, error) {
	_, arn, err := stream(ctx, m.from)
	if err != nil {
		return nil, err
	}
	t := m.from.table(m.o.Clock)
	return fold.NewWorker(t, streamsource.New(m.from.Streams, arn), products.Folds(t, delays.Holds{}), fold.Options{Group: products.Group, Logger: m.o.Logger, Clock: m.o.Clock, Owner: "move-" + m.state.Owner})
}

func (s Store) table(clock func() time.Time) *table.Table {
	return table.New(s.API, s.Table, table.Options{Clock: clock})
}

// still returns an error if a change that must be copied has arrived since the last read.
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
			return came // keep the position before the change
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

// start sets the checkpoints of the target's folds behind the migration's writes in its stream,
// because derived items were copied too.
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

// leave records in the source that its successor is about to be used, or is in use.
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

// Reopen reopens a store that a migration closed. It does not have changes made in the new store.
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
