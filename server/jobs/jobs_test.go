package jobs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
)

type progress struct{ Done int }

// world is a table, and servers of it.
type world struct {
	*testing.T
	db     *enginetest.DB
	boards []*jobs.Board[progress]
	works  []*background.Work
}

func newWorld(t *testing.T, servers int) *world {
	t.Helper()
	w := &world{T: t, db: enginetest.New(t)}
	must(t, jobs.Schema.Ensure(t.Context(), w.db, "jobs"))
	for range servers {
		work := background.New()
		t.Cleanup(work.Close)
		tbl := table.New(w.db, "jobs", table.Options{Clock: w.db.Now})
		w.boards = append(w.boards, jobs.NewBoard[progress](tbl, "verify", 2, work, slog.New(slog.NewTextHandler(t.Output(), nil))))
		w.works = append(w.works, work)
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want checks what every server reports about a subject.
func (w *world) want(on string, done int, phase jobs.Phase) {
	w.Helper()
	for i, b := range w.boards {
		if p, is, err := b.Last(w.Context(), on); err != nil || is != phase || p.Done != done {
			w.Errorf("server %d says of %s %+v, %v, %v, not %d, %v", i, on, p, is, err, done, phase)
		}
	}
}

func TestEveryServerReportsProgress(t *testing.T) {
	w, ctx := newWorld(t, 2), t.Context()
	w.want("blog", 0, jobs.None)
	job, err := w.boards[0].Begin(ctx, "a", "blog", progress{3})
	must(t, err)
	w.want("blog", 3, jobs.Under)
	for i, b := range w.boards {
		if _, err := b.Begin(ctx, "b", "blog", progress{}); !errors.Is(err, jobs.ErrBusy) {
			t.Errorf("server %d begins a second: %v", i, err)
		}
	}
	job.Change(func(p *progress) { p.Done = 7 })
	must(t, job.End(ctx, func(*progress) {}))
	w.want("blog", 7, jobs.Ended)
	again, err := w.boards[1].Begin(ctx, "c", "blog", progress{1})
	must(t, err)
	must(t, again.Drop(ctx))
	w.want("blog", 0, jobs.None)
}

func TestBounds(t *testing.T) {
	w, ctx := newWorld(t, 2), t.Context()
	for _, on := range []string{"a", "b"} {
		_, err := w.boards[0].Begin(ctx, on, on, progress{})
		must(t, err)
	}
	if _, err := w.boards[0].Begin(ctx, "c", "c", progress{}); !errors.Is(err, jobs.ErrBusy) {
		t.Errorf("a third: %v", err)
	}
	w.works[1].Close()
	if _, err := w.boards[1].Begin(ctx, "c", "c", progress{}); !errors.Is(err, jobs.ErrStopping) {
		t.Errorf("on a server that ends: %v", err)
	}
}

// A server that was paused finds its job replaced, and publishes no more states.
func TestReplacedJob(t *testing.T) {
	w, ctx := newWorld(t, 2), t.Context()
	paused, err := w.boards[0].Begin(ctx, "a", "blog", progress{1})
	must(t, err)
	w.works[0].Close() // it publishes no more states
	w.db.Advance(31 * time.Second)
	if _, phase, err := w.boards[1].Last(ctx, "blog"); phase != jobs.Lost || err != nil {
		t.Fatalf("after half a minute of silence: %v, %v", phase, err)
	}
	other, err := w.boards[1].Begin(ctx, "b", "blog", progress{5})
	must(t, err)
	paused.Change(func(p *progress) { p.Done = 2 })
	must(t, paused.End(ctx, func(*progress) {}))
	w.want("blog", 5, jobs.Under)
	must(t, other.End(ctx, func(*progress) {}))
	w.want("blog", 5, jobs.Ended)
	w.db.Advance(25 * time.Hour)
	w.want("blog", 0, jobs.None)
	_, err = w.boards[1].Begin(ctx, "c", "blog", progress{}) // an expired item does not block
	must(t, err)
}

// Of many concurrent attempts to begin, one succeeds.
func TestOnlyOneBegins(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w, ctx := newWorld(t, 4), t.Context()
	for range 50 {
		begun := make(chan *jobs.Job[progress], len(w.boards))
		for i, b := range w.boards {
			go func() {
				job, err := b.Begin(ctx, fmt.Sprint("job ", i), "blog", progress{})
				if err != nil && !errors.Is(err, jobs.ErrBusy) {
					t.Error(err)
				}
				begun <- job
			}()
		}
		var mine []*jobs.Job[progress]
		for range w.boards {
			if job := <-begun; job != nil {
				mine = append(mine, job)
			}
		}
		if len(mine) != 1 {
			t.Fatalf("%d began", len(mine))
		}
		if random.IntN(2) == 0 {
			must(t, mine[0].End(ctx, func(*progress) {}))
		} else {
			must(t, mine[0].Drop(ctx))
		}
	}
}

// After a client has seen the end of a job, the next can begin at once, on any server.
func TestNextJobAfterTheEnd(t *testing.T) {
	w, ctx := newWorld(t, 2), t.Context()
	job, err := w.boards[0].Begin(ctx, "0", "blog", progress{})
	must(t, err)
	for i := range 200 {
		ended := make(chan error, 1)
		go func() { ended <- job.End(ctx, func(p *progress) { p.Done = i + 1 }) }()
		asked, next := w.boards[i%2], w.boards[i/2%2]
		for {
			p, phase, err := asked.Last(ctx, "blog")
			must(t, err)
			if phase == jobs.Ended && p.Done == i+1 {
				break
			}
			if phase != jobs.Under || p.Done == i+1 {
				t.Fatalf("job %d tells %+v in phase %v", i, p, phase)
			}
		}
		job, err = next.Begin(ctx, fmt.Sprint(i+1), "blog", progress{})
		if err != nil {
			t.Fatalf("after job %d: %v", i, err)
		}
		must(t, <-ended)
	}
}
