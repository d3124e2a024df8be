package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/profile"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/enginebench"
)

type engineCommand struct {
	Items    int            `help:"Number of items in the table before measuring starts, a multiple of 100." default:"100000"`
	Rounds   int            `help:"Number of timed runs per side of a comparison." default:"5"`
	Turn     time.Duration  `help:"Duration of a timed run." default:"1s"`
	Only     *regexp.Regexp `help:"Run only benchmarks whose name matches this regexp." placeholder:"REGEXP"`
	Dir      string         `help:"Directory for the databases. A database of the same size left by an earlier run is reused (default: a temporary directory, removed afterwards)." type:"path"`
	Dynalite string         `help:"Command that starts dynalite, to measure it too, such as node_modules/.bin/dynalite." placeholder:"COMMAND"`

	CPUProfile string `name:"cpuprofile" help:"Write a CPU profile to this file (for go tool pprof)." type:"path"`
}

// Run runs the benchmarks and prints each result when it is known.
func (c *engineCommand) Run(ctx context.Context, std streams, g *globals) error {
	o := enginebench.Options{Items: c.Items / 100 * 100, Rounds: c.Rounds, Turn: c.Turn, Dynalite: c.Dynalite, Processors: goruntime.Processors(), CPUSeconds: cpuSeconds, Logger: slog.New(slog.DiscardHandler)}
	o.Progress = func(doing string) { fmt.Fprintln(std.err, doing) }
	o.Only = c.Only
	var err error
	if o.Program, err = exec.LookPath(g.program()); err != nil {
		fmt.Fprintln(std.err, "skipped: the memory of an idle server, because there is no onefold binary: build it with `make build`, or set --onefold")
	}
	if o.Dir = c.Dir; o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "onefold-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.Dir)
	}
	stop, err := profile.CPU(c.CPUProfile)
	if err != nil {
		return err
	}
	var results []enginebench.Result
	err = enginebench.Run(ctx, o, func(r enginebench.Result) { results = append(results, r) })
	if stopped := stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	if g.JSON {
		return terminal.JSON(std.out, results)
	}
	return printEngineResults(std.out, results)
}

func printEngineResults(out io.Writer, results []enginebench.Result) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "work\tfigure\ttime\tprocessor\treference\tprocessor\tratio\tgoal\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.0f %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Value, r.Unit, micros(r.Micros), micros(r.CPUMicros), reference(r), micros(r.ReferenceCPUMicros), ratio(r), goal(r), verdict(r))
	}
	w.Flush() // cannot fail, the writer is a buffer
	_, err := out.Write(b.Bytes())
	return err
}

func micros(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f µs", v)
}

func reference(r enginebench.Result) string {
	if r.Against == "" {
		return ""
	}
	return fmt.Sprintf("%.0f %s, %s", r.Reference, r.Unit, r.Against)
}

func ratio(r enginebench.Result) string {
	if r.Against == "" {
		return ""
	}
	return fmt.Sprintf("%.2f", r.Ratio)
}

func goal(r enginebench.Result) string {
	switch {
	case r.Goal == 0:
		return ""
	case r.Most:
		return fmt.Sprintf("≤ %g", r.Goal)
	}
	return fmt.Sprintf("≥ %g", r.Goal)
}

func verdict(r enginebench.Result) string {
	switch {
	case r.Goal == 0:
		return ""
	case r.Reached():
		return "reached"
	}
	return "missed"
}
