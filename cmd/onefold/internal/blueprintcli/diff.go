package blueprintcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/diff"
	"github.com/onefold/onefold/blueprint/workbench"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// ErrChange is returned if a change requires more than is allowed.
var ErrChange = errors.New("change_refused")

// Diff compares two versions of a design.
type Diff struct {
	Old    string `arg:"" help:"Previous version: a file of 'onefold design --format json', a NoSQL Workbench model or an AWS data model." type:"existingfile"`
	New    string `arg:"" optional:"" help:"New version (default: the current schema)." type:"existingfile"`
	Schema string `help:"Schema to compare with if no second file is given." default:"onefold"`
	Allow  string `help:"Largest allowed change, beyond which the command fails: compatible, backfill, index, or breaks (any change)." enum:"compatible,backfill,index,breaks" default:"breaks"`
}

// Run compares the versions.
func (c *Diff) Run(_ context.Context, e *Env) error {
	before, err := readOutline(c.Old)
	if err != nil {
		return err
	}
	after, err := c.after(e)
	if err != nil {
		return err
	}
	found := diff.Compare(before, after)
	if e.JSON {
		err = terminal.JSON(e.Out, map[string]any{"worst": diff.Worst(found), "findings": found})
	} else {
		err = diff.Text(e.Out, found)
	}
	if err != nil {
		return err
	}
	kinds := diff.Kinds()
	if worst := diff.Worst(found); slices.Index(kinds, worst) < slices.Index(kinds, diff.Kind(c.Allow)) {
		return fmt.Errorf("%w: the change is %q, and %q is allowed", ErrChange, worst, c.Allow)
	}
	return nil
}

func (c *Diff) after(e *Env) (*blueprint.Outline, error) {
	if c.New != "" {
		return readOutline(c.New)
	}
	s, err := e.schema(c.Schema)
	if err != nil {
		return nil, err
	}
	return blueprint.OutlineOf(s), nil
}

// readOutline reads a version in any supported format.
func readOutline(name string) (*blueprint.Outline, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	o, err := blueprint.ReadOutline(bytes.NewReader(b))
	if err == nil {
		return o, nil
	}
	o, other := workbench.Read(bytes.NewReader(b))
	if other == nil {
		return o, nil
	}
	return nil, fmt.Errorf("no_design: %s: %w; %w", terminal.Printable(name), err, other)
}
