package devicecli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Rules are the rule commands.
type Rules struct {
	Add    ruleAdd    `cmd:"" help:"Create a rule, which applies to readings that arrive from now on."`
	List   ruleList   `cmd:"" help:"List the rules of a fleet."`
	Update ruleUpdate `cmd:"" help:"Change a rule. A change of anything but its name closes its open alerts and resets the rule."`
	Delete ruleDelete `cmd:"" help:"Delete a rule and close its open alerts."`
	Test   ruleTest   `cmd:"" help:"Show the alerts that a rule would have raised on stored readings. Nothing is written."`
}

// ruleFields are the attributes of a rule that flags can set.
type ruleFields struct {
	Metric   string        `help:"Metric that the rule watches."`
	Raise    string        `help:"Threshold: a reading above it (with --below, below it) is a breach."`
	Clear    string        `help:"Clear level: a reading at this level or on the safe side of it no longer sustains the alert (default: --raise)."`
	Below    bool          `help:"Raise below the threshold instead of above it."`
	For      time.Duration `help:"Duration of the breach before the alert is raised, measured by the times of readings." placeholder:"15m"`
	Keep     time.Duration `help:"Quiet time before the alert is resolved." placeholder:"30m"`
	Silence  bool          `help:"Raise when a device sends nothing for the duration of --for."`
	Over     string        `help:"Evaluate aggregates instead of readings: 10min, hourly or daily." placeholder:"PERIOD"`
	Function string        `help:"Aggregate function: mean, min, max, sum, count, first, last, deviation, p50, p90, p95, p99, increase or rate." placeholder:"NAME"`
	Severity string        `help:"Severity: info, warning or critical." default:"warning"`
	Name     string        `help:"Display name."`
}

// rule returns the rule given by the flags.
func (f *ruleFields) rule() (telemetry.Rule, error) {
	if f.For%time.Second != 0 || f.Keep%time.Second != 0 {
		return telemetry.Rule{}, errors.New("invalid: --for and --keep must be whole seconds")
	}
	r := telemetry.Rule{
		Name: f.Name, Metric: f.Metric, Over: telemetry.Period(f.Over), Function: f.Function, Below: f.Below, NoData: f.Silence,
		Raise: f.Raise, Clear: f.Clear, For: int(f.For / time.Second), KeepFor: int(f.Keep / time.Second), Severity: telemetry.Severity(f.Severity),
	}
	if r.Clear == "" {
		r.Clear = r.Raise
	}
	return r, nil
}

// ruleOutput is the JSON form of a rule.
type ruleOutput struct {
	ID        string             `json:"id"`
	Fleet     string             `json:"fleet"`
	Device    string             `json:"device,omitempty"`
	Profile   string             `json:"profile,omitempty"`
	Name      string             `json:"name,omitempty"`
	Metric    string             `json:"metric,omitempty"`
	Over      telemetry.Period   `json:"over,omitempty"`
	Function  string             `json:"function,omitempty"`
	Below     bool               `json:"below,omitempty"`
	Silence   bool               `json:"silence,omitempty"`
	Raise     string             `json:"raise,omitempty"`
	Clear     string             `json:"clear,omitempty"`
	For       int                `json:"forSeconds,omitempty"`
	Keep      int                `json:"keepSeconds,omitempty"`
	Severity  telemetry.Severity `json:"severity"`
	Off       bool               `json:"off,omitempty"`
	Version   int                `json:"version"`
	CreatedAt time.Time          `json:"createdAt"`
	says      string
}

func ruleOutputOf(r *telemetry.Rule) ruleOutput {
	out := ruleOutput{
		ID: r.RuleID, Fleet: r.FleetID, Name: r.Name, Metric: r.Metric, Over: r.Over, Function: r.Function, Below: r.Below, Silence: r.NoData,
		Raise: r.Raise, Clear: r.Clear, For: r.For, Keep: r.KeepFor, Severity: r.Severity, Off: r.Off, Version: r.Version, CreatedAt: r.CreatedAt,
		says: alerts.Describe(r),
	}
	if r.Scope == telemetry.ForDevice {
		out.Device = r.ScopeID
	} else {
		out.Profile = r.ScopeID
	}
	return out
}

type ruleAdd struct {
	ID      string `arg:"" optional:"" help:"Rule ID (default: a new one)."`
	Device  string `help:"Device that the rule applies to." xor:"scope" required:""`
	Profile string `help:"Profile that the rule applies to, with all its devices." xor:"scope" required:""`
	ruleFields
}

