package devicecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/readingfiles"
	"github.com/onefold/onefold/telemetry"
)

// Import imports files of readings.
type Import struct {
	Device       string   `help:"Device of the readings, if the files do not name it."`
	DeviceColumn string   `help:"Column, or tag of line protocol, that names the device (default: device, device_id or deviceId; tags device, device_id or host)." placeholder:"NAME"`
	TimeColumn   string   `help:"Column of the time (default: time, timestamp, at, ts, datetime or date)." placeholder:"NAME"`
	SeqColumn    string   `help:"Column of the sequence number that the device assigned (default: seq, if present)." placeholder:"NAME"`
	Metric       []string `help:"Column to import as a metric: COLUMN, COLUMN=METRIC or COLUMN=METRIC:UNIT. Repeat or separate by commas (default: all other columns)." placeholder:"COLUMN=METRIC"`
	TimeFormat   string   `help:"Time format: unix, unix-ms, unix-us, unix-ns, or a layout that shows how to write 2006-01-02 15:04:05 (default: any common format, year first)."`
	TimeZone     string   `help:"IANA time zone of times without one (default: that of the fleet of --fleet or --device, otherwise UTC)."`
	Format       string   `help:"Format of the files: ${enum}." enum:"${reading_formats}" default:"auto"`
	Fleet        string   `help:"Fleet in which to create missing devices."`
	DryRun       bool     `help:"Print what would be imported, and write nothing."`
	Server       string   `help:"URL of a running server to send the readings to, such as https://stats.example.org, instead of opening the table. Requires --fleet." placeholder:"URL" env:"ONEFOLD_SERVER"`
	Key          string   `help:"API key of the fleet with scope write, for --server." env:"ONEFOLD_KEY"`
	Quiet        bool     `short:"q" help:"Hide the progress bar."`
	Files        []string `arg:"" name:"file" help:"CSV, JSON lines or InfluxDB line protocol, plain or compressed with gzip or zstd; - is standard input."`
}

// Run imports the files in order, waits for the folds and prints a summary.
func (c *Import) Run(ctx context.Context, env *Env) error {
	if err := env.CheckFiles(c.Files); err != nil {
		return err
	}
	summary := telemetrySummary{DryRun: c.DryRun}
	start := time.Now()
	work := c.local
	if c.Server != "" {
		work = c.send
	}
	err := work(ctx, env, &summary)
	if errors.Is(err, env.NoTable) {
		return fmt.Errorf("%w; readings belong to devices: create a fleet with `onefold fleet create`, and devices with `onefold device add`", err)
	}
	if err != nil {
		return err
	}
	summary.Seconds = time.Since(start).Seconds()
	return summary.printResult(env.Out, env.JSON)
}

// local imports into the table.
func (c *Import) local(ctx context.Context, env *Env, summary *telemetrySummary) error {
	return env.Load(ctx, func(s *Store) error {
		to := &tableInto{c, s.Table, telemetry.NewCollector(s.Table, telemetry.CollectorOptions{})}
		if c.DryRun {
			return c.read(ctx, env, to, summary)
		}
		err := s.Folding(ctx, func(ctx context.Context) error {
			if err := c.read(ctx, env, to, summary); err != nil {
				return err
			}
			return s.Worker.Drain(ctx)
		})
		if err != nil {
			return stopped(err)
		}
		_, err = telemetry.RollUp(ctx, s.Table)
		return err
	})
}

// send imports into a running server, which folds the readings.
func (c *Import) send(ctx context.Context, env *Env, summary *telemetrySummary) error {
	to, err := c.toServer()
	if err == nil {
		err = c.read(ctx, env, to, summary)
	}
	if err != nil && summary.Lines > 0 && !c.DryRun {
		return stopped(err)
	}
	return err
}

// stopped adds advice to the error of an interrupted import.
func stopped(err error) error {
	return fmt.Errorf("import: %w\nImported readings stay; import the same files again to resume", err)
}

