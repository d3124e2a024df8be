package eventcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
)

type fsckCommand struct {
	Type    []string `help:"Aggregate type to check. Repeat or separate by commas (default: all)." placeholder:"TYPE"`
	NoIndex bool     `help:"Skip the lookup of each item in the index, which takes most of the time."`
	Repair  bool     `help:"Repair everything that can be repaired without inventing facts. Without this flag, repairs are only listed."`
}

// ErrDamaged is returned if there are findings that were not repaired.
var ErrDamaged = errors.New("damaged")

type finding struct {
	fsck.Finding
	Aggregate string `json:"aggregate,omitempty"`
	Repaired  bool   `json:"repaired,omitempty"`
	Failed    string `json:"failed,omitempty"` // why the repair failed
}

// Run checks the store and prints each finding, with --json one per line.
func (c *fsckCommand) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		store, err := eventstore.New(s.Table, eventstore.Options{})
		if err != nil {
			return err
		}
		var last fsck.Progress
		o := fsck.Options{Types: c.Type, NoIndex: c.NoIndex, Progress: func(p fsck.Progress) { last = p }}
		left := 0
		for f, err := range fsck.Check(ctx, store, o) {
			if err != nil {
				return err
			}
			told := c.treat(ctx, &f)
			if !told.Repaired {
				left++
			}
			if err := told.print(env); err != nil {
				return err
			}
		}
		if !env.JSON {
			fmt.Fprintf(env.Out, "%s with %s checked: %d wrong, %d left.\n", terminal.Count(last.Aggregates, "aggregate"), terminal.Count(last.Events, "event"), last.Findings, left)
		}
		if left > 0 {
			return fmt.Errorf("%w: %s left", ErrDamaged, terminal.Count(left, "finding"))
		}
		return nil
	})
}

// treat repairs a finding if requested and possible.
func (c *fsckCommand) treat(ctx context.Context, f *fsck.Finding) finding {
	told := finding{Finding: *f}
	if f.ID != (eventstore.ID{}) {
		told.Aggregate = f.ID.String()
	}
	if !c.Repair || f.Plan == "" {
		return told
	}
	if err := f.Repair(ctx); err != nil {
		told.Failed = err.Error()
	} else {
		told.Repaired = true
	}
	return told
}

func (f *finding) print(env *Env) error {
	if env.JSON {
		return json.NewEncoder(env.Out).Encode(f)
	}
	what := "cannot be repaired without inventing facts"
	switch {
	case f.Repaired:
		what = "repaired: " + f.Plan
	case f.Failed != "":
		what = "not repaired: " + f.Failed
	case f.Plan != "":
		what = "with --repair: " + f.Plan
	}
	_, err := fmt.Fprintf(env.Out, "%s  %s\n    %s\n    %s\n", f.Kind, terminal.Clean(f.Item), terminal.Clean(f.Detail), terminal.Clean(what))
	return err
}
