package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/table"
)

// Board manages the jobs of one kind. T is their published state, at most 64 KB as JSON. Create one
// with NewBoard. It is safe for concurrent use.
type Board[T any] struct {
	t          *table.Table
	kind       string
	most       int
	background *background.Work
	logger     *slog.Logger

	mu   sync.Mutex         // guards mine
	mine map[string]*Job[T] // running jobs of this process, by subject
}

// NewBoard creates the board of a kind of job. This server runs at most most of them at a time, and
// publishes their states in background.
func NewBoard[T any](t *table.Table, kind string, most int, background *background.Work, logger *slog.Logger) *Board[T] {
	return &Board[T]{t: t, kind: kind, most: most, background: background, logger: logger, mine: map[string]*Job[T]{}}
}

// Begin registers a job with its initial state. The caller must End or Drop it. Errors: ErrBusy,
// ErrStopping.
func (b *Board[T]) Begin(ctx context.Context, id, on string, state T) (*Job[T], error) {
	j := &Job[T]{board: b, id: id, key: Key{b.kind, on}, state: state, over: make(chan struct{}), left: make(chan struct{})}
	if err := b.enter(ctx, j); err != nil {
		return nil, err
	}
	err := j.claim(ctx)
	if err == nil && !b.background.Start(j.report) {
		err = ErrStopping
	}
	if err != nil {
		b.leave(j)
		return nil, err
	}
	return j, nil
}

// enter registers the job in this process. It waits for a job on the same subject that is just
// ending, because other servers may already know of its end.
func (b *Board[T]) enter(ctx context.Context, j *Job[T]) error {
	for {
		there, full := b.tryEnter(j)
		if !full {
			return nil
		}
		if there == nil || !there.isOver() {
			return ErrBusy
		}
		select {
		case <-there.left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryEnter registers the job, unless there is one on the same subject or the limit is reached.
func (b *Board[T]) tryEnter(j *Job[T]) (there *Job[T], full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if there = b.mine[j.key.On]; there != nil || len(b.mine) >= b.most {
		return there, true
	}
	b.mine[j.key.On] = j
	return nil, false
}

func (b *Board[T]) leave(j *Job[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.mine, j.key.On)
	close(j.left)
}

// Phase is the phase of a job.
type Phase int

// The phases of a job.
const (
	None  Phase = iota // there was no job recently
	Under              // running, here or on another server
	Ended              // finished
	Lost               // its server was killed, or cannot reach the table
)

// Last returns the state and phase of the last job on a subject.
func (b *Board[T]) Last(ctx context.Context, on string) (state T, phase Phase, err error) {
	b.mu.Lock()
	j := b.mine[on]
	b.mu.Unlock()
	if j != nil {
		return j.State(), Under, nil
	}
	item, err := LastJob.Get(ctx, b.t, Key{b.kind, on})
	if errors.Is(err, table.ErrNotFound) {
		return state, None, nil
	}
	if err == nil {
		err = json.Unmarshal(item.State, &state)
	}
	if err != nil {
		return state, None, fmt.Errorf("jobs: %s on %s: %w", b.kind, on, err)
	}
	return state, item.phase(b.t.Now()), nil
}

func (i *Item) phase(now time.Time) Phase {
	switch {
	case i.Ended:
		return Ended
	case now.Sub(i.UpdatedAt) > patience:
		return Lost
	}
	return Under
}
