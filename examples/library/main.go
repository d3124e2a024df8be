// Command library is examples/lending, grown up: members whose e-mail addresses are unique and who can
// be forgotten, holds with deadlines, and a page that searches the catalog.
//
// Each file has one of these: copies.go, members.go, holds.go (a process manager) and search.go (a
// read model in SQLite). This one puts them together. docs/guides/eventstore.md introduces it.
package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite"

	"github.com/onefold/onefold/eventstore/embedded"
	"github.com/onefold/onefold/eventstore/process"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/eventstore/registry"
	"github.com/onefold/onefold/eventstore/shred"
)

// Library is the application.
type Library struct {
	Copies  *registry.Decider[Copy, CopyCommand]
	Titles  *registry.Decider[[]string, PlaceHold]
	Members *registry.Decider[Member, Register]
	Holds   *process.Manager[Holds]
	Catalog *sqlprojection.Projection

	app  *embedded.App
	sql  *sql.DB
	stop context.CancelFunc
	done sync.WaitGroup
	errs [2]error // of what runs
}

// Open opens the library in a directory. master has the 32 bytes that the keys of members are encrypted
// with; keep it elsewhere. collect is how long a copy is kept for a member to collect it.
func Open(ctx context.Context, dir string, master []byte, collect time.Duration) (_ *Library, err error) {
	personal, err := shred.Of[Registered]("Registered")
	if err != nil {
		return nil, err
	}
	keys := &shred.Options{Masters: []shred.Master{{ID: "1", Key: master}}, Personal: []shred.Personal{personal}}
	l := &Library{}
	if l.app, err = embedded.Open(ctx, filepath.Join(dir, "events"), embedded.Options{Keys: keys}); err != nil {
		return nil, err
	}
	if err := l.start(ctx, filepath.Join(dir, "catalog.db"), collect); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Library) start(ctx context.Context, catalogFile string, collect time.Duration) (err error) {
	r := types()
	s := l.app.Store
	l.Copies, l.Titles, l.Members = copies(s, r), titles(s, r), members(s, r)
	if l.Holds, err = holds(s, r, collect); err != nil {
		return err
	}
	if l.sql, err = sql.Open("sqlite", "file:"+catalogFile+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"); err != nil {
		return err
	}
	failures := projection.SubscribeOptions{Status: func(at projection.SubscriptionStatus) {
		if at.Err != nil { // it is retried
			slog.Error("The catalog is behind.", "error", at.Err)
		}
	}}
	if l.Catalog, err = sqlprojection.New(s, l.sql, catalog(r), sqlprojection.Options{Feed: failures}); err != nil {
		return err
	}
	if err := errors.Join(r.Check(), l.app.Start(ctx), l.Catalog.Start(ctx)); err != nil {
		return err
	}
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.done.Go(func() { l.errs[0] = l.Holds.Run(ctx) })
	l.done.Go(func() { l.errs[1] = l.Catalog.Run(ctx) })
	return nil
}

// types registers the types of events, and of the commands that the process stores.
func types() *registry.Registry {
	r := registry.New(registry.Options{})
	registry.Register[Acquired](r, "Acquired", 1)
	registry.Register[Lent](r, "Lent", 1)
	registry.Register[Returned](r, "Returned", 1)
	registry.Register[Offered](r, "Offered", 1)
	registry.Register[Withdrawn](r, "Withdrawn", 1)
	registry.Register[Registered](r, "Registered", 1)
	registry.Register[HoldPlaced](r, "HoldPlaced", 1)
	registry.Register[Offer](r, "Offer", 1)
	registry.Register[Withdraw](r, "Withdraw", 1)
	return r
}

// Close closes the library.
func (l *Library) Close() error {
	if l.stop != nil {
		l.stop()
		l.done.Wait()
	}
	err := errors.Join(l.errs[0], l.errs[1], l.app.Close())
	if l.sql != nil {
		err = errors.Join(err, l.sql.Close())
	}
	return err
}

func main() {
	dir := flag.String("dir", "library", "directory of the library")
	address := flag.String("address", "127.0.0.1:8090", "address of the search page")
	collect := flag.Duration("collect", 3*24*time.Hour, "how long a copy waits for a member")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *dir, *address, *collect); err != nil {
		fmt.Fprintln(os.Stderr, "library:", err)
		os.Exit(1)
	}
}

// serve opens the library with a few books, and serves its page until ctx ends.
func serve(ctx context.Context, dir, address string, collect time.Duration) (err error) {
	master, err := hex.DecodeString(os.Getenv("LIBRARY_KEY"))
	if err != nil || len(master) != 32 {
		return errors.New("set LIBRARY_KEY to 64 random hexadecimal digits, for example from: openssl rand -hex 32")
	}
	l, err := Open(ctx, dir, master, collect)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for id, title := range map[string]string{"taocp-1": "The Art of Computer Programming", "taocp-2": "The Art of Computer Programming", "ddia-1": "Designing Data-Intensive Applications"} {
		if _, err := l.Copies.Handle(ctx, id, Acquire{title}); err != nil {
			return err
		}
	}
	server := &http.Server{Addr: address, Handler: l, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Printf("Search the catalog at http://%s/?q=art\n", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
