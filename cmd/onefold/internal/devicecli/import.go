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

	"github.com/onefold/onefold/cmd/onefold/internal/readingfiles"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/telemetry"
)

// Import imports files of readings.
type Import struct {
	Device       string   `help:"The device whose readings these are, where the files do not say it."`
	DeviceColumn string   `help:"Column, or tag of line protocol, that names the device. Default: device, device_id or deviceId; tags device, device_id or host." placeholder:"NAME"`
	TimeColumn   string   `help:"Column of the time. Default: time, timestamp, at, ts, datetime or date." placeholder:"NAME"`
	SeqColumn    string   `help:"Column of the number that the device gave the reading. Default: seq, if there is one." placeholder:"NAME"`
	Metric       []string `help:"A column that is a metric, as COLUMN, COLUMN=METRIC or COLUMN=METRIC:UNIT; repeat or separate by commas. Default: all others." placeholder:"COLUMN=METRIC"`
	TimeFormat   string   `help:"unix, unix-ms, unix-us, unix-ns, or how 2006-01-02 15:04:05 would be written. Default: any usual one, years first."`
	TimeZone     string   `help:"IANA time zone of times that say none. Default: that of the fleet of --fleet or --device, else UTC."`
	Format       string   `help:"How the files are written: ${enum}." enum:"${reading_formats}" default:"auto"`
	Fleet        string   `help:"Make devices that are not there, in this fleet."`
	DryRun       bool     `help:"Say what would be imported, and write nothing."`
	Quiet        bool     `short:"q" help:"No progress bar."`
	Files        []string `arg:"" name:"file" help:"CSV, JSON lines or InfluxDB's line protocol, plain or compressed with gzip or zstd, or - for standard input."`
}

// Run imports the files in order, waits for the folds and prints a summary.
func (c *Import) Run(ctx context.Context, env *Env) error {
	if err := env.CheckFiles(c.Files); err != nil {
		return err
	}
	var summary telemetrySummary
	err := env.Load(ctx, func(s *Store) error {
		o, err := c.options(ctx, s)
		if err != nil {
			return err
		}
		start := time.Now()
		if c.DryRun {
			err = c.rehearse(ctx, env, s, o, &summary)
		} else {
			err = c.store(ctx, env, s, o, &summary)
		}
		summary.Seconds = time.Since(start).Seconds()
		return err
	})
	if errors.Is(err, env.NoTable) {
		return fmt.Errorf("%w; readings belong to devices: make a fleet with `onefold fleet create`, and devices with `onefold device add`", err)
	}
	if err != nil {
		return err
	}
	return summary.tell(env.Out, env.JSON)
}

// options are how the files are read.
func (c *Import) options(ctx context.Context, s *Store) (o readingfiles.Options, err error) {
	o = readingfiles.Options{
		Format: readingfiles.Format(c.Format), Device: c.Device, DeviceColumn: c.DeviceColumn, TimeColumn: c.TimeColumn, SeqColumn: c.SeqColumn, TimeFormat: c.TimeFormat,
	}
	for _, text := range c.Metric {
		column, rest, _ := strings.Cut(text, "=")
		metric, unit, _ := strings.Cut(rest, ":")
		o.Metrics = append(o.Metrics, readingfiles.Column{Name: column, Metric: metric, Unit: unit})
	}
	fleet, err := c.fleetOf(ctx, s)
	if err != nil {
		return o, err
	}
	zone := cmp.Or(c.TimeZone, fleet.TimeZone)
	if o.Zone, err = time.LoadLocation(zone); err != nil {
		return o, fmt.Errorf("invalid: --time-zone %q: use an IANA name like Europe/Berlin", zone)
	}
	return o, nil
}

// fleetOf is the fleet that was said, or that of the device that was said; none if the files say it.
func (c *Import) fleetOf(ctx context.Context, s *Store) (telemetry.Fleet, error) {
	id := c.Fleet
	switch {
	case id == "" && c.Device == "":
		return telemetry.Fleet{}, nil
	case id == "":
		d, err := telemetry.GetDevice(ctx, s.Table, c.Device)
		if err != nil {
			return telemetry.Fleet{}, fmt.Errorf("%w; --fleet makes it", explain("device", c.Device, err))
		}
		id = d.FleetID
	}
	fleet, err := telemetry.GetFleet(ctx, s.Table, id)
	return fleet, explain("fleet", id, err)
}

// store imports into the table.
func (c *Import) store(ctx context.Context, env *Env, s *Store, o readingfiles.Options, into *telemetrySummary) error {
	taker := &deviceMaker{table: s.Table, fleet: c.Fleet, collector: telemetry.NewCollector(s.Table, telemetry.CollectorOptions{}), known: map[string]bool{}}
	err := s.Folding(ctx, func(ctx context.Context) error {
		if err := c.read(ctx, env, taker, o, into); err != nil {
			return err
		}
		return s.Worker.Drain(ctx)
	})
	if err != nil {
		return fmt.Errorf("import: %w\nWhat was imported stays; import the same files again to go on where it stopped", err)
	}
	into.Devices = taker.made
	_, err = telemetry.RollUp(ctx, s.Table)
	return err
}

// read reads the files in order. A file that cannot be read to its end is noted, and the others follow.
func (c *Import) read(ctx context.Context, env *Env, taker readingfiles.Taker, o readingfiles.Options, into *telemetrySummary) error {
	bar, stop := env.Progress(c.Files, c.Quiet)
	defer stop()
	im := readingfiles.NewImporter(taker, bar, o)
	for _, name := range c.Files {
		err := im.File(ctx, name, env.In)
		if errors.Is(err, readingfiles.ErrDamaged) {
			into.unread = errors.Join(into.unread, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	into.Summary = im.Summary
	return nil
}

// telemetrySummary is what an import of readings did.
type telemetrySummary struct {
	readingfiles.Summary
	Devices int     `json:"devicesMade"`
	DryRun  bool    `json:"dryRun,omitempty"`
	Seconds float64 `json:"seconds"`

	unread error // files that could not be read to their end
}

// tell prints what an import did, or would do, and returns why it did not do all of it.
func (s *telemetrySummary) tell(out io.Writer, asJSON bool) error {
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
		b.WriteString("Nothing was written. An import would say:\n")
	}
	fmt.Fprintf(&b, "%s readings: %s imported", terminal.Grouped(s.Lines), terminal.Grouped(s.Imported))
	for _, part := range []struct {
		n    int64
		what string
	}{{s.Duplicates, "already there"}, {s.Malformed, "malformed"}, {s.Rejected, "rejected"}} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %s %s", terminal.Grouped(part.n), part.what)
		}
	}
	b.WriteString(".\n")
	if s.Devices > 0 {
		fmt.Fprintf(&b, "%s devices made.\n", terminal.Grouped(int64(s.Devices)))
	}
	if !s.First.IsZero() {
		fmt.Fprintf(&b, "From %s to %s.\n", s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339))
	}
	if !s.DryRun {
		fmt.Fprintf(&b, "%.1f s; %s readings a second.\n", s.Seconds, terminal.Grouped(int64(float64(s.Lines)/max(s.Seconds, 0.001))))
	}
	for _, line := range s.Examples {
		fmt.Fprintln(&b, "malformed:", line)
	}
	if more := s.Malformed - int64(len(s.Examples)); more > 0 {
		fmt.Fprintf(&b, "malformed: and %s more\n", terminal.Grouped(more))
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		fmt.Fprintf(&b, "rejected: %s: %d\n", reason, s.Reasons[reason])
	}
	for _, line := range s.Refused {
		fmt.Fprintln(&b, "rejected:", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
