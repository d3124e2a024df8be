package blueprintcli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/blueprint/infra"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/internal/backoff"
)

// Apply creates the table of a store, or updates it to the schema.
type Apply struct {
	MaxRead  int  `help:"Maximum read units per second of a new table; 0 means no limit."`
	MaxWrite int  `help:"Maximum write units per second of a new table; 0 means no limit."`
	Prune    bool `help:"Remove indexes that the schema does not have, and recreate indexes whose keys differ."`
	DryRun   bool `help:"Print what would be done, and change nothing."`
}

// Help describes the command. Kong prints it.
func (*Apply) Help() string {
	return `Creates or updates the table of --store, on DynamoDB or on a server with the same API:

    onefold infra apply --store 'dynamodb://onefold?region=eu-central-1'

Updates are made one at a time, as DynamoDB requires, and each is waited for. Run the command again to resume after an interruption.
For a table with functions, alarms and roles, write a template instead: onefold infra cloudformation, onefold infra terraform.`
}

type applied struct {
	Store  string   `json:"store"`
	Did    []string `json:"did"`
	Lacks  []string `json:"lacks"` // features of DynamoDB that the service lacks
	DryRun bool     `json:"dryRun,omitempty"`
}

// Run applies the schema.
func (c *Apply) Run(ctx context.Context, e *Env) error {
	where, err := e.Place()
	if err != nil {
		return err
	}
	if !where.Shared() {
		return fmt.Errorf("embedded_store: the table of %s is created when it is first opened; give --store 'dynamodb://TABLE?region=REGION', or dynamodb+http://HOST:PORT/TABLE", where)
	}
	opened, err := where.Clients(ctx)
	if err != nil {
		return err
	}
	done, err := infra.Apply(ctx, opened.API, e.Schemas[0], infra.Applying{
		Options: infra.Options{TableName: opened.Table, Read: infra.Bounds{Max: c.MaxRead}, Write: infra.Bounds{Max: c.MaxWrite}},
		Prune:   c.Prune, DryRun: c.DryRun, OnProgress: e.steps(), Sleep: backoff.For,
	})
	if e.JSON {
		return errors.Join(err, terminal.JSON(e.Out, applied{where.String(), append([]string{}, done.Did...), append([]string{}, done.Lacks...), c.DryRun}))
	}
	return errors.Join(err, c.print(e, where.String(), done, err))
}

func (c *Apply) print(e *Env, store string, done infra.Applied, failed error) error {
	var b strings.Builder
	switch {
	case c.DryRun && len(done.Did) > 0:
		fmt.Fprintln(&b, "Dry run, these steps would be taken:")
	case len(done.Did) == 0 && failed == nil:
		fmt.Fprintf(&b, "%s matches the schema; nothing to do.\n", store)
	case failed == nil:
		fmt.Fprintf(&b, "%s is ready:\n", store)
	case len(done.Did) > 0:
		fmt.Fprintln(&b, "Completed before the failure:")
	}
	for _, d := range done.Did {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	if len(done.Lacks) > 0 {
		fmt.Fprintf(&b, "This service lacks these features of DynamoDB: %s.\n", strings.Join(done.Lacks, "; "))
	}
	_, err := e.Out.Write([]byte(b.String()))
	return err
}

// patience is the interval at which a step that is still running is reported again.
const patience = 30 * time.Second

// steps returns a function that prints the progress of steps to standard error.
func (e *Env) steps() func(infra.Progress) {
	next := patience
	return func(p infra.Progress) {
		switch {
		case p.Done:
			next = patience
			fmt.Fprintf(e.Err, "%s: done after %s\n", p.Step, p.Waited) //nolint:errcheck // a word for who watches
		case p.Waited == 0:
			fmt.Fprintf(e.Err, "%s …\n", p.Step) //nolint:errcheck // as above
		case p.Waited >= next:
			next += patience
			fmt.Fprintf(e.Err, "%s: %s so far; DynamoDB fills an index in minutes to hours, by the size of the table\n", p.Step, p.Waited) //nolint:errcheck // as above
		}
	}
}
