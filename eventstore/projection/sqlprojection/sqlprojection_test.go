package sqlprojection_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
)

func (w *world) lend() {
	w.append(1, Acquired{"Sand"})
	w.append(2, Acquired{"Ficciones"}, Lent{"ada"})
	w.append(1, Lent{"ada"})
	w.append(2, Returned{}, Lent{"grace"})
	w.feed()
}

const lent = "1 Sand ada 1\n2 Ficciones grace 2\n--\nada 2 2 1 \ngrace 1 2 \n"

func TestCatchUp(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.lend()
		db := empty().open(t, nil)
		p := w.project(db, 1, sqlprojection.Options{Feed: projection.SubscribeOptions{AtOnce: 3}})
		for range 2 {
			at, err := p.CatchUp(w.ctx)
			w.must(err)
			if at.Position != 4 {
				t.Errorf("at %d", at.Position)
			}
			w.is("views", w.dump(db, ""), lent)
			w.is("tables", w.dump(db, "_v1"), lent)
		}
		w.must(p.WaitFor(w.ctx, 4))
		all, err := p.Versions(w.ctx)
		if err != nil || len(all) != 1 || all[0].Position != 4 || !all[0].Active || all[0].UpdatedAt.IsZero() {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// An event that fails blocks the later ones, but not the earlier ones of its page.
func TestFailingEventBlocks(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		for _, kind := range []string{"error", "panic", "sql", "swallow"} {
			w := newWorld(t)
			d := empty()
			if kind == "swallow" && d.name == "sqlite" {
				continue // its transactions survive errors
			}
			w.lend()
			w.append(1, Returned{}, Faulty{kind}, Lent{"grace"})
			w.append(2, Returned{})
			w.feed()
			db := d.open(t, nil)
			p := w.project(db, 1, sqlprojection.Options{})
			for range 2 {
				_, err := p.CatchUp(w.ctx)
				failed := (*sqlprojection.EventError)(nil)
				if !errors.As(err, &failed) || failed.Position != 5 || failed.Event.Seq != 4 || failed.Event.ID != copyOf(1) || !strings.Contains(err.Error(), "library version 1: event 4 (Faulty) of copy/1 at position 5") {
					t.Fatalf("%s: %v", kind, err)
				}
				w.is(kind, w.dump(db, "_v1"), lent)
			}
			w.is("row", w.rows(db, `SELECT position, parked, active FROM onefold_projections`), "4 0 0\n")
			w.fixed.Store(true)
			_, err := p.CatchUp(w.ctx)
			w.must(err)
			w.is(kind+" fixed", w.dump(db, ""), "1 half grace 2\n2 Ficciones  2\n--\nada 2 2 1 \ngrace 2 2 1 \n")
		}
	})
}

// runUntil runs a projection until it has been tried n times, and returns the errors.
func (w *world) runUntil(db *sql.DB, version, n int, o sqlprojection.Options) (errs []error) {
	w.Helper()
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	o.Feed.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	o.Feed.Status = func(s projection.SubscriptionStatus) {
		if errs = append(errs, s.Err); len(errs) == n {
			stop()
		}
	}
	w.must(w.project(db, version, o).Run(ctx))
	return errs
}

func TestPark(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.lend()
		w.append(1, Returned{}, Faulty{"panic"}, Lent{"grace"})
		w.append("x\x00y", Faulty{"sql"})
		w.append(2, Returned{})
		w.feed()
		db := empty().open(t, nil)
		errs := w.runUntil(db, 1, 4, sqlprojection.Options{ParkAfter: 2})
		// The first event is tried twice and parked, then the next one, then the version cannot become active.
		for i, want := range []int64{5, 6, 0, 0} {
			failed := (*sqlprojection.EventError)(nil)
			if want > 0 != errors.As(errs[i], &failed) || want > 0 && failed.Position != want || want == 0 && !errors.Is(errs[i], sqlprojection.ErrParked) {
				t.Errorf("attempt %d: %v", i+1, errs[i])
			}
		}
		w.append(1, Returned{})
		w.feed()
		p := w.project(db, 1, sqlprojection.Options{})
		_, err := p.CatchUp(w.ctx)
		if !errors.Is(err, sqlprojection.ErrParked) {
			t.Errorf("caught up with %v", err)
		}
		w.must(p.Activate(w.ctx))
		w.is("parked", w.dump(db, ""), "1 Sand  1\n2 Ficciones  2\n--\nada 2 2 1 \ngrace 1 2 \n")
		w.parked(p, "5 copy/1 4 Faulty 2, 5 copy/1 5 Lent 0, 6 copy/x\x00y 1 Faulty 2, 8 copy/1 6 Returned 0")

		n, err := p.Retry(w.ctx)
		if w.must(err); n != 0 {
			t.Errorf("%d were applied", n)
		}
		w.parked(p, "5 copy/1 4 Faulty 3, 5 copy/1 5 Lent 0, 6 copy/x\x00y 1 Faulty 3, 8 copy/1 6 Returned 0")
		n, err = p.Discard(w.ctx, eventstore.ID{Type: "copy", ID: "x\x00y"})
		if w.must(err); n != 1 {
			t.Errorf("%d were discarded", n)
		}
		w.fixed.Store(true)
		n, err = p.Retry(w.ctx, copyOf(1))
		if w.must(err); n != 3 {
			t.Errorf("%d were applied", n)
		}
		w.parked(p, "")
		w.is("retried", w.dump(db, ""), "1 half  2\n2 Ficciones  2\n--\nada 2 2 1 \ngrace 2 2 1 \n")
		w.is("row", w.rows(db, `SELECT position, parked, active FROM onefold_projections`), "8 0 1\n")
	})
}

func (w *world) parked(p *sqlprojection.Projection, want string) {
	w.Helper()
	all, err := p.Parked(w.ctx)
	w.must(err)
	var have []string
	for _, e := range all {
		if e.Attempts > 0 != (e.Reason != "") || e.EventID == "" || e.ParkedAt.IsZero() {
			w.Errorf("%+v", e)
		}
		have = append(have, strings.TrimSpace(fmt.Sprintln(e.Position, e.EventKey.ID, e.Seq, e.EventType, e.Attempts)))
	}
	w.is("parked", strings.Join(have, ", "), strings.ReplaceAll(want, "\\x00", "\x00"))
}

// A version with as many parked events as it may have blocks.
func TestParkedEventsAreBounded(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.append(1, Acquired{"Sand"}, Faulty{}, Returned{})
		w.append(2, Acquired{"Ficciones"})
		w.append(1, Lent{"ada"})
		w.append(3, Acquired{"Emma"})
		w.feed()
		db := empty().open(t, nil)
		for _, most := range []int{1, 2} {
			_, err := w.project(db, 1, sqlprojection.Options{ParkAfter: 1, MostParked: most}).CatchUp(w.ctx)
			if !errors.Is(err, sqlprojection.ErrFull) {
				t.Errorf("%v", err)
			}
			w.is("row", w.rows(db, `SELECT position, parked, active FROM onefold_projections`), []string{"", "0 0 0\n", "2 2 0\n"}[most])
		}
		w.is("tables", w.dump(db, "_v1"), "1 Sand  0\n2 Ficciones  0\n--\n")
	})
}
