package devicecli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

type ruleUpdate struct {
	ID       string         `arg:"" help:"Rule ID."`
	Fleet    string         `required:"" help:"Fleet ID."`
	Of       string         `help:"Device or profile of the rule. Required if several have a rule with this ID." placeholder:"ID"`
	Name     *string        `help:"Display name."`
	Metric   *string        `help:"Metric that the rule watches."`
	Raise    *string        `help:"Threshold: a reading above it (below it, if the rule raises below) is a breach. A clear level equal to the previous threshold changes with it."`
	Clear    *string        `help:"Clear level: a reading at this level or on the safe side of it no longer sustains the alert."`
	For      *time.Duration `help:"Duration of the breach or silence before the alert is raised." placeholder:"15m"`
	Keep     *time.Duration `help:"Quiet time before the alert is resolved." placeholder:"30m"`
	Over     *string        `help:"Aggregates to evaluate: 10min, hourly or daily; an empty value means readings." placeholder:"PERIOD"`
	Function *string        `help:"Aggregate function: mean, min, max and so on (see rules add)." placeholder:"NAME"`
	Severity *string        `help:"Severity: info, warning or critical."`
	On       bool           `help:"Enable the rule." xor:"on"`
	Off      bool           `help:"Disable the rule. It raises no alerts until it is enabled." xor:"on"`
}

// Run changes the rule. It waits until alerts that the change closes are closed.
func (c *ruleUpdate) Run(ctx context.Context, env *Env) error {
	for _, d := range []*time.Duration{c.For, c.Keep} {
		if d != nil && *d%time.Second != 0 {
			return errors.New("invalid: --for and --keep must be whole seconds")
		}
	}
	return env.Open(ctx, func(s *Store) error {
		r, err := findRule(ctx, s, c.Fleet, c.ID, c.Of)
		if err != nil {
			return err
		}
		version := r.Version
		if r, err = alerts.UpdateRule(ctx, s.Table, r.RuleKey, c.change); err != nil {
			return explain("rule", c.ID, err)
		}
		if err := s.Worker.Drain(ctx); err != nil {
			return err
		}
		if env.JSON {
			return terminal.JSON(env.Out, ruleOutputOf(&r))
		}
		says := "its state was reset"
		if r.Version == version {
			says = "its state is unchanged"
		}
		_, err = fmt.Fprintf(env.Out, "Changed rule %s (%s): %s.\n", r.RuleID, says, terminal.Printable(alerts.Describe(&r)))
		return err
	})
}

// change applies the flags to r.
func (c *ruleUpdate) change(r *telemetry.Rule) error {
	if c.Raise != nil {
		if r.Clear == r.Raise {
			r.Clear = *c.Raise
		}
		r.Raise = *c.Raise
	}
	set(&r.Name, c.Name)
	set(&r.Metric, c.Metric)
	set(&r.Clear, c.Clear)
	set(&r.Over, (*telemetry.Period)(c.Over))
	set(&r.Function, c.Function)
	set(&r.Severity, (*telemetry.Severity)(c.Severity))
	if c.For != nil {
		r.For = int(*c.For / time.Second)
	}
	if c.Keep != nil {
		r.KeepFor = int(*c.Keep / time.Second)
	}
	r.Off = !c.On && (r.Off || c.Off)
	return nil
}

// set assigns *said to *field, unless said is nil.
func set[T any](field, said *T) {
	if said != nil {
		*field = *said
	}
}
