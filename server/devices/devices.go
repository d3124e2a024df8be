package devices

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// DevicePath names a device of a fleet.
type DevicePath struct {
	middleware.FleetPath
	Device string `path:"device" maxLength:"64" doc:"ID of the device."`
}

// DeviceForm has the fields of a device that people set. It is exported for the API document.
type DeviceForm struct {
	ID        string                 `json:"id" minLength:"1" maxLength:"64" doc:"Letters, digits and . _ - : ; unique in the installation."`
	Name      string                 `json:"name,omitempty" maxLength:"200"`
	Type      string                 `json:"type,omitempty" maxLength:"100" example:"sensor"`
	Status    telemetry.DeviceStatus `json:"status,omitempty" enum:"provisioned,active,inactive,maintenance,retired" doc:"Default: active."`
	Location  string                 `json:"location,omitempty" maxLength:"200"`
	Firmware  string                 `json:"firmware,omitempty" maxLength:"100"`
	ProfileID string                 `json:"profile,omitempty" maxLength:"64"`
	Tags      []string               `json:"tags,omitempty" maxItems:"20"`
	Notes     map[string]string      `json:"notes,omitempty" maxProperties:"50"`
}

func (f *DeviceForm) device(fleetID string) telemetry.NewDevice {
	return telemetry.NewDevice{
		ID: f.ID, FleetID: fleetID, Name: f.Name, Type: f.Type, Status: f.Status, Location: f.Location, Firmware: f.Firmware, ProfileID: f.ProfileID,
		Tags: f.Tags, Notes: f.Notes,
	}
}

// deviceBody is a device with its latest state.
type deviceBody struct {
	DeviceForm
	Fleet        string                 `json:"fleet"`
	Created      time.Time              `json:"created"`
	Updated      time.Time              `json:"updated"`
	Tokens       []tokenBody            `json:"tokens" doc:"Valid tokens, without their secrets."`
	Connectivity telemetry.Connectivity `json:"connectivity,omitempty" enum:"online,offline" doc:"Absent if the device never connected. Imported and late readings do not count as a connection."`
	LastSeen     time.Time              `json:"lastSeen,omitzero" doc:"Time of last contact, by the server's clock."`
	LastReading  time.Time              `json:"lastReading,omitzero" doc:"Time of the latest measurement, by the device's clock."`
	Rhythm       float64                `json:"rhythm,omitempty" doc:"Seconds between arrivals of readings, learned from the readings."`
	Latest       map[string]latestBody  `json:"latest" doc:"The latest value of each metric."`
}

type tokenBody struct {
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
}

type latestBody struct {
	At    time.Time       `json:"at"`
	Value telemetry.Value `json:"value"`
}

func settingsOfDevice(d *telemetry.Device) DeviceForm {
	return DeviceForm{
		ID: d.DeviceID, Name: d.Name, Type: d.Type, Status: d.Status, Location: d.Location, Firmware: d.Firmware, ProfileID: d.ProfileID,
		Tags: d.Tags, Notes: d.Notes,
	}
}

func describeDevice(d *telemetry.Device, s *telemetry.Status, now time.Time) deviceBody {
	b := deviceBody{
		DeviceForm: settingsOfDevice(d),
		Fleet:      d.FleetID, Created: d.CreatedAt, Updated: d.UpdatedAt, Tokens: []tokenBody{}, Latest: map[string]latestBody{},
	}
	for _, k := range d.Tokens {
		if k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt) {
			b.Tokens = append(b.Tokens, tokenBody{k.CreatedAt, k.ExpiresAt})
		}
	}
	if s == nil {
		return b
	}
	if s.LastSeen != 0 {
		b.Connectivity, b.LastSeen, b.Rhythm = s.Connectivity, time.UnixMilli(s.LastSeen).UTC(), s.Interval().Seconds()
	}
	for name, v := range s.Values {
		at := time.UnixMilli(v.At).UTC()
		if b.Latest[name] = (latestBody{at, v.Value}); at.After(b.LastReading) {
			b.LastReading = at
		}
	}
	return b
}

type deviceAnswer struct{ Body deviceBody }

type newDeviceRequest struct {
	middleware.FleetPath
	Body DeviceForm
}

