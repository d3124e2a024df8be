package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// ErrTransition is returned when a device cannot change from its status to the requested one.
var ErrTransition = errors.New("telemetry: status cannot follow")

// NewDevice holds the settings of a device to create.
type NewDevice struct {
	ID        string            `json:"id"`
	FleetID   string            `json:"fleetId"`
	Name      string            `json:"name,omitempty"`
	Type      string            `json:"type,omitempty"`
	Location  string            `json:"location,omitempty"`
	Firmware  string            `json:"firmware,omitempty"`
	ProfileID string            `json:"profileId,omitempty"`
	Tags      []string          `json:"tags,omitempty"`
	Notes     map[string]string `json:"notes,omitempty"`
	Status    DeviceStatus      `json:"status,omitempty"` // default Active
}

// CreateDevice creates a device. Errors: ErrInvalid, table.ErrExists if the ID is taken,
// table.ErrNotFound for an unknown fleet or profile.
func CreateDevice(ctx context.Context, t *table.Table, n NewDevice) (Device, error) {
	d, errs := CreateDevices(ctx, t, []NewDevice{n})
	return d[0], errs[0]
}

// createAtOnce is the number of concurrent requests of CreateDevices.
const createAtOnce = 32

// CreateDevices creates many devices. Device and error i are those of CreateDevice for ns[i].
func CreateDevices(ctx context.Context, t *table.Table, ns []NewDevice) ([]Device, []error) {
	devices, errs := make([]Device, len(ns)), make([]error, len(ns))
	known := parents{t: t, fleets: map[string]error{}, profiles: map[string]profileOrErr{}}
	var fresh []Device
	var of []int
	for i, n := range ns {
		d := n.device(t)
		if errs[i] = d.check(); errs[i] == nil {
			errs[i] = known.of(ctx, &d)
		}
		if devices[i] = d; errs[i] == nil {
			fresh, of = append(fresh, d), append(of, i)
		}
	}
	for n, err := range Devices.CreateMany(ctx, t, fresh, createAtOnce) {
		errs[of[n]] = err
	}
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("telemetry: create device %q: %w", shorten(ns[i].ID), err)
		}
	}
	return devices, errs
}

func (n *NewDevice) device(t *table.Table) Device {
	now := nowOf(t)
	d := Device{
		DeviceKey: DeviceKey{n.ID}, FleetID: n.FleetID, Name: n.Name, Type: n.Type, Location: n.Location, Firmware: n.Firmware,
		ProfileID: n.ProfileID, Tags: n.Tags, Notes: n.Notes, Status: n.Status, CreatedAt: now, UpdatedAt: now,
	}
	if d.Status == "" {
		d.Status = Active
	}
	return d
}

// parents caches fleets and profiles.
type parents struct {
	t        *table.Table
	fleets   map[string]error
	profiles map[string]profileOrErr
}

type profileOrErr struct {
	profile Profile
	err     error
}

// of checks that a device's fleet and profile exist and belong together.
func (p *parents) of(ctx context.Context, d *Device) error {
	err, known := p.fleets[d.FleetID]
	if !known {
		_, err = GetFleet(ctx, p.t, d.FleetID)
		p.fleets[d.FleetID] = err
	}
	if err != nil || d.ProfileID == "" {
		return err
	}
	found, known := p.profiles[d.ProfileID]
	if !known {
		found.profile, found.err = ProfileByID.Get(ctx, p.t, ProfileIn{d.ProfileID})
		p.profiles[d.ProfileID] = found
	}
	if found.err == nil && found.profile.FleetID != d.FleetID {
		return fmt.Errorf("profile %q: %w", d.ProfileID, table.ErrNotFound)
	}
	return found.err
}

// GetDevice reads a device. Errors: table.ErrNotFound, also if it is being deleted.
func GetDevice(ctx context.Context, t *table.Table, deviceID string) (Device, error) {
	d, err := DeviceByID.Get(ctx, t, DeviceIn{deviceID})
	if err == nil && !d.DeletedAt.IsZero() {
		d, err = Device{}, table.ErrNotFound
	}
	if err != nil {
		return d, fmt.Errorf("telemetry: device %q: %w", shorten(deviceID), err)
	}
	return d, nil
}

