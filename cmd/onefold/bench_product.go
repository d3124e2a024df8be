package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

// benchmark completes the setup of a product's benchmark, runs it and prints its results. The
// benchmark works in a new directory inside dir (if dir is empty, inside the system's temporary
// directory), which is removed afterwards.
func (g *globals) benchmark(std streams, dir string, setup workbench.Setup, run func(workbench.Setup, func(workbench.Result)) error) (err error) {
	setup.Progress = func(doing string) { fmt.Fprintln(std.err, doing) }
	setup.Open = g.benchOpen(std.err)
	if setup.Program, err = os.Executable(); err != nil {
		return err
	}
	if setup.Dir, err = os.MkdirTemp(dir, "onefold-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(setup.Dir)
	results := []workbench.Result{}
	err = run(setup, func(r workbench.Result) { results = append(results, r) })
	if g.JSON {
		return errors.Join(err, printJSON(std.out, results))
	}
	return errors.Join(err, printBenchResults(std.out, results))
}

// longestHold is the maximum time that the folds of a benchmark hold items.
const longestHold = 30 * time.Minute

// benchOpen returns the function that opens tables for benchmarks without a server.
func (g *globals) benchOpen(logs io.Writer) workbench.Open {
	return func(ctx context.Context, dir string, t workbench.Time) (*workbench.Store, error) {
		tune := delayed(&t.Delays)
		tune.clock, tune.sleep = t.Clock, t.Sleep
		tune.wait = min(tune.wait, longestHold)
		s, err := g.within(dir).openStore(ctx, logs, tune)
		if err != nil {
			return nil, err
		}
		return &workbench.Store{DB: s.Engine, Table: s.table, Worker: s.worker, Accounts: s.accounts, Folding: s.folding}, nil
	}
}

func printBenchResults(out io.Writer, results []workbench.Result) error {
	if len(results) == 0 {
		return nil
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "work\tfigure\treference\tgoal\t")
	for _, r := range results {
		var reference, goal, verdict string
		if r.Against != "" {
			reference = fmt.Sprintf("%s, %s", figure(r.Reference), r.Against)
		}
		if r.Goal != 0 {
			goal, verdict = fmt.Sprintf("≥ %g", r.Goal), "missed"
			if r.Most {
				goal = fmt.Sprintf("≤ %g", r.Goal)
			}
			if r.Reached() {
				verdict = "reached"
			}
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\t%s\n", r.Name, figure(r.Value), r.Unit, reference, goal, verdict)
	}
	w.Flush() // cannot fail, the writer is a buffer
	_, err := out.Write(b.Bytes())
	return err
}

// figure formats f with a sensible number of digits.
func figure(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}
