package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/onefold/onefold/table"
)

// Job is a running job of this process. It is safe for concurrent use.
type Job[T any] struct {
	board *Board[T]
	id    string
	key   Key
	over  chan struct{} // closed when the job publishes no more states
	left  chan struct{} // closed when another job may begin

	mu    sync.Mutex // guards state
	state T

	writing sync.Mutex // orders writes, so that the last state is written last
}

// State returns the job's current state.
func (j *Job[T]) State() T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Change changes the job's state.
func (j *Job[T]) Change(change func(*T)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.state)
}

// End changes the state for the last time, and stores it for a day. The change becomes visible only
// once another job may begin, so that a client who sees the end and starts the next job does not
// get ErrBusy. The job is over, whatever the error.
func (j *Job[T]) End(ctx context.Context, last func(*T)) error {
	defer j.board.leave(j)
	close(j.over)
	j.writing.Lock()
	defer j.writing.Unlock()
	state := j.State()
	last(&state)
	return j.put(ctx, state, true)
}

// Drop removes the job as if it had not begun. The job is over, whatever the error.
func (j *Job[T]) Drop(ctx context.Context) error {
	defer j.board.leave(j)
	close(j.over)
	j.writing.Lock()
	defer j.writing.Unlock()
	err := Jobs.Delete(ctx, j.board.t, j.key, jobID.Eq(j.id))
	if err != nil && !errors.Is(err, table.ErrCondition) && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("jobs: drop %s on %s: %w", j.key.Kind, j.key.On, err)
	}
	return nil
}

// claim replaces the item of the previous job, unless that is still running.
func (j *Job[T]) claim(ctx context.Context) error {
	item, err := j.item(j.State(), false)
	if err != nil {
		return err
	}
	err = Jobs.Create(ctx, j.board.t, item)
	if errors.Is(err, table.ErrExists) {
		_, err = Jobs.Modify(ctx, j.board.t, j.key, func(there *Item) error {
			if there.phase(j.board.t.Now()) == Under {
				return ErrBusy
			}
			*there = *item
			return nil
		})
	}
	if err != nil && !errors.Is(err, ErrBusy) {
		return fmt.Errorf("jobs: begin %s on %s: %w", j.key.Kind, j.key.On, err)
	}
	return err
}

// report stores the job's state periodically until the job is over.
func (j *Job[T]) report(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.over:
			return
		case <-ticker.C:
		}
		if err := j.write(ctx); err != nil && ctx.Err() == nil {
			j.board.logger.WarnContext(ctx, "storing the progress of a job failed", "kind", j.key.Kind, "error", err)
		}
	}
}

// write stores the job's current state, unless the job is over.
func (j *Job[T]) write(ctx context.Context) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.isOver() {
		return nil
	}
	return j.put(ctx, j.State(), false)
}

// put stores the job's state. If another job has replaced this one, nothing is written.
func (j *Job[T]) put(ctx context.Context, state T, ended bool) error {
	item, err := j.item(state, ended)
	if err != nil {
		return err
	}
	if err := Jobs.Put(ctx, j.board.t, item, jobID.Eq(j.id)); err != nil && !errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("jobs: tell how far %s on %s is: %w", j.key.Kind, j.key.On, err)
	}
	return nil
}

func (j *Job[T]) isOver() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

func (j *Job[T]) item(state T, ended bool) (*Item, error) {
	encoded, err := json.Marshal(state)
	return &Item{Key: j.key, ID: j.id, UpdatedAt: j.board.t.Now(), Ended: ended, State: encoded}, err
}
