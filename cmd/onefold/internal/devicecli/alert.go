package devicecli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Alerts are the alert commands.
type Alerts struct {
	List    alertList    `cmd:"" default:"withargs" help:"List open alerts, most severe first. (default)"`
	Ack     alertAck     `cmd:"" help:"Acknowledge an open alert."`
	Comment alertComment `cmd:"" help:"Add a comment to an open alert."`
	Snooze  alertSnooze  `cmd:"" help:"Mute notifications of an open alert for a while."`
	History alertHistory `cmd:"" help:"List all alerts of a device and the actions taken."`
	Rebuild alertRebuild `cmd:"" help:"Recompute alerts from readings, including alerts missed while no worker read the change stream for a day."`
}

// severities is the order of lists.
var severities = []telemetry.Severity{telemetry.Critical, telemetry.Warning, telemetry.Info}

// alertOutput is the JSON form of an alert.
type alertOutput struct {
	ID           string                `json:"id"`
	Fleet        string                `json:"fleet"`
	Device       string                `json:"device"`
	Rule         string                `json:"rule"`
	Severity     telemetry.Severity    `json:"severity"`
	State        telemetry.AlertState  `json:"state"`
	Message      string                `json:"message,omitempty"`
	Metric       string                `json:"metric,omitempty"`
	Value        string                `json:"value,omitempty"`
	Peak         string                `json:"peak,omitempty"`
	Since        time.Time             `json:"since"`
	FiredAt      time.Time             `json:"firedAt,omitzero"`
	ResolvedAt   time.Time             `json:"resolvedAt,omitzero"`
	Ended        telemetry.Ending      `json:"ended,omitempty"`
	Withdrawn    bool                  `json:"withdrawn"`
	AckedBy      string                `json:"ackedBy,omitempty"`
	SnoozedUntil time.Time             `json:"snoozedUntil,omitzero"`
	History      []telemetry.AlertNote `json:"history,omitempty"`
}

func alertOutputOf(a *telemetry.Alert) alertOutput {
	moment := func(ms int64) (at time.Time) {
		if ms != 0 {
			at = time.UnixMilli(ms).UTC()
		}
		return at
	}
	return alertOutput{
		ID: a.AlertID, Fleet: a.FleetID, Device: a.DeviceID, Rule: a.RuleID, Severity: a.Severity, State: a.State, Message: a.Message, Metric: a.Metric,
		Value: a.Value, Peak: a.Peak, Since: time.UnixMilli(a.Since).UTC(), FiredAt: moment(a.Fired), ResolvedAt: moment(a.Resolved), Ended: a.Ended,
		Withdrawn: a.Withdrawn, AckedBy: a.AckedBy, SnoozedUntil: a.SnoozedUntil, History: a.History,
	}
}

// says describes the state of the alert.
func (a *alertOutput) says() string {
	switch {
	case a.Withdrawn:
		return "withdrawn"
	case !a.ResolvedAt.IsZero():
		return "until " + a.ResolvedAt.Format(time.RFC3339)
	case !a.SnoozedUntil.IsZero():
		return "snoozed until " + a.SnoozedUntil.Format(time.RFC3339)
	case a.AckedBy != "":
		return "acknowledged by " + a.AckedBy
	}
	return string(a.State)
}

func printAlerts(env *Env, all []alertOutput, notes bool) error {
	if env.JSON {
		return terminal.JSON(env.Out, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(env.Out, "No alerts.")
		return err
	}
	return printAlertTable(env, all, notes)
}

func printAlertTable(env *Env, all []alertOutput, notes bool) error {
	w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SEVERITY\tALERT\tDEVICE\tSINCE\tSTATE\tPEAK\tWHAT")
	for i := range all {
		a := &all[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.Severity, a.ID, terminal.Printable(a.Device), a.Since.Format(time.RFC3339),
			terminal.Printable(a.says()), terminal.Printable(a.Peak), terminal.Printable(a.Message))
		for _, n := range a.History {
			if notes {
				fmt.Fprintf(w, "\t  %s %s %s %s\t\t\t\t\t\n", n.At.Format(time.RFC3339), n.What, terminal.Printable(n.By), terminal.Printable(n.Text))
			}
		}
	}
	return w.Flush()
}

type alertList struct {
	Fleet string `help:"Fleet ID (default: all fleets)."`
}

// Run lists the open alerts.
func (c *alertList) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil { // alerts are derived items
			return err
		}
		if c.Fleet != "" {
			if _, err := telemetry.GetFleet(ctx, s.Table, c.Fleet); err != nil {
				return explain("fleet", c.Fleet, err)
			}
		}
		all := []alertOutput{}
		for _, severity := range severities {
			for a, err := range telemetry.OpenAlerts.All(ctx, s.Table, telemetry.SeverityIn{Severity: severity, FleetID: c.Fleet}) {
				if err != nil {
					return err
				}
				all = append(all, alertOutputOf(&a))
			}
		}
		return printAlerts(env, all, false)
	})
}

