package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/onefold/onefold/cmd/internal/migration"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/storeurl"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/backoff"
)

// Command migrates a table.
type Command struct {
	From       string  `help:"Where the table is." placeholder:"STORE" env:"ONEFOLD_MOVE_FROM"`
	To         string  `help:"Where it goes: an empty directory, or an empty table that onefold infra apply has made." placeholder:"STORE" env:"ONEFOLD_MOVE_TO"`
	Finish     bool    `help:"The servers and workers of the source are stopped: close it, copy the rest, compare, and say how to go on."`
	FinishFrom string  `help:"Finish by itself as soon as the server at --from has stopped, from here: its directory." placeholder:"STORE"`
	Segments   int     `help:"Scans at once, 1 to 1000." default:"8"`
	MaxUnits   float64 `help:"Write units a second that the target is asked for. Default: as many as it takes." default:"0"`
	NoCompare  bool    `help:"Do not compare the two at the end, which reads both."`
	Restart    bool    `help:"Copy again from the beginning, and delete in the target what the source does not have: after source_trimmed, or target_differs."`
	TakeOver   bool    `help:"Go on with a move that another process has, which is dead."`
	Reopen     string  `help:"Only let a store be used again that was moved away." placeholder:"STORE"`
	Quiet      bool    `short:"q" help:"No progress bar."`
}

// Help describes a migration. Kong prints it.
func (c *Command) Help() string {
	return `A directory that a server has open is moved by way of that server: serve --dynamodb 127.0.0.1:8000 lets it be read.

  onefold move --from dynamodb+http://127.0.0.1:8000/onefold --to 'dynamodb://onefold?region=eu-central-1' --finish-from embedded:onefold-data

copies, follows what changes, and says when it has caught up. Stop the server then: what is left is copied, the two are compared, and
it says how to start from the new place. Senders try again meanwhile. A directory that nobody has open, as
--from embedded:DIR, is moved in one go. The way back is the same. A move that was broken off goes on when it is begun again.`
}

// Validate checks the flags. Kong calls it.
func (c *Command) Validate() error {
	switch {
	case c.Reopen != "":
		return nil
	case c.From == "" || c.To == "":
		return errors.New("bad_store: give --from STORE and --to STORE; stores are " + storeurl.Forms)
	case c.Segments < 1 || c.Segments > 1000:
		return errors.New("bad_segments: --segments is 1 to 1000")
	case c.MaxUnits < 0:
		return errors.New("bad_units: --max-units is 0, for as many as the target takes, or more")
	case c.Finish && c.Restart:
		return errors.New("bad_flags: --finish ends a copy, --restart begins one")
	case c.Finish && c.FinishFrom != "":
		return errors.New("bad_finish: --finish-from waits for the server to stop; --finish says that it has")
	case c.From == "memory:" || c.To == "memory:":
		return errors.New("bad_store: memory: is gone with the process; there is nothing to move from there, and no use in moving there")
	}
	return c.validatePlaces()
}

// validatePlaces checks that both ends are stores, and, as far as names tell, different ones.
func (c *Command) validatePlaces() error {
	from, err := storeurl.Parse(c.From, "")
	if err != nil {
		return fmt.Errorf("%w (--from)", err)
	}
	to, err := storeurl.Parse(c.To, "")
	if err != nil {
		return fmt.Errorf("%w (--to)", err)
	}
	if from.Dir != "" {
		from.Dir, to.Dir = filepath.Clean(from.Dir), filepath.Clean(to.Dir)
	}
	if from == to {
		return fmt.Errorf("bad_store: --from and --to are one store, %s", from)
	}
	return nil
}

// Run migrates the table.
func (c *Command) Run(ctx context.Context, env *cmdenv.Env) error {
	if c.Reopen != "" {
		return c.reopen(ctx, env)
	}
	if err := c.checkDirectory(ctx, env.Logger); err != nil {
		return err
	}
	target, err := open(ctx, c.To, false, env.Logger)
	if err != nil {
		return err
	}
	bar := newScreen(env, c.Quiet)
	done, err := c.move(ctx, env, target, bar)
	bar.close()
	if err = errors.Join(err, target.Close()); err != nil || done == nil {
		return err
	}
	return tell(env, done)
}

// checkDirectory detects a wrong --finish-from while the server still runs: the right directory is
// open in the server.
func (c *Command) checkDirectory(ctx context.Context, logger *slog.Logger) error {
	if c.FinishFrom == "" {
		return nil
	}
	if p, err := storeurl.Parse(c.FinishFrom, ""); err != nil {
		return err
	} else if p.Dir == "" {
		return fmt.Errorf("bad_finish: --finish-from is the directory of the server, as in embedded:DIR, not %s", c.FinishFrom)
	}
	s, err := open(ctx, c.FinishFrom, true, logger)
	switch {
	case errors.Is(err, engine.ErrInUse):
		return nil
	case err != nil:
		return fmt.Errorf("bad_finish: --finish-from: %w", err)
	}
	return errors.Join(fmt.Errorf("bad_finish: no server has %s open; --finish-from is the directory of the one at --from. If it has stopped already: onefold move --finish --from '%[1]s' --to '%s'", s.Name, c.To), s.Close())
}

// move runs the migration. It returns nil if it was stopped at a point from which it can be
// resumed.
func (c *Command) move(ctx context.Context, env *cmdenv.Env, target Store, bar *screen) (*Done, error) {
	done, err := c.moveFrom(ctx, env, c.From, c.Finish, c.TakeOver, target, bar)
	if !errors.Is(err, errGone) || c.FinishFrom == "" {
		return done, err
	}
	bar.say("the server has stopped; finishing from " + c.FinishFrom)
	return c.moveFrom(ctx, env, c.FinishFrom, true, true, target, bar)
}

