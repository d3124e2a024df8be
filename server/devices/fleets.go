package devices

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

type fleetBody struct {
	ID           string              `json:"id"`
	Name         string              `json:"name"`
	TimeZone     string              `json:"timezone"`
	TenMinutes   bool                `json:"tenMinutes" doc:"Keep 10-minute aggregates in addition to hours and days."`
	Retention    telemetry.Retention `json:"retention"`
	Limits       telemetry.Limits    `json:"limits" doc:"Limits per device: readings per minute, and different metrics sent per day. 0: the defaults, 6,000 and 600; at most 1,000 metrics."`
	PropertyTags []string            `json:"propertyTags" doc:"Tags, of line protocol or JSON readings, that describe the device. Each is stored as text under the tag's name. Other tags become part of metric names. At most 32."`
	Created      time.Time           `json:"created"`
	Role         accounts.Role       `json:"role,omitempty" doc:"The caller's role."`
}

type fleetAnswer struct{ Body fleetBody }

type fleetsAnswer struct {
	Body struct {
		Fleets []fleetBody `json:"fleets"`
	}
}

type newFleetRequest struct {
	Body struct {
		ID           string              `json:"id" minLength:"1" maxLength:"64" doc:"Letters, digits and . _ - :"`
		Name         string              `json:"name,omitempty" maxLength:"200"`
		TimeZone     string              `json:"timezone,omitempty" maxLength:"64" doc:"IANA name. It cannot be changed, because all hours and days use it. Default: UTC."`
		TenMinutes   bool                `json:"tenMinutes,omitempty"`
		Retention    telemetry.Retention `json:"retention,omitempty"`
		Limits       telemetry.Limits    `json:"limits,omitempty"`
		PropertyTags []string            `json:"propertyTags,omitempty" maxItems:"32"`
	}
}

type updateFleetRequest struct {
	middleware.FleetPath
	Body struct {
		Name         *string              `json:"name,omitempty" maxLength:"200"`
		TenMinutes   *bool                `json:"tenMinutes,omitempty"`
		Retention    *telemetry.Retention `json:"retention,omitempty"`
		Limits       *telemetry.Limits    `json:"limits,omitempty"`
		PropertyTags *[]string            `json:"propertyTags,omitempty" maxItems:"32" doc:"Data stored before keeps its names."`
	}
}

const fleetsPath, fleetPath = "/api/v1/fleets", "/api/v1/fleets/{fleet}"

func (s *Service) fleetRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForIdentified, huma.Operation{
		OperationID: "fleets", Method: http.MethodGet, Path: fleetsPath, Summary: "List the fleets that the caller may see", Tags: []string{"fleets"},
	}), s.fleets)
	huma.Register(api, middleware.Guard(middleware.ForAllSites, huma.Operation{
		OperationID: "add-fleet", Method: http.MethodPost, Path: fleetsPath, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create a fleet", Description: "Repeating the request within ten minutes returns the same response.", Tags: []string{"fleets"}, Errors: []int{http.StatusConflict},
	}), s.addFleet)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "fleet", Method: http.MethodGet, Path: fleetPath, Summary: "Get a fleet's settings", Tags: []string{"fleets"},
	}), s.fleet)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "update-fleet", Method: http.MethodPatch, Path: fleetPath, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Update a fleet's settings", Description: "Fields that are not given stay unchanged. Changes apply to readings within ten seconds.", Tags: []string{"fleets"},
	}), s.updateFleet)
	huma.Register(api, middleware.Guard(middleware.ForOwner, huma.Operation{
		OperationID: "delete-fleet", Method: http.MethodDelete, Path: fleetPath, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a fleet, its devices and all their data", Description: "The fleet is unknown at once. Its data is deleted within minutes; its roles and keys end at once.", Tags: []string{"fleets"},
	}), s.deleteFleet)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "fleet-board", Method: http.MethodGet, Path: fleetPath + "/board", Summary: "Count a fleet's devices by status and connectivity", Tags: []string{"fleets"},
	}), s.board)
}

func describeFleet(ctx context.Context, f *telemetry.Fleet) fleetBody {
	return fleetBody{
		ID: f.FleetID, Name: cmp.Or(f.Name, f.FleetID), TimeZone: f.TimeZone, TenMinutes: f.TenMinutes, Retention: f.Retention,
		Limits: f.Limits, PropertyTags: append([]string{}, f.PropertyTags...), Created: f.CreatedAt, Role: middleware.CallerOf(ctx).Grants.On(accounts.OfFleet(f.FleetID)),
	}
}

func (s *Service) fleets(ctx context.Context, _ *struct{}) (*fleetsAnswer, error) {
	answer, who := new(fleetsAnswer), middleware.CallerOf(ctx)
	answer.Body.Fleets = []fleetBody{}
	for f, err := range telemetry.ListFleets(ctx, s.table, "") {
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		if who.May(middleware.ForRead, accounts.OfFleet(f.FleetID)) {
			answer.Body.Fleets = append(answer.Body.Fleets, describeFleet(ctx, &f))
		}
	}
	return answer, nil
}

// sentAgain is how long a repeated request counts as a retry of the first, whose response may have
// been lost.
const sentAgain = 10 * time.Minute

