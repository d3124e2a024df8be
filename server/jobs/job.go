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

// Job is work under way in this process. It is safe for concurrent use.
type Job[T any] struct {
	board *Board[T]
	id    string
	key   Key
	over  chan struct{} // closed when there is no more to tell
	left  chan struct{} // closed when another may begin

	mu    sync.Mutex
	state T

	writing sync.Mutex // what is told last is written last
}

// State is what the job tells now.
func (j *Job[T]) State() T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Change changes what the job tells.
func (j *Job[T]) Change(change func(*T)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.state)
}

// End makes a last change and writes down what the job then tells, for a day. Nobody sees the change before another job
// may begin: whoever is told that this one has ended is not told that it is in the way. The job is over, whatever the
// error.
func (j *Job[T]) End(ctx context.Context, last func(*T)) error {
	defer j.board.leave(j)
	close(j.over)
	j.writing.Lock()
	defer j.writing.Unlock()
	state := j.State()
	last(&state)
	return j.put(ctx, state, true)
}

// Drop makes as if the job had not begun. The job is over, whatever the error.
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

// claim takes the place of the job that was there before, unless that goes on.
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

// tell writes down how far the job is until it is over.
func (j *Job[T]) tell(ctx context.Context) {
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
			j.board.logger.WarnContext(ctx, "how far a job is was not written down", "kind", j.key.Kind, "error", err)
		}
	}
}

// write writes down what the job tells now, unless it is over.
func (j *Job[T]) write(ctx context.Context) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.isOver() {
		return nil
	}
	return j.put(ctx, j.State(), false)
}

// put writes down what the job tells. Where another has taken its place, nothing is written: others ask for that one.
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
	return &Item{Key: j.key, ID: j.id, Told: j.board.t.Now(), Ended: ended, State: encoded}, err
}
