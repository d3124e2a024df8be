package main

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/eventbench"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

type benchEventstore struct {
	Rounds int            `help:"Turns of each measure, after one that warms up." default:"5"`
	Turn   time.Duration  `help:"Length of a turn." default:"2s"`
	Events int            `help:"Events that the feed is made of." default:"100000"`
	Only   *regexp.Regexp `help:"Take the measures whose names match: append, writers, transact, load, feed, units." placeholder:"REGEXP"`
	Dir    string         `help:"Where to put the tables, which are removed afterwards. Default: a temporary directory." type:"path"`

	CPUProfile string `name:"cpuprofile" help:"Write a processor profile of all measures here, for go tool pprof." type:"path"`
}

// Run runs the benchmarks and prints a table.
func (c *benchEventstore) Run(ctx context.Context, std streams, g *globals) error {
	return g.benchmark(std, c.Dir, workbench.Setup{Only: c.Only}, func(setup workbench.Setup, report func(workbench.Result)) error {
		stop, err := startProfile(c.CPUProfile)
		if err != nil {
			return err
		}
		err = eventbench.Run(ctx, eventbench.Options{Setup: setup, Rounds: c.Rounds, Turn: c.Turn, Events: c.Events, CPUSeconds: cpuSeconds}, report)
		return errors.Join(err, stop())
	})
}
