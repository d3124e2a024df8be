package sqlprojection_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/internal/seeds"
)

// While two processes run version 1 and two run version 2, and events are appended, readers of the views
// get no error and never see the number of loans go back.
func TestRebuildWhileServing(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w, d := newWorld(t), empty()
		random := rand.New(rand.NewPCG(seeds.One(t), 0))
		w.lend()
		db := d.open(t, nil)
		p := w.project(db, 1, sqlprojection.Options{})
		_, err := p.CatchUp(w.ctx)
		w.must(err)

		ctx, stop := context.WithCancel(w.ctx)
		var running sync.WaitGroup
		var reads atomic.Int64
		running.Go(func() { w.readLoans(ctx, d.open(t, nil), &reads) })
		wait := make(chan struct{})
		for _, version := range []int{1, 1, 2, 2} {
			o := sqlprojection.Options{Feed: projection.SubscribeOptions{AtOnce: 1 + random.IntN(4), Poll: time.Millisecond, Retry: time.Millisecond}}
			p := w.project(d.open(t, nil), version, o)
			running.Go(func() {
				if version == 2 {
					<-wait
				}
				if err := p.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 60 {
			w.append(random.IntN(20), []any{Acquired{"a title"}, Lent{"ada"}, Returned{}}[random.IntN(3)])
			w.feed()
			if i == 20 {
				close(wait)
			}
		}
		head, err := w.store.FeedHead(w.ctx)
		w.must(err)
		w.until(func() bool {
			all, err := p.Versions(w.ctx)
			w.must(err)
			return len(all) == 2 && all[1].Active && all[0].Position == head.Position && all[1].Position == head.Position
		})
		enough := reads.Load() + 2
		w.until(func() bool { return reads.Load() >= enough })
		stop()
		running.Wait()
		w.is("versions", w.dump(db, "_v1"), w.dump(db, "_v2"))
		w.is("views", w.dump(db, ""), w.dump(db, "_v2"))
	})
}

// readLoans reads the views until ctx ends.
func (w *world) readLoans(ctx context.Context, db *sql.DB, reads *atomic.Int64) {
	for before := int64(0); ctx.Err() == nil; reads.Add(1) {
		var n int64
		if err := db.QueryRow(`SELECT COALESCE(SUM(lent), 0) FROM members`).Scan(&n); err != nil || n < before {
			w.Errorf("%d loans after %d, %v", n, before, err)
			return
		}
		before = n
	}
}

// until waits for a state.
func (w *world) until(reached func() bool) {
	w.Helper()
	for end := time.Now().Add(time.Minute); !reached(); {
		if time.Now().After(end) {
			w.Fatal("the state was not reached in a minute")
		}
	}
}

func TestChangedDefinitionNeedsVersion(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.lend()
		db := empty().open(t, nil)
		_, err := w.project(db, 1, sqlprojection.Options{}).CatchUp(w.ctx)
		w.must(err)
		for _, change := range []func(d *sqlprojection.Definition){
			func(d *sqlprojection.Definition) { d.Schema += " DESC" },
			func(d *sqlprojection.Definition) { d.Tables = []string{"members", "books"} },
		} {
			d := w.library(1)
			change(&d)
			p, err := sqlprojection.New(w.store.Store, db, d, sqlprojection.Options{})
			w.must(err)
			if err := p.Run(w.ctx); !errors.Is(err, sqlprojection.ErrDefinition) {
				t.Errorf("%v", err)
			}
			w.is("rows", w.rows(db, `SELECT version, position FROM onefold_projections`), "1 4\n")
		}
	})
}

