package devicecli

import (
	"context"
	"fmt"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

type alertRebuild struct {
	Fleet string `help:"Fleet ID (default: all fleets)."`
}

// rebuiltFleet is the JSON result for a fleet.
type rebuiltFleet struct {
	Fleet string `json:"fleet"`
	alerts.Rebuilt
}

// Run recomputes the alerts. Correct alerts are not changed.
func (c *alertRebuild) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		fleets, err := c.fleets(ctx, s)
		if err != nil {
			return err
		}
		all := []rebuiltFleet{}
		for _, id := range fleets {
			did, err := alerts.Rebuild(ctx, s.Table, s.Worker, id)
			if err != nil {
				return explain("fleet", id, err)
			}
			all = append(all, rebuiltFleet{id, did})
			if !env.JSON {
				fmt.Fprintf(env.Out, "%s: %s with rules; %s created or changed, %d closed with the rule, %s repaired.\n",
					id, terminal.Count(did.Devices, "device"), terminal.Count(did.Alerts, "alert"), did.Ended, terminal.Count(did.Aggregates, "aggregate"))
			}
		}
		if env.JSON {
			return terminal.JSON(env.Out, all)
		}
		return nil
	})
}

func (c *alertRebuild) fleets(ctx context.Context, s *Store) (ids []string, err error) {
	if c.Fleet != "" {
		return []string{c.Fleet}, nil
	}
	for f, err := range telemetry.ListFleets(ctx, s.Table, "") {
		if err != nil {
			return nil, err
		}
		ids = append(ids, f.FleetID)
	}
	return ids, nil
}
