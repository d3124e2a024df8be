package reportcli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/table"
)

// Alerts are the commands for alerts of sites.
type Alerts struct {
	Add     alertAdd     `cmd:"" help:"Create a rule that sends alerts about the traffic of a site."`
	List    alertList    `cmd:"" help:"List the alert rules of a site with their state."`
	Test    alertTest    `cmd:"" help:"Show what a rule would have done in the last days."`
	History alertHistory `cmd:"" help:"List the latest alerts of a site."`
	Delete  alertDelete  `cmd:"" help:"Delete an alert rule."`
}

// ruleFlags are the settings of a rule.
type ruleFlags struct {
	Kind    string  `help:"Kind of the rule: spike, drop, silence, goal or vital." enum:"spike,drop,silence,goal,vital" default:"drop"`
	Goal    string  `help:"Goal without conversions, for the kind goal." placeholder:"ID"`
	Vital   string  `help:"Web vital, for the kind vital: lcp, inp or cls." placeholder:"NAME"`
	Factor  float64 `help:"How many times more than usual; for a drop, how many times fewer (default: 3; for vitals 1.25)." placeholder:"N"`
	AtLeast int64   `help:"Smaller numbers cause no alert. Spike: visitors of the hour (default: 50). Drop: usual visitors of the hour (default: 20). Silence: usual page views and events (default: 20). Goal: usual conversions (default: 5). Vital: page loads of the day (default: 100)." placeholder:"N"`
	Hours   int     `help:"Hours without any, for silence (default: 3) and goal (default: 24), 1 to 168." placeholder:"N"`
	Limit   float64 `help:"Highest acceptable 75th percentile of a vital, in milliseconds; for cls a score (default: --factor times that of the four weeks before)." placeholder:"N"`
	For     int     `help:"Hours for which the condition must hold after its first hour, 0 to 168." default:"0" placeholder:"N"`
	KeepFor int     `help:"Hours after the last unusual one for which the alert keeps firing, 0 to 168." default:"0" placeholder:"N"`
}

func (f *ruleFlags) settings() alerts.Settings {
	return alerts.Settings{
		Kind: alerts.Kind(f.Kind), Goal: f.Goal, Vital: f.Vital, Factor: f.Factor, AtLeast: f.AtLeast, Hours: f.Hours, Limit: f.Limit, For: f.For, KeepFor: f.KeepFor,
	}
}

// alertOutput is the JSON form of a rule.
type alertOutput struct {
	ID   string `json:"id"`
	Site string `json:"site"`
	Name string `json:"name,omitempty"`
	alerts.Settings
	Channels []string      `json:"channels,omitempty"`
	State    string        `json:"state"` // ok, pending, firing or off
	Alert    *alerts.Alert `json:"alert,omitempty"`
	Judged   time.Time     `json:"judgedUntil"`
}

func alertOutputOf(r *alerts.Rule) alertOutput {
	return alertOutput{ID: r.RuleID, Site: r.SiteID, Name: r.Name, Settings: r.Settings, Channels: r.Channels, State: r.Standing(), Alert: r.State.Alert, Judged: r.Judged}
}

type alertAdd struct {
	Site string `arg:"" help:"Site ID."`
	ID   string `arg:"" optional:"" help:"Rule ID (default: a new one)."`
	ruleFlags
	Channel []string `help:"ID of a channel to send to. Repeat or separate by commas (default: all channels of the site)."`
	Name    string   `help:"Name of the rule, with which messages begin (default: that of its kind)."`
}

// Run creates the rule.
func (c *alertAdd) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		key := alerts.Key{SiteID: c.Site, RuleID: c.ID}
		if err := unused(ctx, s, alertNoun, alerts.Rules, key, c.Site, c.ID); err != nil {
			return err
		}
		r, err := alerts.Put(ctx, s.Table, alerts.Rule{Key: key, Name: c.Name, Settings: c.settings(), Channels: c.Channel})
		if err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		if env.JSON {
			return terminal.JSON(env.Out, alertOutputOf(&r))
		}
		_, err = fmt.Fprintf(env.Out, "Created alert rule %s; the first hour is judged at %s. To see what it would have done: onefold site alert test %s --rule %s\n",
			r.RuleID, r.Next.Format(time.RFC3339), c.Site, r.RuleID)
		return err
	})
}

type alertList struct {
	Site string `arg:"" help:"Site ID."`
}

