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

// Board knows the jobs of a kind; T, as JSON at most 64 KB, is what they tell. Make one with NewBoard. It is safe for
// concurrent use.
type Board[T any] struct {
	t          *table.Table
	kind       string
	most       int
	background *background.Work
	logger     *slog.Logger

	mu   sync.Mutex
	mine map[string]*Job[T] // those under way here, by what they work on
}

// NewBoard makes the board of a kind of which this server does most at a time. What they tell is written down in background.
func NewBoard[T any](t *table.Table, kind string, most int, background *background.Work, logger *slog.Logger) *Board[T] {
	return &Board[T]{t: t, kind: kind, most: most, background: background, logger: logger, mine: map[string]*Job[T]{}}
}

// Begin notes that a job begins, which tells state until it changes that. End or Drop it. Errors: ErrBusy, ErrStopping.
func (b *Board[T]) Begin(ctx context.Context, id, on string, state T) (*Job[T], error) {
	j := &Job[T]{board: b, id: id, key: Key{b.kind, on}, state: state, over: make(chan struct{}), left: make(chan struct{})}
	if err := b.enter(ctx, j); err != nil {
		return nil, err
	}
	err := j.claim(ctx)
	if err == nil && !b.background.Start(j.tell) {
		err = ErrStopping
	}
	if err != nil {
		b.leave(j)
		return nil, err
	}
	return j, nil
}

// enter notes the job here. One that is just ending is waited for: other servers may know of its end already.
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

// tryEnter notes the job unless another on the same thing is there, or as many as there may be.
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

// Phase says what is known of a job.
type Phase int

// The phases of a job.
const (
	None  Phase = iota // there was none of late
	Under              // it is under way, here or on another server
	Ended              // it told its end
	Lost               // its server was killed, or has lost the table
)

// Last returns what the last job on a thing tells.
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
	case now.Sub(i.Told) > patience:
		return Lost
	}
	return Under
}