// options returns the options for reading the files.
func (c *Import) options(ctx context.Context, to into) (o readingfiles.Options, err error) {
	o = readingfiles.Options{
		Format: readingfiles.Format(c.Format), Device: c.Device, DeviceColumn: c.DeviceColumn, TimeColumn: c.TimeColumn, SeqColumn: c.SeqColumn, TimeFormat: c.TimeFormat,
	}
	for _, text := range c.Metric {
		column, rest, _ := strings.Cut(text, "=")
		metric, unit, _ := strings.Cut(rest, ":")
		o.Metrics = append(o.Metrics, readingfiles.Column{Name: column, Metric: metric, Unit: unit})
	}
	fleet, err := to.fleet(ctx)
	if err != nil {
		return o, err
	}
	zone := cmp.Or(c.TimeZone, fleet.TimeZone)
	if o.Zone, err = time.LoadLocation(zone); err != nil {
		return o, fmt.Errorf("invalid: --time-zone %q: use an IANA name such as Europe/Berlin", zone)
	}
	return o, nil
}

// read reads the files in order. If a file cannot be read to its end, that is noted and the next
// files are read.
func (c *Import) read(ctx context.Context, env *Env, to into, summary *telemetrySummary) error {
	o, err := c.options(ctx, to)
	if err != nil {
		return err
	}
	taker := &importing{into: to, dryRun: c.DryRun, made: map[string]bool{}, seen: map[[16]byte]bool{}}
	bar, stop := env.Progress(c.Files, c.Quiet)
	defer stop()
	im := readingfiles.NewImporter(taker, bar, o)
	defer func() { summary.Summary, summary.Devices = im.Summary, len(taker.made) }()
	for _, name := range c.Files {
		err := im.File(ctx, name, env.In)
		if errors.Is(err, readingfiles.ErrDamaged) {
			summary.unread = errors.Join(summary.unread, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// telemetrySummary is the result of an import of readings.
type telemetrySummary struct {
	readingfiles.Summary
	Devices int     `json:"devicesMade"`
	DryRun  bool    `json:"dryRun,omitempty"`
	Seconds float64 `json:"seconds"`

	unread error // joined errors of files that could not be read to their end
}

// printResult prints the result of an import or dry run. It returns an error if the import is incomplete.
func (s *telemetrySummary) printResult(out io.Writer, asJSON bool) error {
	err := s.unread
	if s.Lines > 0 && s.Malformed == s.Lines {
		err = errors.Join(errors.New("no_readings: no line is a reading"), err)
	}
	if asJSON {
		return errors.Join(terminal.JSON(out, s), err)
	}
	return errors.Join(s.print(out), err)
}

func (s *telemetrySummary) print(w io.Writer) error {
	var b strings.Builder
	if s.DryRun {
		b.WriteString("Dry run, nothing was written. The import would print:\n")
	}
	counts := terminal.Imported{Lines: s.Lines, Stored: s.Imported, Duplicates: s.Duplicates, Malformed: s.Malformed, Rejected: s.Rejected}
	fmt.Fprintln(&b, counts.Sentence("reading"))
	if s.Devices > 0 {
		fmt.Fprintf(&b, "%s created.\n", terminal.Count(s.Devices, "device"))
	}
	if !s.First.IsZero() {
		fmt.Fprintf(&b, "From %s to %s.\n", s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339))
	}
	if !s.DryRun {
		fmt.Fprintln(&b, counts.Pace("reading", s.Seconds))
	}
	b.WriteString(terminal.Examples("malformed", s.Examples, s.Malformed))
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		fmt.Fprintf(&b, "rejected: %s: %d\n", reason, s.Reasons[reason])
	}
	b.WriteString(terminal.Examples("rejected", s.Refused, int64(len(s.Refused)))) // the reasons above give the total
	if s.Omitted > 0 {
		fmt.Fprintf(&b, "%s omitted\n", terminal.Count(s.Omitted, "value"))
	}
	for _, reason := range slices.Sorted(maps.Keys(s.OmittedReasons)) {
		fmt.Fprintf(&b, "omitted: %s: %d\n", reason, s.OmittedReasons[reason])
	}
	b.WriteString(terminal.Examples("omitted", s.OmittedLines, int64(len(s.OmittedLines))))
	_, err := io.WriteString(w, b.String())
	return err
}
