package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

// benchmark completes the setup of a product's benchmark, runs it and prints its results. The
// benchmark works in a new directory inside dir (if dir is empty, inside the system's temporary
// directory), which is removed afterwards.
func (g *globals) benchmark(std streams, dir string, setup workbench.Setup, run func(workbench.Setup, func(workbench.Result)) error) (err error) {
	setup.Progress = func(doing string) { fmt.Fprintln(std.err, doing) }
	setup.Open = g.opener(std.err)
	if setup.Dir, err = os.MkdirTemp(dir, "onefold-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(setup.Dir)
	results := []workbench.Result{}
	err = run(setup, func(r workbench.Result) { results = append(results, r) })
	if g.JSON {
		return errors.Join(err, terminal.JSON(std.out, results))
	}
	return errors.Join(err, printResults(std.out, results))
}

func printResults(out io.Writer, results []workbench.Result) error {
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
