package devicecli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Fleets are the fleet commands.
type Fleets struct {
	Create fleetCreate `cmd:"" help:"Create a fleet."`
	Update fleetUpdate `cmd:"" help:"Change a fleet's settings. Settings without a flag stay as they are."`
	List   fleetList   `cmd:"" help:"List the fleets."`
	Show   fleetShow   `cmd:"" help:"Show a fleet and its number of devices."`
	Delete fleetDelete `cmd:"" help:"Delete a fleet with its devices and all their readings."`
}

type fleetCreate struct {
	ID         string `arg:"" help:"Fleet ID: letters, digits and . _ - ; at most 64 characters."`
	Name       string `help:"Display name."`
	Timezone   string `help:"IANA time zone of the fleet's hours and days, such as Europe/Berlin. It cannot be changed later." default:"UTC" env:"ONEFOLD_TIMEZONE"`
	TenMinutes bool   `help:"Keep 10-minute aggregates too."`
	RawDays    int    `help:"Retention of readings, in days; 0 means 30."`
	HourDays   int    `help:"Retention of hourly aggregates, in days; 0 means 730."`
	PerMinute  int    `help:"Maximum readings per minute from a device; 0 means 6000."`
	Metrics    int    `help:"Maximum number of different metrics from a device within a day, at most 1000; 0 means 600."`

	PropertyTag []string `help:"Tag of line protocol, or field of JSON readings, that describes a device, such as driver. It is stored as a value of its own, not as part of metric names. Repeat or separate by commas." placeholder:"TAG"`
}

// fleetOutput is the JSON form of a fleet.
type fleetOutput struct {
	ID           string              `json:"id"`
	Name         string              `json:"name,omitempty"`
	TimeZone     string              `json:"timezone"`
	CreatedAt    time.Time           `json:"createdAt"`
	TenMinutes   bool                `json:"tenMinutes"`
	Retention    telemetry.Retention `json:"retention"`
	Limits       telemetry.Limits    `json:"limits"`
	PropertyTags []string            `json:"propertyTags,omitempty"`
	Statuses     map[string]int64    `json:"statuses,omitempty"`     // number of devices by status
	Connectivity map[string]int64    `json:"connectivity,omitempty"` // number of devices by connectivity
}

func fleetOutputOf(f *telemetry.Fleet) fleetOutput {
	return fleetOutput{ID: f.FleetID, Name: f.Name, TimeZone: f.TimeZone, CreatedAt: f.CreatedAt, TenMinutes: f.TenMinutes, Retention: f.Retention, Limits: f.Limits, PropertyTags: f.PropertyTags}
}

// Run creates the fleet.
func (c *fleetCreate) Run(ctx context.Context, env *Env) error {
	return env.Make(ctx, func(s *Store) error {
		f, err := telemetry.CreateFleet(ctx, s.Table, telemetry.NewFleet{
			ID: c.ID, Name: c.Name, TimeZone: c.Timezone, TenMinutes: c.TenMinutes,
			Retention: telemetry.Retention{RawDays: c.RawDays, HourDays: c.HourDays},
			Limits:    telemetry.Limits{PerMinute: c.PerMinute, Metrics: c.Metrics}, PropertyTags: c.PropertyTag,
		})
		if err != nil {
			return explain("fleet", c.ID, err)
		}
		if env.JSON {
			return terminal.JSON(env.Out, fleetOutputOf(&f))
		}
		_, err = fmt.Fprintf(env.Out, "Created %s (%s). Next: onefold device add --fleet %s DEVICE.\n", f.FleetID, f.TimeZone, f.FleetID)
		return err
	})
}

type fleetUpdate struct {
	ID          string    `arg:"" help:"Fleet ID."`
	Name        *string   `help:"Display name."`
	TenMinutes  *bool     `help:"Keep 10-minute aggregates of future readings too." negatable:""`
	PerMinute   *int      `help:"Maximum readings per minute from a device; 0 means 6000."`
	Metrics     *int      `help:"Maximum number of different metrics from a device within a day, at most 1000; 0 means 600."`
	PropertyTag *[]string `help:"Tags that describe a device, replacing the current ones; an empty value removes them all. See fleet create." placeholder:"TAG"`
}