// openAlert returns the key of the open alert with this ID.
func openAlert(ctx context.Context, s *Store, id string) (telemetry.AlertKey, error) {
	if err := s.Worker.Drain(ctx); err != nil {
		return telemetry.AlertKey{}, err
	}
	for _, severity := range severities {
		for a, err := range telemetry.OpenAlerts.All(ctx, s.Table, telemetry.SeverityIn{Severity: severity}) {
			if err != nil || a.AlertID == id {
				return a.AlertKey, err
			}
		}
	}
	return telemetry.AlertKey{}, noOpenAlert(id)
}

func noOpenAlert(id string) error {
	return fmt.Errorf("no_such_alert: there is no open alert %q; `onefold alerts` lists open alerts", id)
}

// explainAlert adds advice to an error about an alert.
func explainAlert(id string, err error) error {
	switch {
	case errors.Is(err, table.ErrNotFound), errors.Is(err, alerts.ErrEnded):
		return noOpenAlert(id)
	case errors.Is(err, alerts.ErrSnooze):
		return fmt.Errorf("invalid: --for: %w", err)
	case errors.Is(err, alerts.ErrComment):
		return fmt.Errorf("invalid: %w", err)
	}
	return err
}

type alertAck struct {
	ID string `arg:"" help:"Alert ID."`
	By string `help:"Name of the person who acknowledges it." default:"command line"`
}

// Run acknowledges the alert.
func (c *alertAck) Run(ctx context.Context, env *Env) error {
	return changeAlert(ctx, env, c.ID, func(s *Store, k telemetry.AlertKey) (telemetry.Alert, error) {
		return alerts.Acknowledge(ctx, s.Table, k, c.By)
	})
}

type alertComment struct {
	ID   string `arg:"" help:"Alert ID."`
	Text string `arg:"" help:"Text of the comment, at most 2,000 bytes."`
	By   string `help:"Name of the author." default:"command line"`
}

// Run adds the comment.
func (c *alertComment) Run(ctx context.Context, env *Env) error {
	return changeAlert(ctx, env, c.ID, func(s *Store, k telemetry.AlertKey) (telemetry.Alert, error) {
		return alerts.Comment(ctx, s.Table, k, c.By, c.Text)
	})
}

type alertSnooze struct {
	ID  string        `arg:"" help:"Alert ID."`
	For time.Duration `help:"Duration of the snooze, at most 31 days; 0 ends a snooze." default:"1h"`
	By  string        `help:"Name of the person who snoozes it." default:"command line"`
}

// Run snoozes the alert.
func (c *alertSnooze) Run(ctx context.Context, env *Env) error {
	return changeAlert(ctx, env, c.ID, func(s *Store, k telemetry.AlertKey) (telemetry.Alert, error) {
		until := time.Time{}
		if c.For != 0 {
			until = s.Table.Now().Add(c.For)
		}
		return alerts.Snooze(ctx, s.Table, k, c.By, until)
	})
}

// changeAlert changes an open alert and prints it.
func changeAlert(ctx context.Context, env *Env, id string, do func(*Store, telemetry.AlertKey) (telemetry.Alert, error)) error {
	return env.Open(ctx, func(s *Store) error {
		key, err := openAlert(ctx, s, id)
		if err != nil {
			return err
		}
		a, err := do(s, key)
		if err != nil {
			return explainAlert(id, err)
		}
		out := alertOutputOf(&a)
		if env.JSON {
			return terminal.JSON(env.Out, out)
		}
		return printAlerts(env, []alertOutput{out}, true)
	})
}
