package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/telemetrybench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

type benchTelemetry struct {
	Rounds  int            `help:"Turns of each measure of ingest, after one that warms up." default:"3"`
	Turn    time.Duration  `help:"Length of a turn." default:"2s"`
	Clients int            `help:"Idle clients of MQTT. Fewer where the system lets a process have fewer files open." default:"10000"`
	Only    *regexp.Regexp `help:"Take the measures whose names match: batch, lines, mqtt-10, mqtt-100, units, range, board, idle." placeholder:"REGEXP"`
	Dir     string         `help:"Where to put the tables, which are removed afterwards. Default: a temporary directory." type:"path"`

	CPUProfile string `name:"cpuprofile" help:"Write processor profiles of the server here, one a measure, for go tool pprof." type:"path"`
}

// Run takes the measures and prints a table.
func (c *benchTelemetry) Run(ctx context.Context, std streams, g *globals) error {
	o := telemetrybench.Options{
		Rounds: c.Rounds, Turn: c.Turn, Clients: c.Clients, Only: c.Only, CPUProfile: c.CPUProfile,
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
	results := []workbench.Result{}
	err = telemetrybench.Run(ctx, o, func(r workbench.Result) { results = append(results, r) })
	if g.JSON {
		return errors.Join(err, printJSON(std.out, results))
	}
	return errors.Join(err, printBenchResults(std.out, results))
}
