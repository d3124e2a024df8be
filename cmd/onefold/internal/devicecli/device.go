package devicecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// Devices are the device commands.
type Devices struct {
	Add    deviceAdd    `cmd:"" help:"Create a device and print its token. It cannot be shown again."`
	List   deviceList   `cmd:"" help:"List the devices of a fleet."`
	Show   deviceShow   `cmd:"" help:"Show a device and its latest values."`
	Update deviceUpdate `cmd:"" help:"Change a device's attributes or status."`
	Token  deviceToken  `cmd:"" help:"Create a new token. The previous one stays valid for seven days."`
	Claim  deviceClaim  `cmd:"" help:"Create a claim code for a provisioned device, or claim a device with its code."`
	Delete deviceDelete `cmd:"" help:"Delete a device and all its readings."`
	Import deviceImport `cmd:"" help:"Create devices from a CSV file."`
}

// deviceFields are the attributes of a device that flags can set.
type deviceFields struct {
	Name     *string           `help:"Display name."`
	Type     *string           `help:"Device type, such as sensor."`
	Location *string           `help:"Location of the device."`
	Firmware *string           `help:"Firmware version."`
	Profile  *string           `help:"Profile ID, which defines the device's metrics."`
	Tag      []string          `help:"Tag of the device. Repeat or separate by commas."`
	Note     map[string]string `help:"Any other attribute, as key=value. Repeat for more."`
	Status   *string           `help:"Status: provisioned, active, inactive, maintenance or retired."`
}

// apply sets the given attributes.
func (f *deviceFields) apply(d *telemetry.Device) {
	for _, text := range []struct{ to, from *string }{
		{&d.Name, f.Name}, {&d.Type, f.Type}, {&d.Location, f.Location}, {&d.Firmware, f.Firmware}, {&d.ProfileID, f.Profile},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	if f.Status != nil {
		d.Status = telemetry.DeviceStatus(*f.Status)
	}
	if f.Tag != nil {
		d.Tags = f.Tag
	}
	if f.Note != nil {
		d.Notes = f.Note
	}
}

// deviceOutput is the JSON form of a device.
type deviceOutput struct {
	ID           string                 `json:"id"`
	Fleet        string                 `json:"fleet"`
	Name         string                 `json:"name,omitempty"`
	Type         string                 `json:"type,omitempty"`
	Status       telemetry.DeviceStatus `json:"status"`
	Location     string                 `json:"location,omitempty"`
	Firmware     string                 `json:"firmware,omitempty"`
	Profile      string                 `json:"profile,omitempty"`
	Tags         []string               `json:"tags,omitempty"`
	Notes        map[string]string      `json:"notes,omitempty"`
	CreatedAt    time.Time              `json:"createdAt"`
	Connectivity telemetry.Connectivity `json:"connectivity,omitempty"`
	LastSeen     time.Time              `json:"lastSeen,omitzero"`
	Latest       map[string]latestValue `json:"latest,omitempty"`
	Token        string                 `json:"token,omitempty"`
}

type latestValue struct {
	At    time.Time       `json:"at"`
	Value telemetry.Value `json:"value"`
}

func deviceOutputOf(d *telemetry.Device) deviceOutput {
	return deviceOutput{
		ID: d.DeviceID, Fleet: d.FleetID, Name: d.Name, Type: d.Type, Status: d.Status, Location: d.Location, Firmware: d.Firmware,
		Profile: d.ProfileID, Tags: d.Tags, Notes: d.Notes, CreatedAt: d.CreatedAt,
	}
}

type deviceAdd struct {
	ID    string `arg:"" help:"Device ID, unique in the installation: letters, digits and . _ - : ; at most 64 characters."`
	Fleet string `required:"" help:"Fleet of the device."`
	deviceFields
}

// Run creates the device and its token.
func (c *deviceAdd) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		var like telemetry.Device
		c.apply(&like)
		if _, err := telemetry.GetFleet(ctx, s.Table, c.Fleet); err != nil {
			return explain("fleet", c.Fleet, err)
		}
		d, err := telemetry.CreateDevice(ctx, s.Table, telemetry.NewDevice{
			ID: c.ID, FleetID: c.Fleet, Name: like.Name, Type: like.Type, Location: like.Location, Firmware: like.Firmware,
			ProfileID: like.ProfileID, Tags: like.Tags, Notes: like.Notes, Status: like.Status,
		})
		if errors.Is(err, table.ErrNotFound) {
			return explain("profile", like.ProfileID, err)
		}
		var token string
		if err == nil && d.Status != telemetry.Provisioned {
			token, err = credentials.NewToken(ctx, s.Table, c.ID)
		}
		if err != nil {
			return explain("device", c.ID, err)
		}
		out := deviceOutputOf(&d)
		out.Token = token
		switch {
		case env.JSON:
			return terminal.JSON(env.Out, out)
		case token == "":
			_, err = fmt.Fprintf(env.Out, "Added %s, provisioned. Next: onefold device claim %[1]s.\n", c.ID)
		default:
			_, err = fmt.Fprintln(env.Out, token)
		}
		return err
	})
}