func TestInvalidDefinitions(t *testing.T) {
	w := newWorld(t)
	for want, change := range map[string]func(d *sqlprojection.Definition){
		"name":                    func(d *sqlprojection.Definition) { d.Name = strings.Repeat("x", 65) },
		"name ":                   func(d *sqlprojection.Definition) { d.Name = "a\x00b" },
		"name  ":                  func(d *sqlprojection.Definition) { d.Name = "a\xff" },
		"set Version":             func(d *sqlprojection.Definition) { d.Version = 0 },
		"set Version ":            func(d *sqlprojection.Definition) { d.Apply = nil },
		`table "b;"`:              func(d *sqlprojection.Definition) { d.Tables = []string{"b;"} },
		`table "b_v1"`:            func(d *sqlprojection.Definition) { d.Tables = []string{"b_v1"} },
		`table "books"`:           func(d *sqlprojection.Definition) { d.Tables = []string{"books", "books"} },
		"does not create {loans}": func(d *sqlprojection.Definition) { d.Tables = []string{"books", "loans"} },
	} {
		d := w.library(1)
		change(&d)
		_, err := sqlprojection.New(w.store.Store, nil, d, sqlprojection.Options{})
		if !errors.Is(err, sqlprojection.ErrDefinition) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestVersions(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.lend()
		db := empty().open(t, nil)
		v1, v2 := w.project(db, 1, sqlprojection.Options{}), w.project(db, 2, sqlprojection.Options{})
		if err := v1.Activate(w.ctx); err == nil {
			t.Error("a version without tables was activated")
		}
		for _, p := range []*sqlprojection.Projection{v1, v2, v1} { // the last one leaves version 2 active
			_, err := p.CatchUp(w.ctx)
			w.must(err)
		}
		w.append(3, Acquired{"Emma"})
		w.feed()
		_, err := v2.CatchUp(w.ctx)
		w.must(err)
		w.must(v1.Activate(w.ctx))
		w.is("version 1", w.dump(db, ""), lent)
		if err := v2.Remove(w.ctx, 1); !errors.Is(err, sqlprojection.ErrActive) {
			t.Errorf("%v", err)
		}
		w.must(v2.Activate(w.ctx))
		w.must(v2.Remove(w.ctx, 1))
		w.must(v2.Remove(w.ctx, 1))
		if err := v1.Activate(w.ctx); !errors.Is(err, sqlprojection.ErrNotFound) {
			t.Errorf("%v", err)
		}
		w.is("rows", w.rows(db, `SELECT version, position, active FROM onefold_projections`), "2 5 1\n")
	})
}

// The database is restored to the beginning before any transaction, and the event store to a time before
// the database.
func TestRestoredBackups(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.lend()
		found := 0
		for n, more := 1, true; more; n++ {
			d := empty()
			plain, f, begun := d.open(t, nil), &faults{}, 0
			f.begins = func() {
				if begun++; begun != n {
					return
				}
				for _, s := range []string{`DELETE FROM books_v1`, `DELETE FROM members_v1`, `UPDATE onefold_projections SET position = 0`} {
					_, err := plain.Exec(s)
					if err != nil && begun > 2 { // the tables exist
						t.Error(err)
					}
				}
			}
			p := w.project(d.open(t, f), 1, sqlprojection.Options{Feed: projection.SubscribeOptions{AtOnce: 1}})
			_, err := p.CatchUp(w.ctx)
			if errors.Is(err, sqlprojection.ErrPosition) {
				found++
			} else {
				w.must(err)
			}
			more = begun >= n
			_, err = p.CatchUp(w.ctx)
			w.must(err)
			w.is(fmt.Sprint("restored before transaction ", n), w.dump(plain, ""), lent)
			w.must(plain.Close())
		}
		if found == 0 {
			t.Error("no position went back")
		}

		d := empty()
		_, err := w.project(d.open(t, nil), 1, sqlprojection.Options{}).CatchUp(w.ctx)
		w.must(err)
		w = newWorld(t)
		w.append(1, Acquired{"Emma"})
		w.feed()
		db := d.open(t, nil)
		if _, err := w.project(db, 1, sqlprojection.Options{}).CatchUp(w.ctx); !errors.Is(err, sqlprojection.ErrPosition) {
			t.Errorf("%v", err)
		}
		_, err = w.project(db, 2, sqlprojection.Options{}).CatchUp(w.ctx)
		w.must(err)
		w.is("rebuilt", w.dump(db, ""), "1 Emma  0\n--\n")
	})
}

