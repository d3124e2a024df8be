package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

type benchAnalytics struct {
	Events int            `help:"Events of the site whose dashboard is measured." default:"1000000"`
	Pages  int            `help:"Distinct pages of that site." default:"50000"`
	Rounds int            `help:"Turns of each measure of ingest." default:"5"`
	Turn   time.Duration  `help:"Length of a turn." default:"5s"`
	Only   *regexp.Regexp `help:"Take the measures whose names match: single, batch, size, dashboard." placeholder:"REGEXP"`
	Dir    string         `help:"Where to put the tables. The site whose dashboard is measured is left there, and used again by a run of as many events and pages. Default: a temporary directory, removed afterwards." type:"path"`

	CPUProfile string `name:"cpuprofile" help:"Write processor profiles of the server here, one a measure, for go tool pprof." type:"path"`
}

// Run takes the measures and prints a table.
func (c *benchAnalytics) Run(ctx context.Context, std streams, g *globals) error {
	o := analyticsbench.Options{
		Events: c.Events, Pages: c.Pages, Rounds: c.Rounds, Turn: c.Turn, Only: c.Only, CPUProfile: c.CPUProfile,
		Progress: func(doing string) { fmt.Fprintln(std.err, doing) },
		Open:     g.benchOpen(std.err),
	}
	var err error
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	if o.Dir, err = os.MkdirTemp(c.Dir, "onefold-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.Dir)
	if o.Filled = c.Dir; o.Filled == "" {
		o.Filled = o.Dir
	}
	var results []workbench.Result
	err = analyticsbench.Run(ctx, o, func(r workbench.Result) { results = append(results, r) })
	if g.JSON {
		return errors.Join(err, printJSON(std.out, results))
	}
	return errors.Join(err, printBenchResults(std.out, results))
}

// longestHold is how long folds let items wait at most.
const longestHold = 30 * time.Minute

// benchOpen opens tables for what is measured without a server.
func (g *globals) benchOpen(logs io.Writer) workbench.Open {
	return func(ctx context.Context, dir string, t workbench.Time) (*workbench.Store, error) {
		own, tune := *g, delayed(t.FoldDelay)
		own.Data, tune.clock, tune.sleep = dir, t.Clock, t.Sleep
		tune.wait = min(tune.wait, longestHold)
		s, err := own.openStore(ctx, logs, tune)
		if err != nil {
			return nil, err
		}
		return &workbench.Store{DB: s.db, Table: s.table, Worker: s.worker, Accounts: s.accounts, Folding: s.folding}, nil
	}
}

func printBenchResults(out io.Writer, results []workbench.Result) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "work\tfigure\treference\tgoal\t")
	for _, r := range results {
		var reference, goal, verdict string
		if r.Against != "" {
			reference = fmt.Sprintf("%g, %s", r.Reference, r.Against)
		}
		if r.Goal != 0 {
			goal, verdict = fmt.Sprintf("≥ %g", r.Goal), "not reached"
			if r.Most {
				goal = fmt.Sprintf("≤ %g", r.Goal)
			}
			if r.Reached() {
				verdict = "reached"
			}
		}
		digits := 0
		if r.Value < 10 {
			digits = 2
		}
		fmt.Fprintf(w, "%s\t%.*f %s\t%s\t%s\t%s\n", r.Name, digits, r.Value, r.Unit, reference, goal, verdict)
	}
	w.Flush() // into a buffer, which does not fail
	_, err := out.Write(b.Bytes())
	return err
}
