package devicecli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Readings shows the readings of a device.
type Readings struct {
	Device     string        `arg:"" help:"Device ID."`
	Metric     string        `help:"Metric to show (default: the device's only metric)."`
	From       string        `help:"Start, as 2026-05-12, 2026-05-12T14:00 in the fleet's time zone, or with a UTC offset (default: --last before the end)."`
	To         string        `help:"End, exclusive (default: the last reading)."`
	Last       time.Duration `help:"Length of the period, such as 36h, 60d or 2w, unless both --from and --to are given." default:"24h"`
	Resolution string        `help:"Resolution: raw, 10min, hourly or daily (default: the finest with at most --max-points points)." placeholder:"PERIOD"`
	MaxPoints  int           `help:"Maximum number of points, 3 to 10,000." default:"500"`
	Fill       string        `help:"Filling of gaps: null, previous or linear (default: gaps stay empty)." placeholder:"HOW"`
	Plot       bool          `help:"Draw the curve." xor:"as"`
	CSV        bool          `name:"csv" help:"Print comma-separated values." xor:"as"`
}

// Run shows the readings.
func (c *Readings) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil {
			return err
		}
		zone, err := c.complete(ctx, s)
		if err != nil {
			return err
		}
		in := telemetry.SeriesIn{
			DeviceID: c.Device, Metric: c.Metric, Resolution: telemetry.Period(c.Resolution), MaxPoints: c.MaxPoints, Fill: telemetry.Fill(c.Fill),
		}
		if in.From, in.To, err = c.bounds(zone); err != nil {
			return err
		}
		series, err := telemetry.ReadSeries(ctx, s.Table, in)
		switch {
		case err != nil:
			return explain("device", c.Device, err)
		case env.JSON:
			return terminal.JSON(env.Out, series)
		case c.CSV:
			return seriesCSV(env.Out, &series)
		case c.Plot:
			return plotSeries(env.Out, &series, zone)
		}
		return printSeries(env.Out, &series, zone)
	})
}

// complete sets the default metric and the default end. It returns the fleet's time zone.
func (c *Readings) complete(ctx context.Context, s *Store) (*time.Location, error) {
	d, err := telemetry.GetDevice(ctx, s.Table, c.Device)
	if err != nil {
		return nil, explain("device", c.Device, err)
	}
	fleet, err := telemetry.GetFleet(ctx, s.Table, d.FleetID)
	if err != nil {
		return nil, explain("fleet", d.FleetID, err)
	}
	zone, err := time.LoadLocation(fleet.TimeZone)
	if err != nil {
		return nil, err
	}
	if c.Metric != "" && c.To != "" {
		return zone, nil
	}
	status, err := telemetry.ReadStatus(ctx, s.Table, c.Device)
	if errors.Is(err, table.ErrNotFound) {
		return nil, fmt.Errorf("no_readings: %s has no readings yet", c.Device)
	}
	if err != nil {
		return nil, err
	}
	names := sortedNames(status.Values)
	if c.Metric == "" {
		if len(names) != 1 {
			return nil, fmt.Errorf("which_metric: %s measures %s; choose one with --metric", c.Device, strings.Join(names, ", "))
		}
		c.Metric = names[0]
	}
	latest, there := status.Values[c.Metric]
	if !there {
		return nil, fmt.Errorf("no_such_metric: %s measures %s", c.Device, strings.Join(names, ", "))
	}
	if c.To == "" && c.From == "" {
		c.To = time.UnixMilli(latest.At + 1).UTC().Format(time.RFC3339Nano)
	}
	return zone, nil
}

// bounds returns the selected time range.
func (c *Readings) bounds(zone *time.Location) (from, to time.Time, err error) {
	if c.From != "" {
		if from, err = parseMoment(c.From, zone); err != nil {
			return from, to, fmt.Errorf("invalid_range: --from: %w", err)
		}
	}
	if c.To != "" {
		if to, err = parseMoment(c.To, zone); err != nil {
			return from, to, fmt.Errorf("invalid_range: --to: %w", err)
		}
	}
	switch {
	case to.IsZero():
		to = from.Add(c.Last)
	case from.IsZero():
		from = to.Add(-c.Last)
	}
	return from, to, nil
}

// parseMoment parses a date or time. zone applies if text has no offset.
func parseMoment(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("cannot parse time %.40q; write it like 2026-05-12, 2026-05-12T14:00 or 2026-05-12T14:00:00+02:00", text)
}

// about describes a series.
func about(s *telemetry.Series) string {
	what := map[telemetry.Period]string{
		telemetry.Raw: "readings", telemetry.TenMinutes: "every 10 minutes", telemetry.Hourly: "every hour", telemetry.Daily: "every day",
	}[s.Resolution]
	if s.Thinned {
		what += ", thinned"
	}
	return fmt.Sprintf("%s of %s, %s: %s", terminal.Printable(s.Metric), s.DeviceID, what, terminal.Count(len(s.Points), "point"))
}

func printSeries(out io.Writer, s *telemetry.Series, zone *time.Location) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	raw := s.Resolution == telemetry.Raw
	if raw {
		fmt.Fprintf(w, "time\t%s\t\n", terminal.Printable(s.Metric))
	} else {
		fmt.Fprintf(w, "time\t%s\treadings\tleast\tgreatest\tp95\tcoverage\t\n", terminal.Printable(s.Metric))
	}
	for i := range s.Points {
		p := &s.Points[i]
		at, value := p.At.In(zone).Format("2006-01-02 15:04:05.000"), terminal.Printable(p.Value.String())
		if !raw {
			at = p.At.In(zone).Format("2006-01-02 15:04")
		}
		if p.Filled {
			value = "(" + value + ")"
		}
		switch f := p.Figures; {
		case raw:
			fmt.Fprintf(w, "%s\t%s\t\n", at, value)
		case f == nil:
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t\n", at, value)
		default:
			coverage := ""
			if p.Coverage > 0 {
				coverage = strconv.FormatFloat(100*p.Coverage, 'f', 1, 64) + " %"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", at, value, terminal.Grouped(f.Count), f.Min, f.Max, f.P95, coverage)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, about(s))
	return err
}

func seriesCSV(out io.Writer, s *telemetry.Series) error {
	w := csv.NewWriter(out)
	header := []string{"time", "value", "filled"}
	if s.Resolution != telemetry.Raw {
		header = append(header, "count", "first", "last", "sum", "min", "max", "mean", "deviation", "p50", "p90", "p95", "p99", "increase", "coverage")
	}
	if err := w.Write(header); err != nil {
		return err
	}
	for i := range s.Points {
		p := &s.Points[i]
		row := []string{p.At.UTC().Format("2006-01-02T15:04:05.000Z"), p.Value.String(), strconv.FormatBool(p.Filled)}
		if f := p.Figures; f != nil {
			row = append(row, strconv.FormatInt(f.Count, 10), f.First, f.Last, f.Sum, f.Min, f.Max, f.Mean, f.Deviation, f.P50, f.P90, f.P95, f.P99, f.Increase,
				strconv.FormatFloat(p.Coverage, 'f', 4, 64))
		}
		for len(row) < len(header) {
			row = append(row, "")
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
