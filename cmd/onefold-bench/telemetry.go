package main

import (
	"context"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/telemetrybench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

type telemetryCommand struct {
	Rounds  int            `help:"Number of timed runs per ingest benchmark, after a warm-up." default:"3"`
	Turn    time.Duration  `help:"Duration of a timed run." default:"2s"`
	Clients int            `help:"Number of idle MQTT clients. Fewer if the limit on open files is lower." default:"10000"`
	Only    *regexp.Regexp `help:"Run only benchmarks whose name matches this regexp. Names: batch, lines, mqtt-10, mqtt-100, units, range, board, idle." placeholder:"REGEXP"`
	Dir     string         `help:"Directory for the tables, which are removed afterwards (default: a temporary directory)." type:"path"`

	CPUProfile string `name:"cpuprofile" help:"Write CPU profiles of the server to this file, one per benchmark (for go tool pprof)." type:"path"`
}

// Run runs the benchmarks and prints a table.
func (c *telemetryCommand) Run(ctx context.Context, std streams, g *globals) error {
	return g.benchmark(std, c.Dir, workbench.Setup{Program: g.program(), Only: c.Only, CPUProfile: c.CPUProfile}, func(setup workbench.Setup, report func(workbench.Result)) error {
		return telemetrybench.Run(ctx, telemetrybench.Options{Setup: setup, Rounds: c.Rounds, Turn: c.Turn, Clients: c.Clients}, report)
	})
}
