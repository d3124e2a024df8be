package devicecli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

type ruleUpdate struct {
	ID       string         `arg:"" help:"The rule's id."`
	Fleet    string         `required:"" help:"The fleet."`
	Of       string         `help:"The device or profile that it is for, where several have a rule of this id." placeholder:"ID"`
	Name     *string        `help:"What people call it."`
	Metric   *string        `help:"What is measured."`
	Raise    *string        `help:"Above it (or below it) a reading breaches. A clear level that was the same follows it."`
	Clear    *string        `help:"At it or on its other side a reading no longer keeps the alert."`
	For      *time.Duration `help:"How long it has to be breached, or silent." placeholder:"15m"`
	Keep     *time.Duration `help:"How long it has to be quiet before the alert ends." placeholder:"30m"`
	Over     *string        `help:"Look at aggregates: 10min, hourly or daily; an empty one means readings." placeholder:"PERIOD"`
	Function *string        `help:"Of aggregates: mean, min, max, and so on." placeholder:"NAME"`
	Severity *string        `help:"info, warning or critical."`
	On       bool           `help:"Switch it on." xor:"on"`
	Off      bool           `help:"Switch it off: it raises nothing until it is switched on." xor:"on"`
}

// Run changes the rule. It waits until alerts that the change closes are closed.
func (c *ruleUpdate) Run(ctx context.Context, env *Env) error {
	for _, d := range []*time.Duration{c.For, c.Keep} {
		if d != nil && *d%time.Second != 0 {
			return errors.New("invalid: --for and --keep are whole seconds")
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
		says := "it begins anew"
		if r.Version == version {
			says = "it goes on as it was"
		}
		_, err = fmt.Fprintf(env.Out, "Changed the rule %s, %s: %s.\n", r.RuleID, says, terminal.Printable(alerts.Describe(&r)))
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
