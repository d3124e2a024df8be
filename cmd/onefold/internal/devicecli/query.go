package devicecli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/query"
)

// Telemetry are the commands about all readings of a fleet.
type Telemetry struct {
	Query telemetryQuery `cmd:"" help:"Compute a figure of a metric over many devices, by steps of time and groups."`
}

type telemetryQuery struct {
	Metric   string        `arg:"" help:"Metric, with its labels: cpu.idle{cpu=cpu0}."`
	Fleet    string        `help:"Fleet ID." required:""`
	Function string        `help:"avg, min, max, sum, stddev, count, first, last, a percentile such as p95, increase, rate, derivative or durations." default:"avg"`
	From     string        `help:"Start, as 2026-05-12, 2026-05-12T14:00 in the fleet's time zone, or with a UTC offset (default: --last before the end)."`
	To       string        `help:"End, exclusive (default: now)."`
	Last     time.Duration `help:"Length of the period, such as 36h, 60d or 2w, unless both --from and --to are given." default:"24h"`
	Step     string        `help:"hour or day of the fleet's time zone, all, or a duration from the start, such as 15m." default:"hour"`
	By       string        `help:"Property that groups devices: device, tag, profile or type (default: all are one group)." placeholder:"WHAT"`
	Device   []string      `help:"Device ID. Repeat for more (default: all devices)."`
	Tag      string        `help:"Only devices with this tag."`
	Profile  string        `help:"Only devices with this profile."`
	Readings bool          `help:"Use readings only, not aggregates."`
	CSV      bool          `name:"csv" help:"Print comma-separated values."`
}

// Run answers the query.
func (c *telemetryQuery) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil { // aggregates are derived items
			return err
		}
		fleet, err := telemetry.GetFleet(ctx, s.Table, c.Fleet)
		if err != nil {
			return explain("fleet", c.Fleet, err)
		}
		zone, err := time.LoadLocation(fleet.TimeZone)
		if err != nil {
			return err
		}
		in, err := c.request(zone, s.Table.Now())
		if err != nil {
			return err
		}
		result, err := query.Do(ctx, s.Table, in)
		switch {
		case err != nil:
			return explainQuery(err)
		case env.JSON:
			return terminal.JSON(env.Out, result)
		case c.CSV:
			return c.printCSV(env, &result)
		}
		return c.print(env, &result, zone)
	})
}

// explainQuery gives an error of a query the code that it has over HTTP.
func explainQuery(err error) error {
	for code, is := range map[string]error{"invalid_query": query.ErrInvalid, "query_too_large": query.ErrTooMuch, "readings_expired": query.ErrExpired} {
		if errors.Is(err, is) {
			return fmt.Errorf("%s: %s", code, strings.TrimPrefix(err.Error(), is.Error()+": "))
		}
	}
	return err
}

func (c *telemetryQuery) request(zone *time.Location, now time.Time) (query.Request, error) {
	span := Readings{From: c.From, To: c.To, Last: c.Last}
	if c.From == "" && c.To == "" {
		span.To = now.UTC().Format(time.RFC3339Nano)
	}
	from, to, err := span.bounds(zone)
	in := query.Request{
		FleetID: c.Fleet, Metric: c.Metric, Function: query.Function(c.Function), From: from, To: to, Step: c.Step, GroupBy: query.GroupBy(c.By),
		Devices: c.Device, Tag: c.Tag, Profile: c.Profile,
	}
	if c.Readings {
		in.Source = query.RawReadings
	}
	return in, err
}

// print prints a table, in the fleet's time zone.
func (c *telemetryQuery) print(env *Env, r *query.Result, zone *time.Location) error {
	w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", "AT", "GROUP", "STATE", "VALUE")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.At.In(zone).Format("2006-01-02 15:04:05 MST"), terminal.Printable(row.Group), terminal.Printable(row.State), terminal.Printable(row.Value.String()))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.Out, "\n%s of %s: %s of %s, from %s and %s.\n", c.Function, terminal.Printable(c.Metric), terminal.Count(len(r.Rows), "row"),
		terminal.Count(r.Devices, "device"), terminal.Count(r.Aggregates, "hourly aggregate"), terminal.Count(r.Readings, "raw reading"))
	return err
}

func (c *telemetryQuery) printCSV(env *Env, r *query.Result) error {
	w := csv.NewWriter(env.Out)
	err := w.Write([]string{"group", "at", "state", "value"})
	for i := range r.Rows {
		row := &r.Rows[i]
		err = cmp.Or(err, w.Write([]string{row.Group, row.At.Format(time.RFC3339Nano), row.State, row.Value.String()}))
	}
	w.Flush()
	return cmp.Or(err, w.Error())
}
