package main

import (
	"context"
	"io"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// damages are the ways in which the script command `damage` spoils derived items of a device or a
// fleet.
var damages = map[string]func(ctx context.Context, t *table.Table, id string) error{
	"changed": func(ctx context.Context, t *table.Table, id string) error {
		return damageAggregate(ctx, t, telemetry.AggregateKey{DeviceID: id, Period: telemetry.Hourly, Start: "2026-05-12T06:00:00Z"}, func(a *telemetry.Aggregate) {
			a.Readings++
			for i := range a.Metrics {
				if m := &a.Metrics[i]; m.Name == "temp" {
					m.Sum = m.Sum.Plus(m.Min).Minus(m.Min.Plus(m.Min)).Plus(m.Max)
				}
			}
		})
	},
	"missing": func(ctx context.Context, t *table.Table, id string) error {
		key := telemetry.AggregateKey{DeviceID: id, Period: telemetry.TenMinutes, Start: "2026-05-13T08:00:00Z"}
		stored, err := fold.Load(ctx, t, telemetry.Aggregates, []telemetry.AggregateKey{key})
		if err == nil {
			err = fold.RemoveState(ctx, t, telemetry.Aggregates, key, stored[0].Version)
		}
		return err
	},
	"extra": func(ctx context.Context, t *table.Table, id string) error {
		return damageAggregate(ctx, t, telemetry.AggregateKey{DeviceID: id, Period: telemetry.Daily, Start: "2026-05-20"}, func(a *telemetry.Aggregate) {
			a.FleetID, a.Readings = "plant", 1
		})
	},
	"expired": func(ctx context.Context, t *table.Table, id string) error {
		return damageAggregate(ctx, t, telemetry.AggregateKey{DeviceID: id, Period: telemetry.Hourly, Start: "2026-05-12T06:00:00Z"}, func(a *telemetry.Aggregate) {
			a.RawUntil = 1
		})
	},
	"latest": func(ctx context.Context, t *table.Table, id string) error {
		key := telemetry.StatusKey{DeviceID: id}
		stored, err := fold.Load(ctx, t, telemetry.Statuses, []telemetry.StatusKey{key})
		if err != nil {
			return err
		}
		s := stored[0].State
		wrong, err := telemetry.Number("99")
		if err != nil {
			return err
		}
		s.Values["temp"] = telemetry.LatestValue{At: s.Values["temp"].At, Value: wrong}
		return fold.ReplaceState(ctx, t, telemetry.Statuses, key, s, stored[0].Version)
	},
	"counts": func(ctx context.Context, t *table.Table, id string) error {
		key := telemetry.FleetCountsKey{FleetID: id}
		stored, err := fold.Load(ctx, t, telemetry.Counts, []telemetry.FleetCountsKey{key})
		if err != nil {
			return err
		}
		stored[0].State.ByStatus["retired"] = 7
		return fold.ReplaceState(ctx, t, telemetry.Counts, key, stored[0].State, stored[0].Version)
	},
}

func damageAggregate(ctx context.Context, t *table.Table, key telemetry.AggregateKey, change func(*telemetry.Aggregate)) error {
	stored, err := fold.Load(ctx, t, telemetry.Aggregates, []telemetry.AggregateKey{key})
	if err != nil {
		return err
	}
	change(&stored[0].State)
	return fold.ReplaceState(ctx, t, telemetry.Aggregates, key, stored[0].State, stored[0].Version)
}

// damage spoils derived items of a device or a fleet, in the table of a script's data directory.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || damages[args[0]] == nil {
		ts.Fatalf("usage: damage KIND ID")
	}
	g := &globals{Data: ts.Getenv("ONEFOLD_DATA_DIR")}
	ts.Check(g.withStore(context.Background(), io.Discard, tuning{existing: true}, func(s *store) error {
		if err := s.worker.Drain(context.Background()); err != nil {
			return err
		}
		return damages[args[0]](context.Background(), s.table, args[1])
	}))
}