// errGone is returned if the source no longer responds.
var errGone = errors.New("source_gone")

func (c *Command) moveFrom(ctx context.Context, env *cmdenv.Env, from string, finish, takeOver bool, target Store, bar *screen) (done *Done, err error) {
	source, err := openWhenFree(ctx, from, env.Logger, finish)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	m, err := Begin(ctx, source, target, Options{
		Segments: c.Segments, MaxUnits: c.MaxUnits, TakeOver: takeOver, Restart: c.Restart && !finish, Trust: c.NoCompare, Progress: bar.show, Logger: env.Logger,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
		defer cancel()
		if released := m.Release(after); released != nil && !errors.Is(released, ErrTakenOver) {
			err = errors.Join(err, released)
		}
	}()
	if m.Phase() != migration.Finished {
		if err := m.Copy(ctx); err != nil {
			return nil, err
		}
		finish = finish || !source.Shared // no other process can write to it
		if err := c.follow(ctx, m, finish, bar); err != nil || !finish {
			return nil, err
		}
	}
	d, err := m.Finish(ctx)
	return &d, m.told(err)
}

// told adds advice if the source no longer responds.
func (m *Move) told(err error) error {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return fmt.Errorf("%w: %s does not answer any more. If it has stopped for good, finish from its directory: onefold move --finish --from embedded:DIR --to '%s' (%w)", errGone, m.from.Name, m.to.Name, err)
}

// refusals is how many consecutive refused connections mean that the source has stopped rather than
// restarts.
const refusals = 15 // at intervals of quiet

// watching returns a context that ends when the source refuses connections. It notices sooner than
// requests, which are retried. stop ends the context too.
func watching(ctx context.Context, from string) (watched context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	p, err := storeurl.Parse(from, "")
	if err != nil || p.Remote.Endpoint == "" {
		return ctx, func() { cancel(nil) }
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		for refused := 0; backoff.For(ctx, quiet) == nil; {
			err := p.Remote.Probe(ctx)
			if !errors.Is(err, syscall.ECONNREFUSED) {
				refused = 0
			} else if refused++; refused == refusals {
				cancel(err)
			}
		}
	})
	return ctx, func() { cancel(nil); watch.Wait() }
}

// follow follows changes. If enough is set, it stops when everything is copied; otherwise when the
// source or ctx ends.
func (c *Command) follow(ctx context.Context, m *Move, enough bool, bar *screen) error {
	told := false
	watched, stop := watching(ctx, m.from.Name)
	err := m.Follow(watched, func() bool {
		if !told && !enough {
			told = true
			bar.say(c.next())
		}
		return enough
	})
	if cause := context.Cause(watched); err != nil && cause != nil && ctx.Err() == nil {
		err = cause
	}
	stop()
	if ctx.Err() != nil && told {
		bar.say("stopped; the same command goes on, and with --finish ends it")
		return nil
	}
	return m.told(err)
}

// next returns the instructions for a migration that has caught up.
func (c *Command) next() string {
	if c.FinishFrom != "" {
		return "caught up: stop the server that has the table (SIGTERM); the move then finishes by itself"
	}
	return "caught up: stop all that writes to the source, then this, and give the same command with --finish"
}

func (c *Command) reopen(ctx context.Context, env *cmdenv.Env) error {
	s, err := open(ctx, c.Reopen, true, env.Logger)
	if err != nil {
		return err
	}
	if err := errors.Join(Reopen(ctx, s), s.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "%s is open again\n", s.Name)
	return err
}

// open opens a store for a migration.
func open(ctx context.Context, store string, existing bool, logger *slog.Logger) (Store, error) {
	p, err := storeurl.Parse(store, "")
	if err != nil {
		return Store{}, err
	}
	opened, err := p.OpenMoving(ctx, engine.Options{Logger: logger, TTLInterval: -1}, existing)
	if err != nil {
		return Store{}, err
	}
	return Store{Opened: opened, Name: p.String()}, nil
}

const freeWithin = time.Minute // time for a server to exit

// openWhenFree opens the source. To finish from the directory of a server that is about to exit, it
// waits until the directory is free.
func openWhenFree(ctx context.Context, store string, logger *slog.Logger, finish bool) (Store, error) {
	for until := time.Now().Add(freeWithin); ; {
		s, err := open(ctx, store, true, logger)
		if !finish || !errors.Is(err, engine.ErrInUse) || time.Now().After(until) {
			return s, err
		}
		if err := backoff.For(ctx, quiet); err != nil {
			return Store{}, err
		}
	}
}

// tell prints the result of the migration and the next step.
func tell(env *cmdenv.Env, d *Done) error {
	start := fmt.Sprintf("onefold serve --store '%s'", d.To)
	if env.JSON {
		return writeLine(env.Out, struct {
			Phase string `json:"phase"`
			*Done
			Start   string  `json:"start"`
			Seconds float64 `json:"seconds"`
		}{string(migration.Finished), d, start, d.Took.Seconds()})
	}
	if !d.Before.IsZero() {
		_, err := fmt.Fprintf(env.Out, "%s was moved to %s already, at %s UTC; start with:\n\n  %s\n", d.From, d.To, d.Before.UTC().Format(time.DateTime), start)
		return err
	}
	compared := "the two were not compared"
	if d.Compared != nil {
		compared = fmt.Sprintf("%s of %s, the same in both", counted(d.Compared.Items, "item", "items"), counted(int64(len(d.Compared.Entities)), "entity", "entities"))
	}
	_, err := fmt.Fprintf(env.Out, "moved from %s to %s: %s\nstart again with:\n\n  %s\n\nThe old place refuses to be used; onefold move --reopen '%s' takes that back.\n", d.From, d.To, compared, start, d.From)
	return err
}
