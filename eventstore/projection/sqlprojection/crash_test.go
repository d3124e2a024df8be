package sqlprojection_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/eventstore/projection/sqlprojection"
	"github.com/onefold/onefold/internal/seeds"
)

// TestCrashes crashes a process before and after each of its statements, from the creation of the
// tables to a retry of parked events and the removal of a version. The next process ends where one
// that never crashed does.
func TestCrashes(t *testing.T) {
	onEach(t, func(t *testing.T, empty func() database) {
		w := newWorld(t)
		w.lend()
		w.append(1, Returned{}, Faulty{"sql"}, Lent{"grace"})
		w.append(3, Acquired{"Emma"}, Lent{"ada"}, Lent{"ada"})
		w.append(1, Returned{}, Lent{"ada"})
		w.feed()
		const row = "2 7 0 1 books members\n"
		random := rand.New(rand.NewPCG(seeds.One(t), 0))
		crashes, stride := 0, 1
		if testing.Short() || empty().name == "postgres" {
			stride = 15
		}
		for n := 1; ; n++ {
			var crashed bool
			for _, after := range []bool{false, true} {
				d := empty()
				f := &faults{left: n, after: after}
				err := w.liveOn(d, t, f)
				if crashed = f.isCrashed(); crashed {
					crashes++
					err = w.liveOn(d, t, nil)
				}
				if err != nil {
					t.Fatalf("crash at %d, after it %v: %v", n, after, err)
				}
				db := d.open(t, nil)
				w.is(fmt.Sprintf("crash at %d, after it %v", n, after), w.dump(db, ""), crashed2)
				w.is("row", w.rows(db, `SELECT version, position, parked, active, tables FROM onefold_projections`), row)
				w.must(db.Close())
			}
			if !crashed {
				break
			}
			if stride > 1 {
				n += random.IntN(stride)
			}
		}
		t.Logf("%d crashes", crashes)
	})
}

// liveOn is the life of a process: version 1 parks an aggregate and retries it later, then version 2
// replaces it. A process that begins after a crash does everything that is left.
func (w *world) liveOn(d database, t testing.TB, f *faults) error {
	db := d.open(t, f)
	defer db.Close()
	o := sqlprojection.Options{ParkAfter: 1, Feed: projection.SubscribeOptions{AtOnce: 3}}
	v1, v2 := w.project(db, 1, o), w.project(db, 2, o)
	w.fixed.Store(false)
	if _, err := v1.CatchUp(w.ctx); err != nil && !errors.Is(err, sqlprojection.ErrParked) {
		return err
	}
	w.fixed.Store(true)
	if _, err := v1.Retry(w.ctx); err != nil {
		return err
	}
	if _, err := v1.CatchUp(w.ctx); err != nil {
		return err
	}
	if f == nil {
		w.is("version 1", w.dump(db, "_v1"), crashed1)
	}
	if _, err := v2.CatchUp(w.ctx); err != nil {
		return err
	}
	return v2.Remove(w.ctx, 1)
}

// crashed1 and crashed2 are the tables of the two versions. Copy 1 was parked in version 1, so ada's
// loans of copy 3 came first.
const (
	crashed1 = "1 half ada 3\n2 Ficciones grace 2\n3 Emma ada 2\n--\nada 5 2 1 3 3 1 \ngrace 2 2 1 \n"
	crashed2 = crashed1
)
