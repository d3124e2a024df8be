package blueprintcli

import (
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/blueprint/lint"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// ErrFindings is returned if a schema has findings.
var ErrFindings = errors.New("findings")

// Lint checks a schema for known DynamoDB pitfalls.
type Lint struct {
	Schema  string `help:"Schema, as in onefold design." default:"onefold"`
	Allowed bool   `help:"Show findings that the schema allows too, with the reason."`
	Kinds   bool   `help:"List the kinds of findings."`

	EventsPerDay float64 `help:"Also check for partition keys that this many events per day of one site, device or stream would heat." placeholder:"N"`
	Peak         float64 `help:"Ratio of the busiest second to the mean, with --events-per-day." default:"4"`
	Delayed      bool    `help:"Assume a fold delay of 30s, with --events-per-day."`
}

// Run checks the schema. A finding that the schema does not allow is an error.
func (c *Lint) Run(e *Env) error {
	if c.Kinds {
		return listLints(e)
	}
	s, err := e.schema(c.Schema)
	if err != nil {
		return err
	}
	found := lint.Check(s)
	if c.EventsPerDay != 0 {
		hot, err := lint.CheckRate(s, lint.Rate{EventsPerDay: c.EventsPerDay, Peak: c.Peak, Delayed: c.Delayed})
		if err != nil {
			return err
		}
		found = append(found, hot...)
	}
	wrong, shown := 0, []lint.Finding{}
	for _, f := range found {
		if f.Allowed == "" {
			wrong++
		}
		if f.Allowed == "" || c.Allowed {
			shown = append(shown, f)
		}
	}
	if err := c.print(e, shown); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%w: %d in %s", ErrFindings, wrong, s.Name())
	}
	if e.JSON {
		return nil
	}
	_, err = fmt.Fprintf(e.Out, "%s: %d kinds of faults checked, none found.\n", s.Name(), len(lint.Lints()))
	return err
}

func (c *Lint) print(e *Env, found []lint.Finding) error {
	if e.JSON {
		return terminal.JSON(e.Out, found)
	}
	for _, f := range found {
		if err := printFinding(e.Out, &f); err != nil {
			return err
		}
	}
	return nil
}

func printFinding(w io.Writer, f *lint.Finding) error {
	at := f.Entity
	if f.Pattern != "" {
		at += ", pattern " + f.Pattern
	}
	if f.Index != "" {
		at += ", index " + f.Index
	}
	then := "do:      " + f.Fix
	if f.Allowed != "" {
		then = "allowed: " + f.Allowed
	}
	_, err := fmt.Fprintf(w, "%s (%s)\n  wrong:   %s\n  %s\n", at, f.Lint, f.What, then)
	return err
}

func listLints(e *Env) error {
	if e.JSON {
		return terminal.JSON(e.Out, lint.Lints())
	}
	for _, l := range lint.Lints() {
		if _, err := fmt.Fprintf(e.Out, "%-16s %s\n", l.ID, l.What); err != nil {
			return err
		}
	}
	return nil
}
