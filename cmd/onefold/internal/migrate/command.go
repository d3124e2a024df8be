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
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/backoff"
)

// Command migrates a table.
type Command struct {
	From       string  `help:"Store URL of the source." placeholder:"STORE" env:"ONEFOLD_MOVE_FROM"`
	To         string  `help:"Store URL of the destination: an empty directory, or an empty table created by onefold infra apply." placeholder:"STORE" env:"ONEFOLD_MOVE_TO"`
	Finish     bool    `help:"Finish the migration after the servers and workers of the source have stopped: close the source, copy the rest, compare, and print how to continue."`
	FinishFrom string  `help:"Finish automatically when the server at --from has stopped, reading the rest from this store: the server's directory." placeholder:"STORE"`
	Segments   int     `help:"Number of parallel scans, 1 to 1000." default:"8"`
	MaxUnits   float64 `help:"Maximum write units per second at the destination; 0 means no limit." default:"0"`
	NoCompare  bool    `help:"Skip the final comparison, which reads both stores."`
	Restart    bool    `help:"Copy again from the beginning, and delete items of the destination that the source does not have. Use after source_trimmed or target_differs."`
	TakeOver   bool    `help:"Take over a migration from another process that has died."`
	Reopen     string  `help:"Reopen a store that a migration closed, and do nothing else." placeholder:"STORE"`
	Quiet      bool    `short:"q" help:"Hide the progress bar."`
}

// Help describes a migration. Kong prints it.
func (c *Command) Help() string {
	return `To migrate a directory that a server has open, read it through that server: start it with serve --dynamodb 127.0.0.1:8000.

  onefold move --from dynamodb+http://127.0.0.1:8000/onefold --to 'dynamodb://onefold?region=eu-central-1' --finish-from embedded:onefold-data

copies the table, follows its changes, and reports when it has caught up. Then stop the server: the rest is copied, both stores are
compared, and the command that starts the server on the new store is printed. Clients retry meanwhile. A directory that no process has
open, given as --from embedded:DIR, is migrated in one step. A migration back works the same way. Run the command again to resume an
interrupted migration.`
}

// Validate checks the flags. Kong calls it.
func (c *Command) Validate() error {
	switch {
	case c.Reopen != "":
		return nil
	case c.From == "" || c.To == "":
		return errors.New("bad_store: give --from STORE and --to STORE; a store URL is " + storeurl.Forms)
	case c.Segments < 1 || c.Segments > 1000:
		return errors.New("bad_segments: --segments must be 1 to 1000")
	case c.MaxUnits < 0:
		return errors.New("bad_units: --max-units must be 0 (no limit) or more")
	case c.Finish && c.Restart:
		return errors.New("bad_flags: --finish completes a copy, --restart starts a new one; use one of them")
	case c.Finish && c.FinishFrom != "":
		return errors.New("bad_finish: --finish-from waits until the server stops, --finish requires that it has stopped; use one of them")
	case c.From == "memory:" || c.To == "memory:":
		return errors.New("bad_store: a memory: store ends with its process and cannot be moved from or to")
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
		return fmt.Errorf("bad_store: --from and --to are the same store, %s", from)
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
	return printResult(env, done)
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
		return fmt.Errorf("bad_finish: --finish-from must be the directory of the server, as embedded:DIR, not %s", c.FinishFrom)
	}
	s, err := open(ctx, c.FinishFrom, true, logger)
	switch {
	case errors.Is(err, engine.ErrInUse):
		return nil
	case err != nil:
		return fmt.Errorf("bad_finish: --finish-from: %w", err)
	}
	return errors.Join(fmt.Errorf("bad_finish: no server has %s open; --finish-from must be the directory of the server at --from. If that server has stopped, run: onefold move --finish --from '%[1]s' --to '%s'", s.Name, c.To), s.Close())
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
	return &d, m.withAdvice(err)
}

// withAdvice adds advice if the source no longer responds.
func (m *Move) withAdvice(err error) error {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return fmt.Errorf("%w: %s no longer responds. If it has stopped permanently, finish from its directory: onefold move --finish --from embedded:DIR --to '%s' (%w)", errGone, m.from.Name, m.to.Name, err)
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
		bar.say("stopped; run the same command to resume, or add --finish to complete the migration")
		return nil
	}
	return m.withAdvice(err)
}

// next returns the instructions for a migration that has caught up.
func (c *Command) next() string {
	if c.FinishFrom != "" {
		return "caught up: stop the server that has the table open (SIGTERM); the migration then finishes automatically"
	}
	return "caught up: stop all writers of the source, then this command, and run it again with --finish"
}

func (c *Command) reopen(ctx context.Context, env *cmdenv.Env) error {
	s, err := open(ctx, c.Reopen, true, env.Logger)
	if err != nil {
		return err
	}
	if err := errors.Join(Reopen(ctx, s), s.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "reopened %s\n", s.Name)
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

// printResult prints the result of the migration and the next step.
func printResult(env *cmdenv.Env, d *Done) error {
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
		_, err := fmt.Fprintf(env.Out, "%s was already moved to %s at %s UTC; start the server with:\n\n  %s\n", d.From, d.To, d.Before.UTC().Format(time.DateTime), start)
		return err
	}
	compared := "stores not compared"
	if d.Compared != nil {
		compared = fmt.Sprintf("%s of %s, identical in both", counted(d.Compared.Items, "item", "items"), counted(int64(len(d.Compared.Entities)), "entity", "entities"))
	}
	_, err := fmt.Fprintf(env.Out, "moved from %s to %s: %s\nstart the server with:\n\n  %s\n\nThe old store is closed; to reopen it, run onefold move --reopen '%s'.\n", d.From, d.To, compared, start, d.From)
	return err
}