// Run lists the rules.
func (c *alertList) Run(ctx context.Context, env *cmdenv.Env) error {
	l := listing[alerts.Rule, alertOutput]{
		site: c.Site, output: alertOutputOf, header: "RULE\tKIND\tSTATE\tJUDGED UNTIL\tCHANNELS\tNAME",
		all: func(ctx context.Context, t *table.Table) ([]alerts.Rule, error) {
			return alerts.RulesOfSite.Collect(ctx, t, alerts.SiteIn{SiteID: c.Site})
		},
		empty: fmt.Sprintf("No alert rules yet. Create one with: onefold site alert add %s --kind drop", c.Site),
		row: func(r *alerts.Rule) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", r.RuleID, r.Kind, r.Standing(), r.Judged.Format(time.RFC3339), cmp.Or(strings.Join(r.Channels, ", "), "all"), terminal.Printable(r.Name))
		},
	}
	return l.run(ctx, env)
}

type alertTest struct {
	Site string `arg:"" help:"Site ID."`
	Rule string `help:"ID of an existing rule (default: the rule given by the other flags)." placeholder:"ID"`
	Days int    `help:"Number of days until now, 1 to 30." default:"7"`
	ruleFlags
}

// Run shows what the rule would have done.
func (c *alertTest) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		r := alerts.Rule{Key: alerts.Key{SiteID: c.Site}, Settings: c.settings()}
		if c.Rule != "" {
			var err error
			if r, err = alerts.Rules.Get(ctx, s.Table, alerts.Key{SiteID: c.Site, RuleID: c.Rule}); err != nil {
				return alertNoun.missing(c.Site, c.Rule, err)
			}
		}
		p, err := alerts.Preview(ctx, s.Table, r, c.Days)
		if err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		if env.JSON {
			return terminal.JSON(env.Out, p)
		}
		if _, err := fmt.Fprintf(env.Out, "%s in %s judged; %s with too little to judge.\n", terminal.Count(len(p.Alerts), "alert"), terminal.Count(p.Hours, "hour"), terminal.Count(p.Unsure, "hour")); err != nil {
			return err
		}
		return printAlerts(env.Out, p.Alerts)
	})
}

func printAlerts(out io.Writer, all []alerts.Alert) error {
	for i := range all {
		a, end := &all[i], "still firing"
		if a.Status == alerts.Resolved {
			end = "until " + a.EndedAt.Format(time.RFC3339)
		}
		text := a.Summary
		if why := a.Cause.Sentence(); why != "" {
			text += " " + why
		}
		if _, err := fmt.Fprintf(out, "%s %s, %s: %s\n", a.FiredAt.Format(time.RFC3339), end, a.RuleID, terminal.Clean(text)); err != nil {
			return err
		}
	}
	return nil
}

type alertHistory struct {
	Site  string `arg:"" help:"Site ID."`
	Limit int    `help:"Maximum number of alerts, 1 to 1000." default:"20"`
}

// Validate checks the flags. Kong calls it.
func (c *alertHistory) Validate() error {
	if c.Limit < 1 || c.Limit > 1000 {
		return fmt.Errorf("--limit is %d, must be 1 to 1000", c.Limit)
	}
	return nil
}

// Run lists the latest alerts.
func (c *alertHistory) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		all := []alerts.Alert{}
		for a, err := range alerts.AlertsOfSite.All(ctx, s.Table, alerts.SiteIn{SiteID: c.Site}) {
			if err != nil {
				return cmdenv.SiteError(c.Site, err)
			}
			if all = append(all, a); len(all) == c.Limit {
				break
			}
		}
		switch {
		case env.JSON:
			return terminal.JSON(env.Out, all)
		case len(all) == 0:
			_, err := fmt.Fprintln(env.Out, "No alerts yet.")
			return err
		}
		return printAlerts(env.Out, all)
	})
}

type alertDelete struct {
	Site string `arg:"" help:"Site ID."`
	ID   string `arg:"" help:"Rule ID."`
}

// Run deletes the rule.
func (c *alertDelete) Run(ctx context.Context, env *cmdenv.Env) error {
	return alertNoun.remove(ctx, env, c.Site, c.ID, func(t *table.Table) error {
		_, err := alerts.Delete(ctx, t, alerts.Key{SiteID: c.Site, RuleID: c.ID})
		return err
	})
}