type deviceList struct {
	Fleet    string `required:"" help:"Fleet ID."`
	Status   string `help:"Only devices with this status." xor:"by"`
	Type     string `help:"Only devices of this type." xor:"by"`
	Tag      string `help:"Only devices with this tag." xor:"by"`
	Firmware string `help:"Only devices with this firmware version." xor:"by"`
	Profile  string `help:"Only devices with this profile." xor:"by"`
}

// in returns the label to list devices by.
func (c *deviceList) in() telemetry.LabelIn {
	for kind, value := range map[telemetry.LabelKind]string{
		telemetry.ByStatus: c.Status, telemetry.ByType: c.Type, telemetry.ByTag: c.Tag, telemetry.ByFirmware: c.Firmware, telemetry.ByProfile: c.Profile,
	} {
		if value != "" {
			return telemetry.LabelIn{FleetID: c.Fleet, Kind: kind, Value: value}
		}
	}
	return telemetry.LabelIn{FleetID: c.Fleet, Kind: telemetry.ByFleet, Value: telemetry.Any}
}

const devicesOfPage = 500

// Run lists the devices.
func (c *deviceList) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil { // lists are derived items
			return err
		}
		if _, err := telemetry.GetFleet(ctx, s.Table, c.Fleet); err != nil {
			return explain("fleet", c.Fleet, err)
		}
		devices := []deviceOutput{}
		for cursor := ""; ; {
			page, err := telemetry.ListDevices(ctx, s.Table, c.in(), cursor, devicesOfPage)
			if err != nil {
				return err
			}
			for i := range page.Items {
				devices = append(devices, deviceOutputOf(&page.Items[i]))
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		return terminal.List[deviceOutput]{
			JSON: env.JSON, Empty: "No matching devices.", Columns: "DEVICE\tSTATUS\tTYPE\tPROFILE\tFIRMWARE\tTAGS\tNAME",
			Row: func(d *deviceOutput) []any {
				return []any{d.ID, d.Status, terminal.Printable(d.Type), d.Profile, terminal.Printable(d.Firmware), terminal.Printable(strings.Join(d.Tags, ",")), terminal.Printable(d.Name)}
			},
		}.Print(env.Out, devices)
	})
}

type deviceShow struct {
	ID string `arg:"" help:"Device ID."`
}

// Run shows the device.
func (c *deviceShow) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := s.Worker.Drain(ctx); err != nil {
			return err
		}
		d, err := telemetry.GetDevice(ctx, s.Table, c.ID)
		if err != nil {
			return explain("device", c.ID, err)
		}
		out := deviceOutputOf(&d)
		status, err := telemetry.ReadStatus(ctx, s.Table, c.ID)
		switch {
		case err == nil:
			every, err := telemetry.EveryOf(ctx, s.Table, &d)
			if err != nil {
				return err
			}
			if status.LastSeen != 0 {
				out.Connectivity, out.LastSeen = status.At(time.Now(), every), time.UnixMilli(status.LastSeen).UTC()
			}
			out.Latest = make(map[string]latestValue, len(status.Values))
			for name, v := range status.Values {
				out.Latest[name] = latestValue{time.UnixMilli(v.At).UTC(), v.Value}
			}
		case !errors.Is(err, table.ErrNotFound):
			return err
		}
		if env.JSON {
			return terminal.JSON(env.Out, out)
		}
		return printDevice(env, &out)
	})
}

func printDevice(env *Env, d *deviceOutput) error {
	w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	for _, line := range [][2]string{
		{"device", d.ID}, {"fleet", d.Fleet}, {"name", d.Name}, {"type", d.Type}, {"status", string(d.Status)}, {"location", d.Location}, {"firmware", d.Firmware},
		{"profile", d.Profile}, {"tags", strings.Join(d.Tags, ", ")}, {"connectivity", string(cmp.Or(d.Connectivity, "never connected"))},
	} {
		if line[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", line[0], terminal.Printable(line[1]))
		}
	}
	if !d.LastSeen.IsZero() {
		fmt.Fprintf(w, "last seen\t%s\n", d.LastSeen.Format(time.RFC3339))
	}
	for _, name := range sortedNames(d.Latest) {
		v := d.Latest[name]
		fmt.Fprintf(w, "%s\t%s  (%s)\n", terminal.Printable(name), terminal.Printable(v.Value.String()), v.At.Format(time.RFC3339))
	}
	return w.Flush()
}
