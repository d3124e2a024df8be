package main

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/onefold-bench/internal/scalebench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

type scaleCommand struct {
	Events   int            `help:"Number of events for workers to fold and to export." default:"100000"`
	Rows     int            `help:"Number of events in the month of the queried warehouse." default:"10000000"`
	LeaseFor time.Duration  `help:"Lease duration of the workers. The benchmark kills one." default:"10s"`
	Lambda   string         `help:"onefold-lambda program, as built by make lambda, to measure the writes of functions." type:"existingfile"`
	Only     *regexp.Regexp `help:"Run only benchmarks whose name matches this regexp. Names: workers, takeover, export, query, units of servers, units of functions, units of shifts." placeholder:"REGEXP"`
	Dir      string         `help:"Directory for the tables, which are removed afterwards (default: a temporary directory)." type:"path"`
}

// Run runs the benchmarks and prints a table.
func (c *scaleCommand) Run(ctx context.Context, std streams, g *globals) error {
	if c.Events < 1 || c.Rows < 30 || c.LeaseFor < time.Second {
		return fmt.Errorf("bad_options: --events is %d, must be 1 or more; --rows is %d, must be 30 or more; --lease-for is %s, must be 1s or more", c.Events, c.Rows, c.LeaseFor)
	}
	return g.benchmark(std, c.Dir, workbench.Setup{Program: g.program(), Only: c.Only}, func(setup workbench.Setup, report func(workbench.Result)) error {
		return scalebench.Run(ctx, scalebench.Options{Setup: setup, Events: c.Events, Rows: c.Rows, LeaseFor: c.LeaseFor, Lambda: c.Lambda}, report)
	})
}