type updateDeviceRequest struct {
	DevicePath
	Body struct {
		Name      *string                 `json:"name,omitempty" maxLength:"200"`
		Type      *string                 `json:"type,omitempty" maxLength:"100"`
		Status    *telemetry.DeviceStatus `json:"status,omitempty" enum:"provisioned,active,inactive,maintenance,retired"`
		Location  *string                 `json:"location,omitempty" maxLength:"200"`
		Firmware  *string                 `json:"firmware,omitempty" maxLength:"100"`
		ProfileID *string                 `json:"profile,omitempty" maxLength:"64"`
		Tags      *[]string               `json:"tags,omitempty" maxItems:"20"`
		Notes     *map[string]string      `json:"notes,omitempty" maxProperties:"50"`
	}
}

const devicesPath, devicePath = fleetPath + "/devices", fleetPath + "/devices/{device}"

func (s *Service) deviceRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "devices", Method: http.MethodGet, Path: devicesPath, Summary: "List the devices of a fleet with their latest state",
		Description: "Sorted by ID. With several filters, a page may have fewer devices than its limit; there are more as long as there is a cursor.", Tags: []string{"devices"},
	}), s.devices)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-device", Method: http.MethodPost, Path: devicesPath, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create a device", Tags: []string{"devices"}, Errors: []int{http.StatusConflict},
	}), s.addDevice)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "device", Method: http.MethodGet, Path: devicePath, Summary: "Get a device with its latest state", Tags: []string{"devices"},
	}), s.device)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "update-device", Method: http.MethodPatch, Path: devicePath, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Update a device or its status", Description: "Fields that are not given stay unchanged. Not every status can follow every other.", Tags: []string{"devices"}, Errors: []int{http.StatusConflict},
	}), s.updateDevice)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-device", Method: http.MethodDelete, Path: devicePath, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a device and all its data", Description: "The device is unknown at once. Its data is deleted within minutes; until then, GET …/deleting lists the device.", Tags: []string{"devices"},
	}), s.deleteDevice)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "deleting-devices", Method: http.MethodGet, Path: fleetPath + "/deleting", Summary: "List the devices that are being deleted", Tags: []string{"devices"},
	}), s.deleting)
}

// known returns the device that the path names. Devices of other fleets are not found.
func (s *Service) known(ctx context.Context, in *DevicePath) (telemetry.Device, error) {
	d, err := telemetry.GetDevice(ctx, s.table, in.Device)
	if err == nil && d.FleetID != in.Fleet {
		err = table.ErrNotFound
	}
	if err != nil {
		return d, s.mw.Error(ctx, err)
	}
	return d, nil
}

func (s *Service) answerDevice(ctx context.Context, d *telemetry.Device) (*deviceAnswer, error) {
	status, err := telemetry.ReadStatus(ctx, s.table, d.DeviceID)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, s.mw.Error(ctx, err)
	}
	return &deviceAnswer{describeDevice(d, &status, s.table.Now())}, nil
}

func (s *Service) addDevice(ctx context.Context, in *newDeviceRequest) (*deviceAnswer, error) {
	d, err := telemetry.CreateDevice(ctx, s.table, in.Body.device(in.Fleet))
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(d.DeviceID) // it may be cached as unknown
	s.recordChange(ctx, "device.create", in.Fleet, d.DeviceID, nil, settingsOfDevice(&d))
	return s.answerDevice(ctx, &d)
}

func (s *Service) device(ctx context.Context, in *DevicePath) (*deviceAnswer, error) {
	d, err := s.known(ctx, in)
	if err != nil {
		return nil, err
	}
	return s.answerDevice(ctx, &d)
}