// The database is restored to before the switch to version 2, while its program runs: it catches up, and
// becomes active again.
func TestRestoredToBeforeTheSwitch(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w, db := newWorld(t), empty().open(t, nil)
		w.lend()
		v1 := w.project(db, 1, sqlprojection.Options{})
		_, err := v1.CatchUp(w.ctx)
		w.must(err)
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		attempts, o := 0, sqlprojection.Options{}
		o.Feed.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		o.Feed.Status = func(s projection.SubscriptionStatus) {
			w.must(s.Err)
			switch attempts++; attempts {
			case 2:
				w.is("switched", w.rows(db, `SELECT version FROM onefold_projections WHERE active = 1`), "2\n")
				w.must(v1.Activate(w.ctx))
				for _, s := range []string{`DELETE FROM books_v2`, `DELETE FROM members_v2`, `UPDATE onefold_projections SET position = 0 WHERE version = 2`} {
					_, err := db.Exec(s)
					w.must(err)
				}
			case 4:
				stop()
			}
		}
		w.must(w.project(db, 2, o).Run(ctx))
		w.is("switched again", w.rows(db, `SELECT version FROM onefold_projections WHERE active = 1`), "2\n")
		w.is("views", w.dump(db, ""), lent)
	})
}

func TestWaitFor(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w, d := newWorld(t), empty()
		ctx, stop := context.WithCancel(w.ctx)
		db := d.open(t, nil)
		waits, behind := 0, func(*world) {}
		p := w.project(db, 1, sqlprojection.Options{Within: time.Second, Poll: 100 * time.Millisecond, Sleep: func(ctx context.Context, _ time.Duration) error {
			waits++
			behind(w)
			return ctx.Err()
		}})
		w.must(p.Start(w.ctx))
		catchUp := func(w *world) {
			_, err := p.CatchUp(w.ctx)
			w.must(err)
		}
		behind = catchUp // an empty feed
		w.must(p.WaitFor(w.ctx, 0))

		before, err := p.Position(w.ctx)
		w.must(err)
		w.append(1, Acquired{"Sand"}, Lent{"ada"})
		behind = func(w *world) {
			if waits == 2 {
				w.append(2, Acquired{"Ficciones"})
				w.feed()
			} else if waits == 4 {
				catchUp(w)
			}
		}
		waits = 0
		key := eventstore.EventKey{ID: copyOf(1), Seq: 2}
		w.must(p.WaitForEvent(w.ctx, key, before))
		w.must(p.WaitForEvent(w.ctx, key, 0))
		w.must(p.WaitFor(w.ctx, 2))
		if waits != 4 {
			t.Errorf("waited %d times", waits)
		}
		for _, err := range []error{p.WaitFor(w.ctx, 3), p.WaitForEvent(w.ctx, key, 1), p.WaitForEvent(w.ctx, eventstore.EventKey{ID: copyOf(1), Seq: 3}, 0)} {
			if !errors.Is(err, sqlprojection.ErrBehind) {
				t.Errorf("%v", err)
			}
		}
		now, slow := time.Now(), 0
		p = w.project(db, 1, sqlprojection.Options{Within: time.Second, Poll: time.Millisecond,
			Clock: func() time.Time { now = now.Add(400 * time.Millisecond); return now }, // the database is slow
			Sleep: func(ctx context.Context, _ time.Duration) error { slow++; return ctx.Err() }})
		if err := p.WaitFor(w.ctx, 3); !errors.Is(err, sqlprojection.ErrBehind) || slow != 2 {
			t.Errorf("waited %d times: %v", slow, err)
		}
		stop()
		if err := p.WaitFor(ctx, 3); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// The old version advances before any transaction of the new one. The new one does not become active
// behind it.
func TestViewsDoNotGoBack(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		for n, more := 1, true; more; n++ {
			w, d := newWorld(t), empty()
			w.lend()
			db := d.open(t, nil)
			v1 := w.project(db, 1, sqlprojection.Options{})
			_, err := v1.CatchUp(w.ctx)
			w.must(err)
			f, begun := &faults{}, 0
			f.begins = func() {
				if begun++; begun == n {
					w.append(3, Acquired{"Emma"})
					w.feed()
					_, err := v1.CatchUp(w.ctx)
					w.must(err)
				}
			}
			_, err = w.project(d.open(t, f), 2, sqlprojection.Options{}).CatchUp(w.ctx)
			w.must(err)
			more = begun >= n
			all, err := v1.Versions(w.ctx)
			w.must(err)
			if !all[1].Active || all[1].Position < all[0].Position {
				t.Errorf("before transaction %d: %+v", n, all)
			}
		}
	})
}
