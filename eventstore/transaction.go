package eventstore

import (
	"context"
	"errors"
)

// transaction is a call of Transact. In a group, it is handled on the goroutine of another caller.
type transaction[S any] struct {
	ctx     context.Context // of the caller
	s       *Store
	id      ID
	f       Fold[S]
	decide  func(Loaded[S]) ([]NewEvent, error)
	options []AppendOption

	at       Loaded[S] // the result
	err      error     // errUnhandled until the outcome is known
	panicked any       // of a function of the caller
}

var (
	// errUnhandled remains if the goroutine that handled the command ended in the middle, for example
	// by runtime.Goexit.
	errUnhandled = errors.New("eventstore: the outcome of the command is unknown, because another command of its group ended the goroutine of both")
	errPanicked  = errors.New("eventstore: panicked")
)

func (c *transaction[S]) context() context.Context { return c.ctx }

func (c *transaction[S]) settings() []AppendOption { return c.options }

// guard runs a step of the command. A panic is kept for the goroutine of the caller: the one that runs
// the step may be that of another caller.
func (c *transaction[S]) guard(step func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked, err = p, errPanicked
		}
	}()
	return step()
}

func (c *transaction[S]) load(ctx context.Context, r *replay) (version int64, err error) {
	c.err, c.panicked = errUnhandled, nil
	err = c.guard(func() (err error) {
		c.at, err = load(ctx, c.s, c.id, c.f, r)
		return err
	})
	return c.at.Version, err
}

func (c *transaction[S]) apply(events []Event) error {
	return c.guard(func() error {
		for i := range events {
			if err := c.at.apply(c.f, &events[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *transaction[S]) ask() (events []NewEvent, refused error, ok bool) {
	err := c.guard(func() error {
		events, refused = c.decide(c.at)
		return nil
	})
	return events, refused, err == nil
}

func (c *transaction[S]) rest(ctx context.Context, refused error) {
	c.err = c.guard(func() (err error) {
		c.at, err = c.at.repeated(ctx, c.s, c.f, c.options, refused)
		return err
	})
}

func (c *transaction[S]) settle() {
	if c.err == errUnhandled { // otherwise Apply refused its own events
		c.f.Cache.keep(c.s, &c.at)
		c.err = nil
	}
}

func (c *transaction[S]) fail(err error) { c.at, c.err = Loaded[S]{ID: c.id}, err }

func (c *transaction[S]) alone(ctx context.Context) error {
	c.err, c.panicked = errUnhandled, nil
	c.at, c.err = transact(ctx, c.s, c.id, c.f, c.decide, c.options)
	return c.err
}
