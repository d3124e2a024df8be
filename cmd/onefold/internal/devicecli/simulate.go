package devicecli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/internal/devicesim"
	"github.com/onefold/onefold/telemetry"
)

// Simulate generates device data, and writes it to a file or sends it.
type Simulate struct {
	File        string        `arg:"" optional:"" help:"Output file, which must not exist; - is standard output."`
	Server      string        `help:"URL of a running server to send the readings to, such as http://127.0.0.1:8090, instead of writing a file." placeholder:"URL" env:"ONEFOLD_SERVER"`
	Key         string        `help:"API key of the fleet, for --server: scope ingest, or write to create devices." env:"ONEFOLD_KEY"`
	Fleet       string        `help:"Fleet in which to create missing devices, for --server."`
	Format      string        `help:"Output format: csv, jsonl or line (InfluxDB line protocol)." enum:"csv,jsonl,line" default:"jsonl"`
	Seed        uint64        `help:"Seed of the generated data. The same options produce the same file." default:"1"`
	Devices     int           `help:"Number of devices: cold rooms, meters and pumps in turn." default:"3"`
	Prefix      string        `help:"Prefix of device IDs: letters, digits and . _ - :"`
	Measurement string        `help:"Measurement name in line protocol: letters, digits and . _ - :" default:"sim"`
	Start       string        `help:"Start, as 2026-05-12, 2026-05-12T14:00 in UTC, or with a UTC offset (default: 2026-01-01; with --server, --length before now)."`
	Length      time.Duration `help:"Length of the generated period." default:"24h"`
	Every       time.Duration `help:"Time between two readings of a device, 1s to 24h." default:"1m"`
	Perturb     float64       `help:"Share of readings with a fault, 0 to 1."`
	Faults      []string      `help:"Faults to generate: twice, hour, day, same-time, nan, text, unit, expired, offline, ahead, behind, 1970 (default: all)." placeholder:"FAULT"`
}

// Validate checks the flags. Kong calls it.
func (c *Simulate) Validate() error {
	for _, name := range []string{c.Prefix, c.Measurement} {
		if strings.ContainsFunc(name, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-:", r))
		}) {
			return fmt.Errorf("invalid: %.40q: use only letters, digits and the characters . _ : -", name)
		}
	}
	switch {
	case c.File == "" && c.Server == "":
		return errors.New("give a file to write, or --server")
	case c.File != "" && c.Server != "":
		return errors.New("--server writes no file; omit one of them")
	case c.Measurement == "":
		return errors.New("--measurement must not be empty")
	case c.Devices < 1:
		return errors.New("--devices must be 1 or more")
	case c.Length <= 0:
		return errors.New("--length must be above 0")
	}
	return nil
}

// simulated counts the generated messages.
type simulated struct {
	Messages int64                           `json:"messages"`
	Devices  int                             `json:"devices"`
	Fates    map[devicesim.Expectation]int64 `json:"fates"`            // expected outcomes on a server
	Faults   map[devicesim.Fault]int64       `json:"faults,omitempty"` // injected faults

	Outcomes map[telemetry.OutcomeStatus]int64 `json:"outcomes,omitempty"` // actual outcomes on the server
}

func (d *simulated) count(m *devicesim.Message) {
	d.Messages++
	d.Fates[m.Fate]++
	if m.Fault != "" {
		d.Faults[m.Fault]++
	}
}

// Run writes the file. Its lines are in the order of arrival.
func (c *Simulate) Run(ctx context.Context, env *Env) (err error) {
	sim, err := c.simulation()
	if err != nil {
		return err
	}
	if c.Server != "" {
		return c.send(ctx, env, sim)
	}
	out, tell := env.Out, env.Err
	if c.File != "-" {
		f, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		switch {
		case errors.Is(err, os.ErrExist):
			return fmt.Errorf("file_exists: %s already exists and was not changed", c.File)
		case err != nil:
			return fmt.Errorf("cannot_write: %w", err)
		}
		out, tell = f, env.Out
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	did, err := c.write(ctx, out, sim)
	if err != nil {
		return err
	}
	if env.JSON {
		return terminal.JSON(tell, did)
	}
	return did.print(tell)
}

func (c *Simulate) simulation() (*devicesim.Simulation, error) {
	start, err := c.startOf(time.Now())
	if err != nil {
		return nil, fmt.Errorf("invalid: --start: %w", err)
	}
	o := devicesim.Options{Seed: c.Seed, Devices: c.Devices, Prefix: c.Prefix, Start: start, Length: c.Length, Every: c.Every, Rate: c.Perturb}
	for _, f := range c.Faults {
		o.Faults = append(o.Faults, devicesim.Fault(f))
	}
	sim, err := devicesim.New(o)
	if err != nil {
		return nil, fmt.Errorf("invalid: %w", err)
	}
	return sim, nil
}

func (c *Simulate) write(ctx context.Context, out io.Writer, sim *devicesim.Simulation) (did simulated, err error) {
	did = simulated{Devices: c.Devices, Fates: map[devicesim.Expectation]int64{}, Faults: map[devicesim.Fault]int64{}}
	w := bufio.NewWriter(out)
	if c.Format == "csv" {
		fmt.Fprintln(w, strings.Join(devicesim.Columns(), ","))
	}
	var line []byte
	for m := range sim.Messages() {
		if ctx.Err() != nil {
			return did, context.Cause(ctx)
		}
		switch line = line[:0]; c.Format {
		case "csv":
			line = m.AppendCSV(line)
		case "line":
			line = m.AppendLine(line, c.Measurement)
		default:
			line = m.AppendJSON(line)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return did, fmt.Errorf("cannot_write: %w", err)
		}
		did.count(&m)
	}
	if err := w.Flush(); err != nil {
		return did, fmt.Errorf("cannot_write: %w", err)
	}
	return did, nil
}

func (d *simulated) print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s.\n", terminal.Count(d.Messages, "message"), terminal.Count(d.Devices, "device"))
	for _, f := range devicesim.Faults {
		if n := d.Faults[f]; n > 0 {
			fmt.Fprintf(&b, "%s: %s\n", f, terminal.Grouped(n))
		}
	}
	for _, status := range []telemetry.OutcomeStatus{telemetry.Stored, telemetry.StoredLate, telemetry.Duplicate, telemetry.Rejected} {
		if n := d.Outcomes[status]; n > 0 {
			fmt.Fprintf(&b, "the server: %s: %s\n", status, terminal.Grouped(n))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
