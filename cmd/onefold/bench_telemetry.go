package main

import (
	"context"
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

// Run runs the benchmarks and prints a table.
func (c *benchTelemetry) Run(ctx context.Context, std streams, g *globals) error {
	return g.benchmark(std, c.Dir, workbench.Setup{Only: c.Only, CPUProfile: c.CPUProfile}, func(setup workbench.Setup, report func(workbench.Result)) error {
		return telemetrybench.Run(ctx, telemetrybench.Options{Setup: setup, Rounds: c.Rounds, Turn: c.Turn, Clients: c.Clients}, report)
	})
}