func (s *Service) updateDevice(ctx context.Context, in *updateDeviceRequest) (*deviceAnswer, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	var before DeviceForm
	d, err := telemetry.UpdateDevice(ctx, s.table, in.Device, func(d *telemetry.Device) error {
		if d.FleetID != in.Fleet {
			return table.ErrNotFound
		}
		before = settingsOfDevice(d)
		b := &in.Body
		middleware.Set(&d.Name, b.Name)
		middleware.Set(&d.Type, b.Type)
		middleware.Set(&d.Status, b.Status)
		middleware.Set(&d.Location, b.Location)
		middleware.Set(&d.Firmware, b.Firmware)
		middleware.Set(&d.ProfileID, b.ProfileID)
		middleware.Set(&d.Tags, b.Tags)
		middleware.Set(&d.Notes, b.Notes)
		return nil
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(in.Device)
	s.recordChange(ctx, "device.update", in.Fleet, in.Device, before, settingsOfDevice(&d))
	return s.answerDevice(ctx, &d)
}

func (s *Service) deleteDevice(ctx context.Context, in *DevicePath) (*struct{}, error) {
	d, err := s.known(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := telemetry.DeleteDevice(ctx, s.table, in.Device); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(in.Device)
	s.recordChange(ctx, "device.delete", in.Fleet, in.Device, settingsOfDevice(&d), nil)
	return nil, nil
}

type devicesRequest struct {
	middleware.FleetPath
	Status       telemetry.DeviceStatus `query:"status" enum:"provisioned,active,inactive,maintenance,retired" doc:"Only devices with this status."`
	Type         string                 `query:"type" doc:"Only devices of this type."`
	Tag          string                 `query:"tag" doc:"Only devices with this tag."`
	Firmware     string                 `query:"firmware" doc:"Only devices with this firmware."`
	Profile      string                 `query:"profile" doc:"Only devices of this profile."`
	Connectivity string                 `query:"connectivity" enum:"online,offline,never" doc:"Only devices that are online, offline or never connected."`
	Search       string                 `query:"search" maxLength:"100" doc:"Part of the ID or name, ignoring case."`
	Cursor       string                 `query:"cursor" doc:"From the previous page."`
	Limit        int                    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results."`
}

type devicesAnswer struct {
	Body struct {
		Devices []deviceBody `json:"devices"`
		Cursor  string       `json:"cursor,omitempty" doc:"Cursor of the next page, if there may be one."`
	}
}

// label returns the narrowest index that the request's filters allow.
func (in *devicesRequest) label() telemetry.LabelIn {
	for _, l := range []telemetry.LabelIn{
		{Kind: telemetry.ByTag, Value: in.Tag}, {Kind: telemetry.ByProfile, Value: in.Profile}, {Kind: telemetry.ByFirmware, Value: in.Firmware},
		{Kind: telemetry.ByType, Value: in.Type}, {Kind: telemetry.ByStatus, Value: string(in.Status)}, {Kind: telemetry.ByFleet, Value: telemetry.Any},
	} {
		if l.Value != "" {
			l.FleetID = in.Fleet
			return l
		}
	}
	return telemetry.LabelIn{} // unreachable: the last case always matches
}

// fits reports whether a device passes the request's filters.
func (in *devicesRequest) fits(d *deviceBody) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	found := strings.Contains(strings.ToLower(d.ID+"\n"+d.Name), strings.ToLower(in.Search))
	heard := in.Connectivity == "" || in.Connectivity == string(d.Connectivity) || in.Connectivity == "never" && d.Connectivity == ""
	return found && heard && is(string(in.Status), string(d.Status)) && is(in.Type, d.Type) && is(in.Firmware, d.Firmware) &&
		is(in.Profile, d.ProfileID) && (in.Tag == "" || slices.Contains(d.Tags, in.Tag))
}

func (s *Service) devices(ctx context.Context, in *devicesRequest) (*devicesAnswer, error) {
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	page, err := telemetry.ListDevices(ctx, s.table, in.label(), in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	keys := make([]telemetry.StatusKey, len(page.Items))
	for i := range page.Items {
		keys[i] = telemetry.StatusKey{DeviceID: page.Items[i].DeviceID}
	}
	all, err := telemetry.Statuses.GetMany(ctx, s.table, keys)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	known := make(map[string]*telemetry.Status, len(all))
	for i := range all {
		known[all[i].DeviceID] = &all[i]
	}
	answer := &devicesAnswer{}
	answer.Body.Devices, answer.Body.Cursor = []deviceBody{}, page.Next
	for i := range page.Items {
		d := describeDevice(&page.Items[i], known[page.Items[i].DeviceID], s.table.Now())
		if in.fits(&d) {
			answer.Body.Devices = append(answer.Body.Devices, d)
		}
	}
	return answer, nil
}

type deletingAnswer struct {
	Body struct {
		Devices []string `json:"devices" doc:"Device IDs. A device that is no longer listed has been deleted with all its data."`
		Cursor  string   `json:"cursor,omitempty"`
	}
}

type deletingRequest struct {
	middleware.FleetPath
	Cursor string `query:"cursor" doc:"Where to continue: the cursor of the previous response."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results."`
}

func (s *Service) deleting(ctx context.Context, in *deletingRequest) (*deletingAnswer, error) {
	ask := telemetry.LabelIn{FleetID: in.Fleet, Kind: telemetry.ByFleet, Value: telemetry.Deleting}
	page, err := telemetry.DevicesLabelled.Page(ctx, s.table, ask, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := &deletingAnswer{}
	answer.Body.Devices, answer.Body.Cursor = make([]string, len(page.Items)), page.Next
	for i := range page.Items {
		answer.Body.Devices[i] = page.Items[i].DeviceID
	}
	return answer, nil
}
