package main

import (
	"cmp"
	"context"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

type analyticsCommand struct {
	Events int            `help:"Number of events of the site whose dashboard is measured." default:"1000000"`
	Pages  int            `help:"Number of distinct pages of that site." default:"50000"`
	Rounds int            `help:"Number of timed runs per ingest benchmark." default:"5"`
	Turn   time.Duration  `help:"Duration of a timed run." default:"5s"`
	Only   *regexp.Regexp `help:"Run only benchmarks whose name matches this regexp. Names: single, batch, lines, size, dashboard." placeholder:"REGEXP"`
	Dir    string         `help:"Directory for the tables. The site whose dashboard is measured is kept, and reused by a run with as many events and pages (default: a temporary directory, removed afterwards)." type:"path"`

	CPUProfile string `name:"cpuprofile" help:"Write CPU profiles of the server to this file, one per benchmark (for go tool pprof)." type:"path"`
}

// Run runs the benchmarks and prints a table.
func (c *analyticsCommand) Run(ctx context.Context, std streams, g *globals) error {
	return g.benchmark(std, c.Dir, workbench.Setup{Program: g.program(), Only: c.Only, CPUProfile: c.CPUProfile}, func(setup workbench.Setup, report func(workbench.Result)) error {
		return analyticsbench.Run(ctx, analyticsbench.Options{
			Setup: setup, Filled: cmp.Or(c.Dir, setup.Dir), Events: c.Events, Pages: c.Pages, Rounds: c.Rounds, Turn: c.Turn,
		}, report)
	})
}
