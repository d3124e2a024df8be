package eventcli

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/onefold/internal/readingfiles"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/internal/accesslog"
)

// Import imports files of events.
type Import struct {
	Where
	Aggregate       string   `required:"" help:"Type of the aggregates, such as order." placeholder:"TYPE"`
	AggregateColumn string   `required:"" help:"Column of the aggregate's ID." placeholder:"NAME"`
	TypeColumn      string   `required:"" help:"Column of the event type." placeholder:"NAME"`
	TimeColumn      string   `required:"" help:"Column of the time at which the event occurred." placeholder:"NAME"`
	ActorColumn     string   `help:"Column of the actor." placeholder:"NAME"`
	Column          []string `help:"Column to import into the event. Repeat or separate by commas (default: all other columns that are not empty)." placeholder:"NAME"`
	TimeFormat      string   `help:"Time format: unix, unix-ms, unix-us, unix-ns, or a layout that shows how to write 2006-01-02 15:04:05 (default: any common format, year first)."`
	TimeZone        string   `help:"IANA time zone of times without one." default:"UTC"`
	DryRun          bool     `help:"Print what would be imported, and write nothing."`
	Quiet           bool     `short:"q" help:"Hide the progress bar."`
	Files           []string `arg:"" name:"file" help:"CSV files, plain or compressed with gzip or zstd; - is standard input. The rows of an aggregate must be in order."`
}

// Run imports the files in order and prints a summary. Each row is its own append, with a commit ID
// derived from the row. So importing a file again, even after a crash, adds nothing.
func (c *Import) Run(ctx context.Context, env *Env) error {
	if err := env.CheckFiles(c.Files); err != nil {
		return err
	}
	if _, err := c.clock(); err != nil {
		return err
	}
	summary := newSummary(c.DryRun)
	work := func(t target) error {
		start := time.Now()
		err := c.read(ctx, env, t, summary)
		summary.Seconds = time.Since(start).Seconds()
		return err
	}
	var err error
	switch {
	case c.DryRun:
		err = work(nil)
	case c.Server != "":
		err = c.opened(ctx, env, nil, work)
	default:
		err = c.opened(ctx, env, env.Make, func(t target) error {
			s := t.(*local).ground // opened returns this type for a directory
			return s.Folding(ctx, func(ctx context.Context) error {
				return errors.Join(work(t), s.Worker.Drain(ctx))
			})
		})
	}
	if err != nil {
		return fmt.Errorf("%w\nImported events stay; import the same files again to resume", err)
	}
	return summary.printResult(env.Out, env.JSON)
}

// clock returns a parser of times for the flags.
func (c *Import) clock() (*readingfiles.Clock, error) {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("invalid: --time-zone %q: use an IANA name such as Europe/Berlin", c.TimeZone)
	}
	return readingfiles.NewClock(c.TimeFormat, zone)
}

// read reads the files in order. If a file cannot be read to its end, that is noted and the next
// files are read.
func (c *Import) read(ctx context.Context, env *Env, t target, into *summary) error {
	bar, stop := env.Progress(c.Files, c.Quiet)
	defer stop()
	for _, name := range c.Files {
		err := c.file(ctx, name, env.In, t, bar, into)
		if errors.Is(err, readingfiles.ErrDamaged) {
			into.unread = errors.Join(into.unread, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (c *Import) file(ctx context.Context, name string, stdin io.Reader, t target, bar logimport.Progress, into *summary) error {
	f, err := accesslog.Open(name, stdin)
	if err != nil {
		return err
	}
	rows, err := c.rows(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	bar.Start(name, f.Size(), f.BytesRead)
	if closer, ok := stdin.(io.Closer); ok && name == "-" { // unblock a read from a pipe without data
		defer context.AfterFunc(ctx, func() { _ = closer.Close() })()
	}
	damage, err := appendRows(ctx, rows, t, bar, into)
	closed := f.Close()
	switch {
	case err != nil:
		return errors.Join(err, closed)
	case damage != nil: // Close of a damaged file returns the same error
		return fmt.Errorf("%w: %s was imported up to a position that cannot be read: %w", readingfiles.ErrDamaged, name, damage)
	}
	return closed
}

const (
	writers  = 32  // concurrent writers, so that many appends share a disk sync
	rowAhead = 100 // rows queued per writer
)

// appendRows appends the rows. Rows of one aggregate are appended in order, by the same writer.
// damage is the reason why the rows ended early.
func appendRows(ctx context.Context, rows iter.Seq2[row, error], t target, bar logimport.Progress, into *summary) (damage, err error) {
	group, ctx := errgroup.WithContext(ctx)
	// The hash of the aggregate selects the writer, so rows of one aggregate stay in order while
	// others are appended in parallel.
	queues, seed := make([]chan row, writers), maphash.MakeSeed()
	for i := range queues {
		queues[i] = make(chan row, rowAhead)
		group.Go(func() error {
			for r := range queues[i] {
				if err := appendRow(ctx, &r, t, into); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, queue := range queues {
				close(queue)
			}
		}()
		for r, err := range rows {
			if err != nil {
				damage = err
				return nil
			}
			bar.Lines(into.line())
			if r.err != nil {
				into.malformed(&r)
				continue
			}
			select {
			case queues[maphash.String(seed, r.id.ID)%writers] <- r:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	err = group.Wait()
	return damage, err
}

// appendRow appends one row. An event that the store rejects is counted; any other error ends the
// import.
func appendRow(ctx context.Context, r *row, t target, into *summary) error {
	// A dry run has no target. It checks whether a store would accept the event.
	if t == nil {
		if err := eventstore.CheckEvent(r.id, &eventstore.NewEvent{Type: r.event.Type, Payload: []byte(r.event.Data)}); err != nil {
			into.refused(r, err)
			return nil
		}
		into.count(r, committed{})
		return nil
	}
	done, err := t.append(ctx, r.id, &appending{CommitID: r.commit, Events: []eventjson.New{r.event}})
	if err == nil {
		into.count(r, done)
		return nil
	}
	if rejects(err) {
		into.refused(r, err)
		return nil
	}
	return fmt.Errorf("line %d: %w", r.number, err)
}

// rejects reports whether err means that the event store does not accept this event, whereas it may
// accept others.
func rejects(err error) bool {
	switch logimport.Code(err) {
	case "invalid_request", "too_large", "stream_closed":
		return true
	}
	return errors.Is(err, eventstore.ErrInvalid) || errors.Is(err, eventstore.ErrTooLarge) || errors.Is(err, eventstore.ErrClosed)
}
