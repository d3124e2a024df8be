package devicecli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

type alertHistory struct {
	Device    string `arg:"" help:"Device ID."`
	Withdrawn string `help:"Whether to list withdrawn alerts: ${enum}. Late readings, or a retraction, showed that their conditions never held. They are listed below the others." enum:"include,exclude,only" default:"include"`
}

// Run lists the device's alerts, latest first.
func (c *alertHistory) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil {
			return err
		}
		if _, err := telemetry.GetDevice(ctx, s.Table, c.Device); err != nil {
			return explain("device", c.Device, err)
		}
		held, withdrawn := []alertOutput{}, []alertOutput{}
		for a, err := range telemetry.AlertsOfDevice.All(ctx, s.Table, telemetry.DeviceIn{DeviceID: c.Device}) {
			switch {
			case err != nil:
				return err
			case a.Withdrawn:
				withdrawn = append(withdrawn, alertOutputOf(&a))
			default:
				held = append(held, alertOutputOf(&a))
			}
		}
		if err := c.print(env, held, withdrawn); err != nil || env.JSON || c.Withdrawn == "only" {
			return err
		}
		pending, err := alerts.Pending(ctx, s.Table, c.Device)
		for _, rule := range slices.Sorted(maps.Keys(pending)) {
			fmt.Fprintf(env.Out, "Rule %s has been breached since %s, not yet long enough for an alert.\n", rule, pending[rule].Format(time.RFC3339))
		}
		return err
	})
}

// print lists withdrawn alerts apart, so that they do not hide those whose conditions held.
func (c *alertHistory) print(env *Env, held, withdrawn []alertOutput) error {
	switch {
	case c.Withdrawn == "only":
		return printAlerts(env, withdrawn, true)
	case c.Withdrawn == "exclude":
		withdrawn = nil
	}
	if env.JSON {
		return printAlerts(env, slices.Concat(held, withdrawn), true)
	}
	if err := printAlerts(env, held, true); err != nil || len(withdrawn) == 0 {
		return err
	}
	fmt.Fprintln(env.Out, "\nWithdrawn:")
	return printAlertTable(env, withdrawn, true)
}
