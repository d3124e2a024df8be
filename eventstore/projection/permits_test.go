package projection_test

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/recorded"
)

// permit is one row of the recorded permit applications: a step in one application.
type permit struct {
	Case       string    `json:"-"`
	Step       string    `json:"-"`
	Task       string    `json:"task"`
	Department string    `json:"department"`
	Ended      bool      `json:"ended"` // whether the application is finished, which each of its rows says
	At         time.Time `json:"-"`
}

// permits returns all rows in file order.
func permits(t testing.TB) (rows []permit) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	f, err := os.Open(recorded.Path(t, recorded.PermitReceipts))
	must(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(err)
	r := csv.NewReader(z)
	head, err := r.Read()
	must(err)
	column := map[string]int{}
	for i, name := range head {
		column[name] = i
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows
		}
		must(err)
		at, err := time.Parse("2006-01-02 15:04:05.999999-07:00", row[column["time:timestamp"]])
		must(err)
		rows = append(rows, permit{
			Case: row[column["case:concept:name"]], Step: row[column["concept:name"]], Task: row[column["concept:instance"]],
			Department: row[column["case:department"]], Ended: row[column["case:enddate"]] != "", At: at,
		})
	}
}

// application is the read model: the current state of a permit application.
type application struct {
	Department string `dynamodbav:"department"`
	Step       string `dynamodbav:"step"`
	Ended      bool   `dynamodbav:"ended,omitempty"`
}

// importPermits appends each row once. The row's task is unique and becomes the ID of the append.
func (w *world) importPermits(rows []permit) (again int) {
	w.Helper()
	for _, row := range rows {
		payload, err := json.Marshal(row)
		w.must(err)
		c, err := w.store.Append(w.ctx, eventstore.ID{Type: "application", ID: row.Case}, eventstore.Any(),
			[]eventstore.NewEvent{{Type: row.Step, OccurredAt: row.At, Payload: payload}}, eventstore.CommitID(row.Task))
		w.must(err)
		if c.Again {
			again++
		}
	}
	return again
}

func (w *world) applications(version int) (*projection.Projection[application], *projection.Groups[application, cityTotal]) {
	w.Helper()
	p, err := projection.Define(w.table, w.store, projection.Definition[application]{
		Name: "applications", Version: version, Of: []string{"application"},
		Apply: func(a *application, e *eventstore.Event) error {
			var row permit
			err := json.Unmarshal(e.Payload, &row)
			a.Department, a.Step, a.Ended = row.Department, e.EventType, row.Ended
			return err
		},
	}, projection.Options{Sleep: w.sleep})
	w.must(err)
	g, err := projection.GroupBy(p, projection.Grouping[application, cityTotal]{
		Name: "open",
		Add: func(m *projection.Model[application], sign int, at func(string) *cityTotal) {
			if !m.State.Ended {
				at(m.State.Department + " / " + m.State.Step).Open += sign
			}
		},
		Merge: func(into, add *cityTotal) { into.Open += add.Open },
		Empty: func(c *cityTotal) bool { return c.Open == 0 },
	})
	w.must(err)
	return p, g
}

// TestPermitApplications imports recorded permit applications: 4,443 events of 1,434 applications.
// The number of open ones per department and step matches a direct count, also after a second
// import and after a rebuild.
func TestPermitApplications(t *testing.T) {
	rows := permits(t)
	last, steps := map[string]permit{}, map[string]bool{}
	for _, row := range rows { // the rows of an application are in order of time
		if row.At.Before(last[row.Case].At) {
			t.Fatalf("%s goes back in time", row.Case)
		}
		last[row.Case], steps[row.Step] = row, true
	}
	if len(rows) != 4443 || len(last) != 1434 || len(steps) != 17 {
		t.Fatalf("the file has %d events of %d types in %d applications, want 4,443 of 17 in 1,434", len(rows), len(steps), len(last))
	}
	count := map[string]int{}
	for _, row := range last {
		if !row.Ended {
			count[row.Department+" / "+row.Step]++
		}
	}
	var want []string
	for _, group := range slices.Sorted(maps.Keys(count)) {
		want = append(want, fmt.Sprint(group, ": ", count[group]))
	}

	w := newWorld(t)
	p, open := w.applications(1)
	w.must(p.Start(w.ctx))
	two, openTwo := w.applications(2)
	folds := slices.Concat(eventstore.Folds(), p.Folds(), two.Folds())
	check := func(when string, worker *fold.Worker, g *projection.Groups[application, cityTotal]) {
		t.Helper()
		w.must(worker.Drain(w.ctx))
		groups, err := g.All(w.ctx)
		w.must(err)
		var have []string
		for _, g := range groups {
			have = append(have, fmt.Sprint(g.Group, ": ", g.State.Open))
		}
		w.is(when, strings.Join(have, "\n"), strings.Join(want, "\n"))
		if h, err := w.store.FeedHead(w.ctx); err != nil || h.Position != int64(len(rows)) {
			t.Errorf("%s: the feed is at %d (%v), want %d", when, h.Position, err, len(rows))
		}
	}
	worker := w.worker(folds...)
	if again := w.importPermits(rows); again != 0 {
		t.Errorf("%d were imported before", again)
	}
	check("imported", worker, open)
	if again := w.importPermits(rows); again != len(rows) {
		t.Errorf("imported twice, %d of %d were there", again, len(rows))
	}
	check("imported twice", worker, open)
	c, err := two.Rebuild(w.ctx, projection.RebuildOptions{CaughtUp: worker.Drain})
	w.must(err)
	if c.Aggregates != 1434 || c.Same != 1434 {
		t.Errorf("rebuilt, they compare as %+v", c)
	}
	check("rebuilt", worker, openTwo)
	w.must(two.Remove(w.ctx, 1))
	check("after the first version was removed", w.worker(slices.Concat(eventstore.Folds(), two.Folds())...), openTwo)
}
