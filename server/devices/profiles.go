package devices

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// ProfilePath names a profile of a fleet.
type ProfilePath struct {
	middleware.FleetPath
	Profile string `path:"profile" maxLength:"64" doc:"ID of the profile."`
}

// ProfileForm has the fields of a profile that people set. It is exported because the API document
// omits the fields of unexported embedded types.
type ProfileForm struct {
	Name    string                `json:"name,omitempty" maxLength:"200"`
	Metrics []telemetry.MetricDef `json:"metrics,omitempty" maxItems:"256" doc:"Metrics that are not listed are gauges if they are numbers, otherwise states."`
	Every   int                   `json:"every,omitempty" minimum:"0" doc:"Expected seconds between readings. 0: learned from the device's readings."`
	Clock   telemetry.ClockPolicy `json:"clock,omitempty" doc:"How to handle readings whose time differs from their arrival."`
}

type profileBody struct {
	ID string `json:"id"`
	ProfileForm
	Created time.Time `json:"created"`
}

type profileAnswer struct{ Body profileBody }

type profilesAnswer struct {
	Body struct {
		Profiles []profileBody `json:"profiles"`
	}
}

type putProfileRequest struct {
	ProfilePath
	Body ProfileForm
}

func describeProfile(p *telemetry.Profile) profileBody {
	return profileBody{p.ProfileID, ProfileForm{p.Name, p.Metrics, p.Every, p.Clock}, p.CreatedAt}
}

func (s *Service) profileRoutes(api huma.API) {
	const list, one = fleetPath + "/profiles", fleetPath + "/profiles/{profile}"
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "profiles", Method: http.MethodGet, Path: list, Summary: "List the profiles of a fleet", Tags: []string{"fleets"},
	}), s.profiles)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "profile", Method: http.MethodGet, Path: one, Summary: "A profile", Tags: []string{"fleets"},
	}), s.profile)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "put-profile", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create or replace a profile", Description: "Applies to new readings within ten seconds. Stored readings are not changed.", Tags: []string{"fleets"}, Errors: []int{http.StatusConflict},
	}), s.putProfile)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-profile", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a profile that no device uses", Tags: []string{"fleets"}, Errors: []int{http.StatusConflict},
	}), s.deleteProfile)
}

func (s *Service) profiles(ctx context.Context, in *middleware.FleetPath) (*profilesAnswer, error) {
	all, err := telemetry.ProfilesOfFleet.Collect(ctx, s.table, telemetry.FleetIn{FleetID: in.Fleet})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(profilesAnswer)
	answer.Body.Profiles = make([]profileBody, len(all))
	for i := range all {
		answer.Body.Profiles[i] = describeProfile(&all[i])
	}
	return answer, nil
}

// knownProfile returns the profile that the path names.
func (s *Service) knownProfile(ctx context.Context, in *ProfilePath) (telemetry.Profile, error) {
	p, err := telemetry.ProfileByID.Get(ctx, s.table, telemetry.ProfileIn{ProfileID: in.Profile})
	if err == nil && p.FleetID != in.Fleet {
		err = table.ErrNotFound
	}
	return p, err
}

func (s *Service) profile(ctx context.Context, in *ProfilePath) (*profileAnswer, error) {
	p, err := s.knownProfile(ctx, in)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &profileAnswer{describeProfile(&p)}, nil
}

func (s *Service) putProfile(ctx context.Context, in *putProfileRequest) (*profileAnswer, error) {
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	before, err := s.knownProfile(ctx, &in.ProfilePath)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, s.mw.Error(ctx, err)
	}
	p, err := telemetry.PutProfile(ctx, s.table, telemetry.Profile{
		ProfileKey: telemetry.ProfileKey{ProfileID: in.Profile}, FleetID: in.Fleet, Name: in.Body.Name, Metrics: in.Body.Metrics, Every: in.Body.Every,
		Clock: in.Body.Clock, CreatedAt: before.CreatedAt,
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	var was any
	if before.ProfileID != "" {
		was = describeProfile(&before)
	}
	s.recordChange(ctx, "profile.put", in.Fleet, in.Profile, was, describeProfile(&p))
	return &profileAnswer{describeProfile(&p)}, nil
}

func (s *Service) deleteProfile(ctx context.Context, in *ProfilePath) (*struct{}, error) {
	p, err := s.knownProfile(ctx, in)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	_, err = telemetry.DevicesLabelled.First(ctx, s.table, telemetry.LabelIn{FleetID: in.Fleet, Kind: telemetry.ByProfile, Value: in.Profile})
	if err == nil {
		return nil, middleware.Problem(http.StatusConflict, "in_use", "Devices use this profile. Assign them another one first.")
	}
	if errors.Is(err, table.ErrNotFound) {
		err = telemetry.Profiles.Delete(ctx, s.table, p.ProfileKey)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "profile.delete", in.Fleet, in.Profile, describeProfile(&p), nil)
	return nil, nil
}
