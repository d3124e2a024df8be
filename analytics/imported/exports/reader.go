package exports

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// A Reader reads the facts of an export, a few days at a time. Files sorted by day are read once in
// total, other files once per call of Days. Call Close when done.
type Reader struct {
	ctx      context.Context
	cancel   context.CancelFunc
	progress func(bytes int64)
	most     int64 // per file
	cursors  []*cursor
}

// cursor is the read position in a file.
type cursor struct {
	m       *member
	left    int64 // bytes that may still be read
	next    func() (Fact, error, bool)
	stop    func()
	pending *Fact // of a later day
}

// Reader returns a reader for an export that Inspect has read. progress is called with the number
// of bytes just read; nil: not called.
func (e *Export) Reader(ctx context.Context, progress func(bytes int64)) *Reader {
	r := &Reader{progress: progress, most: e.limit()}
	r.ctx, r.cancel = context.WithCancel(ctx)
	for i := range e.members {
		if m := &e.members[i]; !m.again {
			r.cursors = append(r.cursors, &cursor{m: m})
		}
	}
	return r
}

// Days calls yield with every fact of the days from one to another, inclusive. Call it with
// ascending ranges: earlier days are not read again. Errors: those of yield and of the files.
func (r *Reader) Days(from, to string, yield func(Fact) error) error {
	for _, c := range r.cursors {
		if err := c.read(r, from, to, yield); err != nil {
			return fmt.Errorf("%s: %w", c.m.name, err)
		}
	}
	return nil
}

// Close closes the files.
func (r *Reader) Close() {
	r.cancel()
	for _, c := range r.cursors {
		c.close()
	}
}

func (c *cursor) close() {
	if c.stop != nil {
		c.stop()
		c.next, c.stop, c.pending = nil, nil, nil
	}
}

func (c *cursor) read(r *Reader, from, to string, yield func(Fact) error) error {
	if c.m.mixed {
		c.close()
	}
	if c.next == nil {
		c.left = r.most
		c.next, c.stop = iter.Pull2(c.facts(r))
	}
	for {
		var f Fact
		if c.pending != nil {
			f, c.pending = *c.pending, nil
		} else {
			var err error
			var more bool
			if f, err, more = c.next(); err != nil || !more {
				return err
			}
		}
		switch {
		case f.Day > to && !c.m.mixed:
			c.pending = &f
			return nil
		case f.Day < from || f.Day > to:
			continue
		}
		if err := yield(f); err != nil {
			return err
		}
	}
}

// facts yields the facts of a file, and last the error that stopped it, if any.
func (c *cursor) facts(r *Reader) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		stopped := errors.New("stopped")
		err := c.m.read(r.ctx, &c.left, r.progress, nil, visitor{
			table: func(*layout, error) {}, row: func(int64, []string, error) {}, day: func(string) {},
			fact: func(f Fact) error {
				if !yield(f, nil) {
					return stopped
				}
				return nil
			},
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(Fact{}, err)
		}
	}
}
