package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/profile"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/filterbench"
)

type filtersCommand struct {
	Events int    `help:"Number of events." default:"10000000"`
	Days   int    `help:"Number of days that they are spread over, 1 to 700." default:"30"`
	Seed   uint64 `help:"Seed of the generated traffic." default:"1"`
	Keep   int    `help:"Memory for cached days, in MB." default:"512"`
	Dir    string `help:"Directory for the table. It is kept, and reused by a run with the same seed, days and number of events (default: a temporary directory, removed afterwards)." type:"path"`

	CPUProfile  string `name:"cpuprofile" help:"Write a CPU profile to this file (for go tool pprof)." type:"path"`
	HeapProfile string `name:"heapprofile" help:"Write a heap profile, taken at the end, to this file (for go tool pprof)." type:"path"`
}

// Run runs the benchmark and prints the results.
func (c *filtersCommand) Run(ctx context.Context, std streams, g *globals) error {
	defer goruntime.CollectLessOften()() // with the garbage collection of a server
	stop, err := profile.CPU(c.CPUProfile)
	if err != nil {
		return err
	}
	r, err := filterbench.Run(ctx, filterbench.Options{Events: c.Events, Days: c.Days, Seed: c.Seed, Dir: c.Dir, KeepBytes: c.Keep << 20, CPUSeconds: cpuSeconds})
	if err = errors.Join(err, stop()); err == nil {
		err = profile.Heap(c.HeapProfile)
	}
	if err != nil {
		return err
	}
	if g.JSON {
		return terminal.JSON(std.out, r)
	}
	if _, err := fmt.Fprintf(std.out, "%s events of %d days, generated and stored in %.1f s; peak memory %.0f MB\n", terminal.Grouped(r.Events), c.Days, r.FillSeconds, peakMemoryMB()); err != nil {
		return err
	}
	for _, a := range r.Answers {
		if _, err := fmt.Fprintf(std.out, "%9.3f s, %8.3f s CPU time, %4.0f MB live afterwards, %s visits: %s\n", a.Seconds, a.CPUSeconds, a.HeapMB, terminal.Grouped(a.Visits), a.What); err != nil {
			return err
		}
	}
	return nil
}