// UpdateDevice changes a device, except its fleet and tokens. Collectors see the change within ten
// seconds. Errors: ErrInvalid, ErrTransition, table.ErrNotFound for the device or its profile.
func UpdateDevice(ctx context.Context, t *table.Table, deviceID string, change func(*Device) error) (Device, error) {
	d, err := ModifyDevice(ctx, t, deviceID, func(d *Device) error {
		was := *d
		d.Tags = slices.Clone(d.Tags)
		if err := change(d); err != nil {
			return err
		}
		d.DeviceKey, d.FleetID, d.Tokens, d.CreatedAt, d.DeletedAt = was.DeviceKey, was.FleetID, was.Tokens, was.CreatedAt, was.DeletedAt
		if !was.Status.MayBecome(d.Status) {
			return fmt.Errorf("%w: a device with status %s cannot change to %q; it can change to %v", ErrTransition, was.Status, d.Status, transitions[was.Status])
		}
		if err := d.check(); err != nil {
			return err
		}
		known := parents{t: t, fleets: map[string]error{}, profiles: map[string]profileOrErr{}}
		return known.of(ctx, d)
	})
	if err != nil {
		return d, fmt.Errorf("telemetry: update device %q: %w", shorten(deviceID), err)
	}
	return d, nil
}

// ModifyDevice changes a device without validating the result. Errors: table.ErrNotFound.
func ModifyDevice(ctx context.Context, t *table.Table, deviceID string, change func(*Device) error) (Device, error) {
	return Devices.Modify(ctx, t, DeviceKey{deviceID}, func(d *Device) error {
		if !d.DeletedAt.IsZero() {
			return table.ErrNotFound
		}
		d.UpdatedAt = nowOf(t)
		return change(d)
	})
}

// check normalizes and validates a device. Errors: ErrInvalid.
func (d *Device) check() error {
	if err := checkID("device", d.DeviceID); err != nil {
		return err
	}
	if !d.Status.Valid() {
		return fmt.Errorf("%w: status %q: use provisioned, active, inactive, maintenance or retired", ErrInvalid, shorten(string(d.Status)))
	}
	for what, s := range map[string]string{"type": d.Type, "firmware": d.Firmware} {
		if err := checkLabel(what, s); err != nil {
			return err
		}
	}
	if len(d.Name) > maxName || len(d.Location) > maxName || len(d.Notes) > maxNotes {
		return fmt.Errorf("%w: name and location can have at most %d bytes, and there can be at most %d notes", ErrInvalid, maxName, maxNotes)
	}
	for k, v := range d.Notes {
		if len(k) > maxLabel || len(v) > maxName {
			return fmt.Errorf("%w: note %q: use at most %d bytes for the name and %d for the value", ErrInvalid, shorten(k), maxLabel, maxName)
		}
	}
	d.Shard = table.Shard(d.DeviceID, Shards)
	return d.checkTags()
}

func (d *Device) checkTags() error {
	if len(d.Tags) > maxTags {
		return fmt.Errorf("%w: %d tags: use at most %d", ErrInvalid, len(d.Tags), maxTags)
	}
	for i, tag := range d.Tags {
		d.Tags[i] = strings.TrimSpace(tag)
		if err := checkLabel("tag", d.Tags[i]); err != nil {
			return err
		}
		if d.Tags[i] == "" {
			return fmt.Errorf("%w: a tag is empty", ErrInvalid)
		}
	}
	slices.Sort(d.Tags)
	d.Tags = slices.Compact(d.Tags)
	return nil
}

// ListDevices returns a page of a fleet's devices with a property; for cursor and limit see
// table.Query.Page. Deleted devices are left out, so a page may be short.
func ListDevices(ctx context.Context, t *table.Table, in LabelIn, cursor string, limit int) (table.Page[Device], error) {
	labels, err := DevicesLabelled.Page(ctx, t, in, cursor, limit)
	if err != nil {
		return table.Page[Device]{}, err
	}
	keys := make([]DeviceKey, len(labels.Items))
	for i, l := range labels.Items {
		keys[i] = DeviceKey{l.DeviceID}
	}
	devices, err := Devices.GetMany(ctx, t, keys)
	devices = slices.DeleteFunc(devices, func(d Device) bool { return d.FleetID != in.FleetID || !d.DeletedAt.IsZero() })
	return table.Page[Device]{Items: devices, Next: labels.Next}, err
}

// EachDevice yields every device of all fleets, including those being deleted. It reads an index,
// which lags behind the devices by up to seconds.
func EachDevice(ctx context.Context, t *table.Table) func(yield func(Device, error) bool) {
	return func(yield func(Device, error) bool) {
		for _, status := range []DeviceStatus{Active, Maintenance, Provisioned, Inactive, Retired} {
			for d, err := range DevicesByStatus.All(ctx, t, StatusIn{status}) {
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}
