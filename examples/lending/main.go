// Command lending is the desk of a library: it lends copies of books to members and takes them back.
// docs/guides/eventstore.md begins with it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/embedded"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/registry"
)

// The events of a copy of a book.
type (
	Acquired struct{ Title string }
	Lent     struct{ Member string }
	Returned struct{}
)

// Copy is the state of a copy, to decide on commands.
type Copy struct {
	Title  string
	LentTo string // "" while it is on the shelf
}

// Command decides on a copy, and returns what happens.
type Command interface{ Decide(c Copy) ([]any, error) }

// The commands.
type (
	Acquire struct{ Title string }
	Lend    struct{ Member string }
	Return  struct{}
)

// Errors of commands.
var (
	ErrUnknown = errors.New("the library does not have this copy")
	ErrLent    = errors.New("the copy is lent")
	ErrShelf   = errors.New("the copy is on the shelf")
)

// Decide acquires a copy, once.
func (a Acquire) Decide(c Copy) ([]any, error) {
	if c.Title != "" {
		return nil, nil
	}
	return []any{Acquired(a)}, nil
}

// Decide lends a copy that is on the shelf.
func (l Lend) Decide(c Copy) ([]any, error) {
	switch {
	case c.Title == "":
		return nil, ErrUnknown
	case c.LentTo != "":
		return nil, ErrLent
	}
	return []any{Lent(l)}, nil
}

// Decide takes a copy back.
func (Return) Decide(c Copy) ([]any, error) {
	if c.LentTo == "" {
		return nil, ErrShelf
	}
	return []any{Returned{}}, nil
}

// Loans is the read model of a copy.
type Loans struct {
	Title  string
	LentTo string
	Times  int // how often it was lent
}

// Desk is the application.
type Desk struct {
	app    *embedded.App
	Copies registry.Decider[Copy, Command]
	Loans  *projection.Projection[Loans]
}

// Open opens the desk in a directory, or in memory without one.
func Open(ctx context.Context, dir string) (*Desk, error) {
	app, err := embedded.Open(ctx, dir, embedded.Options{})
	if err != nil {
		return nil, err
	}
	r := registry.New(registry.Options{})
	registry.Register[Acquired](r, "Acquired", 1)
	registry.Register[Lent](r, "Lent", 1)
	registry.Register[Returned](r, "Returned", 1)
	decide := func(c Copy, command Command) ([]any, error) { return command.Decide(c) }
	copies := registry.Decider[Copy, Command]{Store: app.Store, Registry: r, Type: "copy", Decide: decide, Fold: registry.Fold(r, 1,
		registry.On(func(_ Copy, e Acquired) (Copy, error) { return Copy{Title: e.Title}, nil }),
		registry.On(func(c Copy, e Lent) (Copy, error) { c.LentTo = e.Member; return c, nil }),
		registry.On(func(c Copy, _ Returned) (Copy, error) { c.LentTo = ""; return c, nil }),
	)}
	loans, err := projection.Define(app.Table, app.Store, projection.Definition[Loans]{
		Name: "loans", Version: 1, Of: []string{"copy"}, Apply: registry.Model(r,
			registry.On(func(_ Loans, e Acquired) (Loans, error) { return Loans{Title: e.Title}, nil }),
			registry.On(func(l Loans, e Lent) (Loans, error) { l.LentTo = e.Member; l.Times++; return l, nil }),
			registry.On(func(l Loans, _ Returned) (Loans, error) { l.LentTo = ""; return l, nil }),
		)}, projection.Options{})
	if err = errors.Join(err, r.Check()); err == nil {
		err = errors.Join(app.Start(ctx, loans.Folds()), loans.Start(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, app.Close())
	}
	return &Desk{app, copies, loans}, nil
}

// Close closes the desk.
func (d *Desk) Close() error { return d.app.Close() }

func main() {
	if err := run(context.Background(), "", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lending:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, out io.Writer) (err error) {
	desk, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	var version int64
	for n, command := range []Command{Acquire{"The Art of Computer Programming"}, Lend{"ada"}, Lend{"grace"}, Return{}, Lend{"grace"}} {
		at, err := desk.Copies.Handle(ctx, "taocp-1", command, eventstore.CommitID(fmt.Sprint("command-", n))) // once, however often it is sent
		fmt.Fprintf(out, "%T: version %d, lent to %q, %v\n", command, at.Version, at.State.LentTo, err)
		version = max(version, at.Version)
	}
	m, err := desk.Loans.WaitFor(ctx, eventstore.ID{Type: "copy", ID: "taocp-1"}, version)
	fmt.Fprintf(out, "%+v\n", m.State)
	return err
}
