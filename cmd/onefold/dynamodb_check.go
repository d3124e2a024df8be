package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/protocol"
	"github.com/onefold/onefold/engine"
)

type dynamodbCheck struct {
	dynamodbTarget
}

// Help describes the check. Kong prints it.
func (c *dynamodbCheck) Help() string {
	return `Reads every row and prints inconsistencies in items, index entries, expiry rows, streams, tokens and descriptors. The checksums of files
are verified too. Each line names the row and explains the problem. The exit code is 3 if there is a problem. A count that lags after
a crash is printed, but is not a problem.`
}

// checkResult is the JSON output of a check.
type checkResult struct {
	Summary  engine.CheckSummary `json:"summary"`
	Findings []engine.Finding    `json:"findings"`
}

// Run checks the database and prints the findings. With any finding, the exit code is 3.
func (c *dynamodbCheck) Run(ctx context.Context, std streams, g *globals) error {
	r := checkResult{Findings: []engine.Finding{}}
	report := func(f engine.Finding) {
		if g.JSON {
			r.Findings = append(r.Findings, f)
		} else {
			fmt.Fprintln(std.out, f.String())
		}
	}
	var err error
	if r.Summary, err = c.check(ctx, std, g, report); err != nil {
		return err
	}
	if g.JSON {
		err = printJSON(std.out, r)
	} else {
		s := r.Summary
		_, err = fmt.Fprintf(std.out, "%s: %s, %s, %s, %s, %s checked\n", terminal.Count(s.Tables, "table"), terminal.Count(s.Items, "item"),
			terminal.Count(s.IndexRows, "index entry"), terminal.Count(s.ExpiryRows, "expiry row"), terminal.Count(s.Records, "stream record"), terminal.Count(s.Tokens, "token"))
	}
	if n := r.Summary.Findings; err == nil && n > 0 {
		return &exitError{exitDifferences, fmt.Errorf("damaged: %s; restore a backup, or recover what can be read with `onefold dynamodb salvage --to DIR`", terminal.Count(n, "finding"))}
	}
	return err
}

func (c *dynamodbCheck) check(ctx context.Context, std streams, g *globals, report func(engine.Finding)) (engine.CheckSummary, error) {
	if c.Endpoint != "" {
		return c.ask(ctx, report)
	}
	db, err := c.open(g, std.err)
	if err != nil {
		return engine.CheckSummary{}, err
	}
	summary, err := db.Check(ctx, report)
	return summary, errors.Join(err, db.Close())
}

// ask runs the check in a running server.
func (c *dynamodbCheck) ask(ctx context.Context, report func(engine.Finding)) (summary engine.CheckSummary, err error) {
	body, err := c.admin(ctx, "check")
	if err != nil {
		return summary, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	lines := json.NewDecoder(body)
	for {
		var line protocol.AdminLine
		if err := lines.Decode(&line); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return summary, fmt.Errorf("check_cut_off: %w; see the server's log", err)
		}
		if line.Summary != nil {
			return *line.Summary, nil
		}
		if line.Finding != nil {
			report(*line.Finding)
		}
	}
}