// Run creates the rule.
func (c *ruleAdd) Run(ctx context.Context, env *Env) error {
	r, err := c.rule()
	if err != nil {
		return err
	}
	return env.Open(ctx, func(s *Store) error {
		r.RuleID = c.ID
		if err := c.scope(ctx, s, &r); err != nil {
			return err
		}
		r, err := alerts.CreateRule(ctx, s.Table, r)
		if errors.Is(err, table.ErrExists) {
			return fmt.Errorf("rule_exists: rule %q already exists; `onefold rules list --fleet %s` shows it", c.ID, r.FleetID)
		}
		switch {
		case err != nil:
			return explain("device", c.Device, err)
		case env.JSON:
			return terminal.JSON(env.Out, ruleOutputOf(&r))
		}
		_, err = fmt.Fprintf(env.Out, "Created rule %s: %s.\n", r.RuleID, terminal.Printable(alerts.Describe(&r)))
		return err
	})
}

// scope sets the device or profile of the rule, and its fleet.
func (c *ruleAdd) scope(ctx context.Context, s *Store, r *telemetry.Rule) error {
	if c.Device != "" {
		d, err := telemetry.GetDevice(ctx, s.Table, c.Device)
		r.Scope, r.ScopeID, r.FleetID = telemetry.ForDevice, c.Device, d.FleetID
		return explain("device", c.Device, err)
	}
	p, err := telemetry.ProfileByID.Get(ctx, s.Table, telemetry.ProfileIn{ProfileID: c.Profile})
	r.Scope, r.ScopeID, r.FleetID = telemetry.ForProfile, c.Profile, p.FleetID
	return explain("profile", c.Profile, err)
}

type ruleList struct {
	Fleet string `required:"" help:"Fleet ID."`
}

// Run lists the rules.
func (c *ruleList) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		all, err := rulesOf(ctx, s, c.Fleet)
		if err != nil {
			return err
		}
		out := make([]ruleOutput, len(all))
		for i := range all {
			out[i] = ruleOutputOf(&all[i])
		}
		return terminal.List[ruleOutput]{JSON: env.JSON, Columns: "RULE\tFOR\tSEVERITY\tRAISES", Row: func(r *ruleOutput) []any {
			whose := r.Device
			if r.Profile != "" {
				whose = "profile " + r.Profile
			}
			return []any{r.ID, whose, r.Severity, terminal.Printable(r.says)}
		}}.Print(env.Out, out)
	})
}

// rulesOf returns the rules of an existing fleet.
func rulesOf(ctx context.Context, s *Store, fleet string) ([]telemetry.Rule, error) {
	if _, err := telemetry.GetFleet(ctx, s.Table, fleet); err != nil {
		return nil, explain("fleet", fleet, err)
	}
	return telemetry.RulesOfFleet.Collect(ctx, s.Table, telemetry.FleetIn{FleetID: fleet})
}

// findRule returns the rule with this ID in a fleet: the only one, or that of the device or profile
// given in of.
func findRule(ctx context.Context, s *Store, fleet, id, of string) (found telemetry.Rule, err error) {
	all, err := rulesOf(ctx, s, fleet)
	if err != nil {
		return found, err
	}
	var whose []string
	for i := range all {
		if all[i].RuleID == id && (of == "" || all[i].ScopeID == of) {
			found, whose = all[i], append(whose, all[i].ScopeID)
		}
	}
	switch len(whose) {
	case 0:
		return found, fmt.Errorf("no_such_rule: there is no rule %q; `onefold rules list --fleet %s` lists all rules", id, fleet)
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("which_rule: %s each have a rule %q; select one with --of", strings.Join(whose, ", "), id)
}

type ruleDelete struct {
	ID    string `arg:"" help:"Rule ID."`
	Fleet string `required:"" help:"Fleet ID."`
	Of    string `help:"Device or profile of the rule. Required if several have a rule with this ID." placeholder:"ID"`
}

// Run deletes the rule. It waits until its alerts are closed.
func (c *ruleDelete) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		r, err := findRule(ctx, s, c.Fleet, c.ID, c.Of)
		if err == nil {
			err = alerts.DeleteRule(ctx, s.Table, r.RuleKey)
		}
		if err == nil {
			err = s.Worker.Drain(ctx)
		}
		if err == nil {
			_, err = fmt.Fprintf(env.Out, "Deleted rule %s.\n", c.ID)
		}
		return err
	})
}
