package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/wholebackup"
	"github.com/onefold/onefold/engine/salvage"
)

type dynamodbSalvage struct {
	To    string `required:"" help:"Directory of the new database, empty or absent." type:"path" placeholder:"DIR"`
	Quiet bool   `short:"q" help:"Hide the progress bar."`
}

// Help describes what is recovered. Kong prints it.
func (c *dynamodbSalvage) Help() string {
	return `Creates a new database from everything that can still be read of a damaged one, the directory of --data, which is not changed. Stop
the server first. Index entries are rebuilt, and lost items are recovered from an index or the stream if those hold them completely.
Prints one line per loss: the file, the table, and the range of keys in which items may be missing or out of date. The exit code is 3
if anything was lost. Prefer a backup if you have a recent one.

Statistics and other derived items can be recomputed from raw facts: run "onefold verify" and "onefold rebuild".`
}

// salvageResult is the JSON output of a salvage.
type salvageResult struct {
	Summary salvage.Summary `json:"summary"`
	Losses  []salvage.Loss  `json:"losses"`
}

// Run copies everything readable into a new database. With any loss, the exit code is 3.
func (c *dynamodbSalvage) Run(ctx context.Context, std streams, g *globals) error {
	r := salvageResult{Losses: []salvage.Loss{}}
	bar := terminal.NewSteps(std.err, c.Quiet, "salvage")
	var err error
	r.Summary, err = salvage.Run(ctx, g.Data, c.To, salvage.Options{Report: func(l salvage.Loss) { r.Losses = append(r.Losses, l) }, Progress: bar.Update})
	bar.Close()
	switch {
	case errors.Is(err, salvage.ErrNoDatabase):
		return fmt.Errorf("no_database: there is no database in %s; give its directory with --data", g.Data)
	case errors.Is(err, salvage.ErrInUse):
		return fmt.Errorf("in_use: %s is open in another process; stop it first", g.Data)
	case err != nil:
		return wholebackup.Explain(err, g.Data, c.To)
	case g.JSON:
		err = printJSON(std.out, r)
	default:
		err = c.print(std, &r)
	}
	if n := r.Summary.Losses; err == nil && n > 0 {
		return &exitError{exitDifferences, fmt.Errorf("damaged: %s; the rest is in %s", terminal.Count(n, "loss"), c.To)}
	}
	return err
}

func (c *dynamodbSalvage) print(std streams, r *salvageResult) error {
	for i := range r.Losses {
		if _, err := fmt.Fprintln(std.out, r.Losses[i].String()); err != nil {
			return err
		}
	}
	s := r.Summary
	_, err := fmt.Fprintf(std.out, "%s: %s, %s, %s\n", c.To, terminal.Count(s.Tables, "table"), terminal.Count(s.Items, "item"), terminal.Count(s.Records, "stream record"))
	if err == nil && s.Restored > 0 {
		_, err = fmt.Fprintf(std.out, "%s recovered from an index or the stream\n", terminal.Count(s.Restored, "lost item"))
	}
	return err
}
