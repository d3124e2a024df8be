package main

import (
	"cmp"
	"context"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

type benchAnalytics struct {
	Events int            `help:"Events of the site whose dashboard is measured." default:"1000000"`
	Pages  int            `help:"Distinct pages of that site." default:"50000"`
	Rounds int            `help:"Turns of each measure of ingest." default:"5"`
	Turn   time.Duration  `help:"Length of a turn." default:"5s"`
	Only   *regexp.Regexp `help:"Take the measures whose names match: single, batch, lines, size, dashboard." placeholder:"REGEXP"`
	Dir    string         `help:"Where to put the tables. The site whose dashboard is measured is left there, and used again by a run of as many events and pages. Default: a temporary directory, removed afterwards." type:"path"`

	CPUProfile string `name:"cpuprofile" help:"Write processor profiles of the server here, one a measure, for go tool pprof." type:"path"`
}

// Run runs the benchmarks and prints a table.
func (c *benchAnalytics) Run(ctx context.Context, std streams, g *globals) error {
	return g.benchmark(std, c.Dir, workbench.Setup{Only: c.Only, CPUProfile: c.CPUProfile}, func(setup workbench.Setup, report func(workbench.Result)) error {
		return analyticsbench.Run(ctx, analyticsbench.Options{
			Setup: setup, Filled: cmp.Or(c.Dir, setup.Dir), Events: c.Events, Pages: c.Pages, Rounds: c.Rounds, Turn: c.Turn,
		}, report)
	})
}
