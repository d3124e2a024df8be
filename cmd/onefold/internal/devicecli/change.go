package devicecli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

type deviceUpdate struct {
	ID string `arg:"" help:"Device ID."`
	deviceFields
}

// Run changes the device.
func (c *deviceUpdate) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		d, err := telemetry.UpdateDevice(ctx, s.Table, c.ID, func(d *telemetry.Device) error {
			c.apply(d)
			return nil
		})
		if err != nil {
			return explain("device", c.ID, err)
		}
		out := deviceOutputOf(&d)
		if env.JSON {
			return terminal.JSON(env.Out, out)
		}
		return printDevice(env, &out)
	})
}

type deviceToken struct {
	ID     string `arg:"" help:"Device ID."`
	Revoke bool   `help:"Revoke all tokens and create none."`
}

// Run creates a token, or revokes all tokens.
func (c *deviceToken) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) (err error) {
		out := struct {
			Device string `json:"device"`
			Token  string `json:"token,omitempty"`
		}{Device: c.ID}
		if c.Revoke {
			err = credentials.RevokeTokens(ctx, s.Table, c.ID, true)
		} else {
			out.Token, err = credentials.NewToken(ctx, s.Table, c.ID)
		}
		switch {
		case err != nil:
			return explain("device", c.ID, err)
		case env.JSON:
			return terminal.JSON(env.Out, out)
		case c.Revoke:
			_, err = fmt.Fprintf(env.Out, "Revoked all tokens of %s.\n", c.ID)
		default:
			_, err = fmt.Fprintln(env.Out, out.Token)
		}
		return err
	})
}

type deviceClaim struct {
	ID    string `arg:"" optional:"" help:"Device to create a claim code for."`
	Code  string `help:"Claim code of the device to claim." xor:"what"`
	Fleet string `help:"Fleet that claims the device." placeholder:"FLEET"`
}

// Validate checks the flags. Kong calls it.
func (c *deviceClaim) Validate() error {
	if (c.ID == "") == (c.Code == "") || (c.Code == "") != (c.Fleet == "") {
		return errors.New("give the device to create a code for, or --code and --fleet to claim a device")
	}
	return nil
}

// Run creates a claim code, or claims a device with one.
func (c *deviceClaim) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		out := struct {
			Device string `json:"device"`
			Code   string `json:"code,omitempty"`
			Token  string `json:"token,omitempty"`
		}{Device: c.ID}
		var err error
		shown := &out.Code
		if c.Code == "" {
			out.Code, err = credentials.NewClaim(ctx, s.Table, c.ID)
			err = explain("device", c.ID, err)
		} else {
			var d telemetry.Device
			d, out.Token, err = credentials.Claim(ctx, s.Table, c.Code, c.Fleet)
			err = explain("fleet", c.Fleet, err)
			out.Device, shown = d.DeviceID, &out.Token
		}
		switch {
		case err != nil:
			return err
		case env.JSON:
			return terminal.JSON(env.Out, out)
		}
		_, err = fmt.Fprintln(env.Out, *shown)
		return err
	})
}

type deviceDelete struct {
	ID  string `arg:"" help:"Device ID."`
	Yes bool   `required:"" help:"Confirm the deletion, which cannot be undone."`
}

// Run marks the device as deleted. A server then deletes its data.
func (c *deviceDelete) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if err := telemetry.DeleteDevice(ctx, s.Table, c.ID); err != nil {
			return explain("device", c.ID, err)
		}
		_, err := fmt.Fprintf(env.Out, "Deleted %s. Its readings are deleted in the background while `onefold serve` runs.\n", c.ID)
		return err
	})
}

type deviceImport struct {
	File  string `arg:"" help:"CSV file with a header: id, and any of name, type, location, firmware, profile, tags (separated by spaces), status. - is standard input."`
	Fleet string `required:"" help:"Fleet of the devices."`
}

// importedDevices counts the rows of a CSV file by outcome.
type importedDevices struct {
	Created  int      `json:"created"`
	Existing int      `json:"existing"` // not changed
	Failed   int      `json:"failed"`
	Errors   []string `json:"errors,omitempty"` // the first ones
}

const (
	devicesAtOnce = 1000
	shownErrors   = 20
)

// Run creates the devices. Existing devices are not changed, so a file can be imported again.
func (c *deviceImport) Run(ctx context.Context, env *Env) error {
	in := env.In
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("no_such_file: %w", err)
		}
		defer f.Close()
		in = f
	}
	var did importedDevices
	err := env.Open(ctx, func(s *Store) error {
		if _, err := telemetry.GetFleet(ctx, s.Table, c.Fleet); err != nil {
			return explain("fleet", c.Fleet, err)
		}
		return did.read(ctx, s, c.Fleet, in)
	})
	if err != nil {
		return err
	}
	if env.JSON {
		err = terminal.JSON(env.Out, did)
	} else {
		_, err = fmt.Fprintf(env.Out, "%s created, %d already exist, %d failed.\n%s", terminal.Count(did.Created, "device"), did.Existing, did.Failed, strings.Join(append(did.Errors, ""), "\n"))
	}
	if err == nil && did.Failed > 0 {
		err = fmt.Errorf("invalid_rows: no device was created from %s", terminal.Count(did.Failed, "row"))
	}
	return err
}

// read creates devices from the rows, many in one request.
func (did *importedDevices) read(ctx context.Context, s *Store, fleet string, in io.Reader) error {
	rows := csv.NewReader(in)
	rows.TrimLeadingSpace = true
	header, err := rows.Read()
	if err != nil {
		return fmt.Errorf("wrong_header: %w", err)
	}
	if !slices.Contains(header, "id") {
		return fmt.Errorf("wrong_header: the columns are %q; one must be id", header)
	}
	for _, name := range header {
		if !slices.Contains([]string{"id", "name", "type", "location", "firmware", "profile", "tags", "status"}, name) {
			return fmt.Errorf("wrong_header: there is no column %.40q; use id, name, type, location, firmware, profile, tags, status", name)
		}
	}
	var devices []telemetry.NewDevice
	for {
		row, err := rows.Read()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("malformed: %w; the devices before it are created", errors.Join(err, did.make(ctx, s, devices)))
		}
		if err == nil {
			devices = append(devices, newDeviceOf(fleet, header, row))
		}
		if err != nil || len(devices) == devicesAtOnce {
			if failed := did.make(ctx, s, devices); failed != nil || err != nil {
				return failed
			}
			devices = devices[:0]
		}
	}
}

func newDeviceOf(fleet string, header, row []string) telemetry.NewDevice {
	d := telemetry.NewDevice{FleetID: fleet}
	for i, name := range header {
		switch v := strings.TrimSpace(row[i]); name {
		case "id":
			d.ID = v
		case "name":
			d.Name = v
		case "type":
			d.Type = v
		case "location":
			d.Location = v
		case "firmware":
			d.Firmware = v
		case "profile":
			d.ProfileID = v
		case "tags":
			d.Tags = strings.Fields(v)
		case "status":
			d.Status = telemetry.DeviceStatus(v)
		}
	}
	return d
}

func (did *importedDevices) make(ctx context.Context, s *Store, devices []telemetry.NewDevice) error {
	_, errs := telemetry.CreateDevices(ctx, s.Table, devices)
	for i, err := range errs {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			did.Created++
		case errors.Is(err, table.ErrExists):
			did.Existing++
		default:
			if did.Failed++; len(did.Errors) < shownErrors {
				did.Errors = append(did.Errors, explain("profile", devices[i].ProfileID, err).Error())
			}
		}
	}
	return nil
}
