package main

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/internal/profile"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/eventbench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
)

type eventstoreCommand struct {
	Rounds int            `help:"Number of timed runs per benchmark, after a warm-up." default:"5"`
	Turn   time.Duration  `help:"Duration of a timed run." default:"2s"`
	Events int            `help:"Number of events in the feed." default:"100000"`
	Only   *regexp.Regexp `help:"Run only benchmarks whose name matches this regexp. Names: append, writers, transact, load, feed, units." placeholder:"REGEXP"`
	Dir    string         `help:"Directory for the tables, which are removed afterwards (default: a temporary directory)." type:"path"`

	CPUProfile string `name:"cpuprofile" help:"Write a CPU profile of all benchmarks to this file (for go tool pprof)." type:"path"`
}

// Run runs the benchmarks and prints a table.
func (c *eventstoreCommand) Run(ctx context.Context, std streams, g *globals) error {
	return g.benchmark(std, c.Dir, workbench.Setup{Only: c.Only}, func(setup workbench.Setup, report func(workbench.Result)) error {
		stop, err := profile.CPU(c.CPUProfile)
		if err != nil {
			return err
		}
		err = eventbench.Run(ctx, eventbench.Options{Setup: setup, Rounds: c.Rounds, Turn: c.Turn, Events: c.Events, CPUSeconds: cpuSeconds}, report)
		return errors.Join(err, stop())
	})
}
