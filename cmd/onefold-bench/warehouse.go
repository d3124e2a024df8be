package main

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/querybench"
	"github.com/onefold/onefold/warehouse/duck"
)

type warehouseCommand struct {
	Events int    `help:"Number of events in the month." default:"10000000"`
	Memory int    `help:"Memory for a SQL query, in MB." default:"6144"`
	Seed   uint64 `help:"Seed of the generated traffic." default:"1"`
	Dir    string `help:"Directory for the warehouse, which is kept (default: a temporary directory, removed afterwards)." type:"path"`
}

// Run runs the benchmark and prints the results.
func (c *warehouseCommand) Run(ctx context.Context, std streams, g *globals) error {
	r, err := querybench.Run(ctx, querybench.Options{Events: c.Events, MemoryMB: c.Memory, Seed: c.Seed, Dir: c.Dir})
	if err != nil {
		return err
	}
	if g.JSON {
		return terminal.JSON(std.out, r)
	}
	if _, err := fmt.Fprintf(std.out, "%s events of a month, %.1f bytes each, generated and written in %.1f s (%s per second)\n", terminal.Grouped(r.Events), r.BytesPerEvent, r.WriteSeconds,
		terminal.Grouped(int64(float64(r.Events)/max(r.WriteSeconds, 0.001)))); err != nil {
		return err
	}
	for _, a := range r.Answers {
		if _, err := fmt.Fprintf(std.out, "%8.2f s  %s\n", a.Seconds, a.What); err != nil {
			return err
		}
	}
	if !duck.Built {
		_, err = fmt.Fprintln(std.out, "SQL was skipped:", duck.ErrNoDuckDB)
	}
	return err
}
