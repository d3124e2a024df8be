package eventstore

import "context"

// transaction is a call of Transact.
type transaction[S any] struct {
	ctx     context.Context // of the caller
	s       *Store
	id      ID
	f       Fold[S]
	decide  func(Loaded[S]) ([]NewEvent, error)
	options []AppendOption

	at       Loaded[S] // the result
	err      error
	panicked any // of decide
}

func (c *transaction[S]) context() context.Context { return c.ctx }

func (c *transaction[S]) settings() []AppendOption { return c.options }

func (c *transaction[S]) load(ctx context.Context, r *replay) (version int64, err error) {
	c.err = nil
	c.at, err = load(ctx, c.s, c.id, c.f, r)
	return c.at.Version, err
}

func (c *transaction[S]) apply(events []Event) error {
	for i := range events {
		if err := c.at.apply(c.f, &events[i]); err != nil {
			return err
		}
	}
	return nil
}

// ask runs on the goroutine of another caller, which a panic must not reach.
func (c *transaction[S]) ask() (events []NewEvent, refused error, ok bool) {
	defer func() {
		if c.panicked = recover(); c.panicked != nil {
			ok = false
		}
	}()
	events, refused = c.decide(c.at)
	return events, refused, true
}

func (c *transaction[S]) rest(ctx context.Context, refused error) {
	c.at, c.err = c.at.repeated(ctx, c.s, c.f, c.options, refused)
}

func (c *transaction[S]) settle() {
	if c.err == nil {
		c.f.Cache.keep(c.s, &c.at)
	}
}

func (c *transaction[S]) fail(err error) { c.err = err }

func (c *transaction[S]) alone(ctx context.Context) {
	c.at, c.err = transact(ctx, c.s, c.id, c.f, c.decide, c.options)
}