func (s *Service) addFleet(ctx context.Context, in *newFleetRequest) (*fleetAnswer, error) {
	b := &in.Body
	n := telemetry.NewFleet{
		ID: b.ID, Name: b.Name, TimeZone: b.TimeZone, TenMinutes: b.TenMinutes, Retention: b.Retention, Limits: b.Limits,
		PropertyTags: b.PropertyTags,
	}
	if _, err := telemetry.GetFleet(ctx, s.table, n.ID); errors.Is(err, table.ErrNotFound) { // only if new: nobody can have a role on a new fleet
		if err := s.mw.Accounts.RemoveSite(ctx, accounts.OfFleet(n.ID)); err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	f, err := telemetry.CreateFleet(ctx, s.table, n)
	if errors.Is(err, table.ErrExists) {
		before, found := telemetry.GetFleet(ctx, s.table, n.ID)
		if found == nil && s.table.Now().Sub(before.CreatedAt) <= sentAgain && before.Name == n.Name && before.TimeZone == cmp.Or(n.TimeZone, "UTC") &&
			before.TenMinutes == n.TenMinutes && before.Retention == n.Retention && before.Limits == n.Limits && slices.Equal(before.PropertyTags, n.PropertyTags) {
			return &fleetAnswer{describeFleet(ctx, &before)}, nil
		}
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "fleet.create", f.FleetID, "", nil, settingsOf(ctx, &f))
	return &fleetAnswer{describeFleet(ctx, &f)}, nil
}

// settingsOf returns a fleet's settings for the audit record.
func settingsOf(ctx context.Context, f *telemetry.Fleet) fleetBody {
	body := describeFleet(ctx, f)
	body.Role = ""
	return body
}

// recordChange records a change with the API bodies before and after; nil means that there is none.
func (s *Service) recordChange(ctx context.Context, action, fleetID, subject string, before, after any) {
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: accounts.OfFleet(fleetID), Subject: subject}, before, after)
}

// recordSecret records the change of a secret.
func (s *Service) recordSecret(ctx context.Context, action, fleetID, subject, field string) {
	s.mw.Record(ctx, accounts.Entry{
		Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: accounts.OfFleet(fleetID), Subject: subject, Changes: []accounts.Change{{Field: field, Hidden: true}},
	})
}

// record records who changed what in a fleet.
func (s *Service) record(ctx context.Context, action, fleetID, subject string) {
	s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: accounts.OfFleet(fleetID), Subject: subject})
}

func (s *Service) fleet(ctx context.Context, in *middleware.FleetPath) (*fleetAnswer, error) {
	f, err := telemetry.GetFleet(ctx, s.table, in.Fleet)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &fleetAnswer{describeFleet(ctx, &f)}, nil
}

func (s *Service) updateFleet(ctx context.Context, in *updateFleetRequest) (*fleetAnswer, error) {
	b := &in.Body
	var before fleetBody
	f, err := telemetry.UpdateFleet(ctx, s.table, in.Fleet, func(f *telemetry.Fleet) error {
		before = settingsOf(ctx, f)
		middleware.Set(&f.Name, b.Name)
		middleware.Set(&f.TenMinutes, b.TenMinutes)
		middleware.Set(&f.Limits, b.Limits)
		middleware.Set(&f.PropertyTags, b.PropertyTags)
		middleware.Set(&f.Retention, b.Retention)
		return nil
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "fleet.update", in.Fleet, "", before, settingsOf(ctx, &f))
	return &fleetAnswer{describeFleet(ctx, &f)}, nil
}

func (s *Service) deleteFleet(ctx context.Context, in *middleware.FleetPath) (*struct{}, error) {
	f, err := telemetry.GetFleet(ctx, s.table, in.Fleet)
	if err == nil {
		err = telemetry.DeleteFleet(ctx, s.table, in.Fleet)
	}
	if err == nil {
		err = s.mw.Accounts.RemoveSite(ctx, accounts.OfFleet(in.Fleet))
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "fleet.delete", in.Fleet, "", settingsOf(ctx, &f), nil)
	return nil, nil
}

type boardAnswer struct {
	Body struct {
		Devices        int64            `json:"devices"`
		ByStatus       map[string]int64 `json:"byStatus"`
		ByConnectivity map[string]int64 `json:"byConnectivity" doc:"online, offline, and never for devices that never connected."`
		Silence        *silenceBody     `json:"silence,omitempty" doc:"Set if most of the fleet went silent at once: at least three devices, and half of those that were online. These devices also count as offline. It ends when enough devices are back, or after a day."`
	}
}

type silenceBody struct {
	Since   time.Time `json:"since" doc:"Last contact of the last of them."`
	Devices int       `json:"devices" doc:"Number of devices that went silent."`
	Of      int       `json:"of" doc:"Number of devices that were online before."`
}

// board returns the counts of a fleet. Devices that never connected have no connectivity, so their
// number is the rest.
func (s *Service) board(ctx context.Context, in *middleware.FleetPath) (*boardAnswer, error) {
	fleet := telemetry.FleetIn{FleetID: in.Fleet}
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	counts, err := telemetry.CountsOfFleet.Get(ctx, s.table, fleet)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, s.mw.Error(ctx, err)
	}
	silence, err := telemetry.SilenceOfFleet.Get(ctx, s.table, fleet)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(boardAnswer)
	b := &answer.Body
	b.ByStatus, b.ByConnectivity = map[string]int64{}, map[string]int64{}
	for status, n := range counts.ByStatus {
		b.ByStatus[status] = n
		b.Devices += n
	}
	never := b.Devices
	for connectivity, n := range counts.ByConnectivity {
		b.ByConnectivity[connectivity] = n
		never -= n
	}
	b.ByConnectivity["never"] = max(never, 0)
	if err == nil {
		b.Silence = &silenceBody{silence.Since, silence.Devices, silence.Of}
	}
	return answer, nil
}
