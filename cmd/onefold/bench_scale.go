package main

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/scalebench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

type benchScale struct {
	Events   int            `help:"Events that workers fold, and that are exported." default:"100000"`
	Rows     int            `help:"Events of the month in the warehouse that is asked." default:"10000000"`
	LeaseFor time.Duration  `help:"For how long workers lease shards, one of which is killed." default:"10s"`
	Lambda   string         `help:"The program onefold-lambda, as make lambda builds it: to measure what functions write." type:"existingfile"`
	Only     *regexp.Regexp `help:"Take the measures whose names match: workers, takeover, export, query, units of servers, units of functions, units of shifts." placeholder:"REGEXP"`
	Dir      string         `help:"Where to put the tables, which are removed afterwards. Default: a temporary directory." type:"path"`
}

// Run runs the benchmarks and prints a table.
func (c *benchScale) Run(ctx context.Context, std streams, g *globals) error {
	if c.Events < 1 || c.Rows < 30 || c.LeaseFor < time.Second {
		return fmt.Errorf("bad_options: --events is %d: 1 or more; --rows is %d: 30 or more; --lease-for is %s: 1s or more", c.Events, c.Rows, c.LeaseFor)
	}
	return g.benchmark(std, c.Dir, workbench.Setup{Only: c.Only}, func(setup workbench.Setup, report func(workbench.Result)) error {
		return scalebench.Run(ctx, scalebench.Options{Setup: setup, Events: c.Events, Rows: c.Rows, LeaseFor: c.LeaseFor, Lambda: c.Lambda}, report)
	})
}