// Run changes the fleet.
func (c *fleetUpdate) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		f, err := telemetry.UpdateFleet(ctx, s.Table, c.ID, func(f *telemetry.Fleet) error {
			set(&f.Name, c.Name)
			set(&f.TenMinutes, c.TenMinutes)
			set(&f.Limits.PerMinute, c.PerMinute)
			set(&f.Limits.Metrics, c.Metrics)
			if c.PropertyTag != nil {
				f.PropertyTags = slices.DeleteFunc(slices.Clone(*c.PropertyTag), func(tag string) bool { return tag == "" })
			}
			return nil
		})
		if err != nil {
			return explain("fleet", c.ID, err)
		}
		if env.JSON {
			return terminal.JSON(env.Out, fleetOutputOf(&f))
		}
		_, err = fmt.Fprintf(env.Out, "Changed %s.\n", f.FleetID)
		return err
	})
}

type fleetList struct{}

// Run lists the fleets.
func (c *fleetList) Run(ctx context.Context, env *Env) error {
	fleets := []fleetOutput{}
	err := env.Open(ctx, func(s *Store) error {
		for f, err := range telemetry.ListFleets(ctx, s.Table, "") {
			if err != nil {
				return err
			}
			fleets = append(fleets, fleetOutputOf(&f))
		}
		return nil
	})
	if err != nil && !errors.Is(err, env.NoTable) {
		return err
	}
	return terminal.List[fleetOutput]{
		JSON: env.JSON, Empty: "No fleets yet. Create one with: onefold fleet create plant", Columns: "FLEET\tTIME ZONE\tNAME\tCREATED",
		Row: func(f *fleetOutput) []any {
			return []any{f.ID, f.TimeZone, terminal.Printable(f.Name), f.CreatedAt.Format(time.DateOnly)}
		},
	}.Print(env.Out, fleets)
}

type fleetShow struct {
	ID string `arg:"" help:"Fleet ID."`
}

// Run shows the fleet.
func (c *fleetShow) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil {
			return err
		}
		f, err := telemetry.GetFleet(ctx, s.Table, c.ID)
		if err != nil {
			return explain("fleet", c.ID, err)
		}
		counts, err := telemetry.CountsOfFleet.Get(ctx, s.Table, telemetry.FleetIn{FleetID: c.ID})
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			return err
		}
		out := fleetOutputOf(&f)
		out.Statuses, out.Connectivity = counts.ByStatus, counts.ByConnectivity
		if env.JSON {
			return terminal.JSON(env.Out, out)
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintf(w, "fleet\t%s\nname\t%s\ntime zone\t%s\ncreated\t%s\nreading retention\t%d d\n", out.ID, terminal.Printable(out.Name), out.TimeZone,
			out.CreatedAt.Format(time.RFC3339), int(f.Retention.Raw().Hours()/24))
		if len(f.PropertyTags) > 0 {
			fmt.Fprintf(w, "property tags\t%s\n", terminal.Printable(strings.Join(f.PropertyTags, ", ")))
		}
		for _, status := range []telemetry.DeviceStatus{telemetry.Provisioned, telemetry.Active, telemetry.Inactive, telemetry.Maintenance, telemetry.Retired} {
			if n := counts.ByStatus[string(status)]; n > 0 {
				fmt.Fprintf(w, "%s\t%s\n", status, terminal.Grouped(n))
			}
		}
		return w.Flush()
	})
}

type fleetDelete struct {
	ID  string `arg:"" help:"Fleet ID."`
	Yes bool   `required:"" help:"Confirm the deletion, which cannot be undone."`
}

// Run marks the fleet as deleted. A server then deletes its data.
func (c *fleetDelete) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := telemetry.DeleteFleet(ctx, s.Table, c.ID); err != nil {
			return explain("fleet", c.ID, err)
		}
		_, err := fmt.Fprintf(env.Out, "Deleted %s. Its devices and readings are deleted in the background while `onefold serve` runs.\n", c.ID)
		return err
	})
}
