package devices

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry/credentials"
)

type newTokenAnswer struct {
	Body struct {
		Token string `json:"token" doc:"The device authenticates with it. Returned only once."`
	}
}

type revokeTokensRequest struct {
	DevicePath
	All bool `query:"all" doc:"Also revoke the newest token. The device can then no longer send."`
}

type claimCodeAnswer struct {
	Body struct {
		Code string `json:"code" doc:"To print on the device. Returned only once; it works once, within a year."`
	}
}

type claimRequest struct {
	middleware.FleetPath
	Body struct {
		Code string `json:"code" maxLength:"64"`
	}
}

type claimAnswer struct {
	Body struct {
		Device deviceBody `json:"device"`
		Token  string     `json:"token" doc:"The device authenticates with it. Returned only once."`
	}
}

func (s *Service) tokenRoutes(api huma.API) {
	const tokens = devicePath + "/tokens"
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-device-token", Method: http.MethodPost, Path: tokens, DefaultStatus: http.StatusCreated,
		Summary: "Create or renew a device's token", Description: "The previous token stays valid for seven days, to leave time to update the device.", Tags: []string{"devices"},
	}), s.addToken)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "revoke-device-tokens", Method: http.MethodDelete, Path: tokens, DefaultStatus: http.StatusNoContent,
		Summary: "Revoke a device's older token, or all", Tags: []string{"devices"},
	}), s.revokeTokens)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-claim-code", Method: http.MethodPost, Path: devicePath + "/claim-code", DefaultStatus: http.StatusCreated,
		Summary: "Create a claim code for a provisioned device", Tags: []string{"devices"}, Errors: []int{http.StatusConflict},
	}), s.addClaimCode)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "claim-device", Method: http.MethodPost, Path: fleetPath + "/claim", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Claim a device for this fleet by its code", Tags: []string{"devices"},
	}), s.claim)
}

func (s *Service) addToken(ctx context.Context, in *DevicePath) (*newTokenAnswer, error) {
	if _, err := s.known(ctx, in); err != nil {
		return nil, err
	}
	token, err := credentials.NewToken(ctx, s.table, in.Device)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(in.Device)
	s.recordSecret(ctx, "device.token", in.Fleet, in.Device, "token")
	answer := new(newTokenAnswer)
	answer.Body.Token = token
	return answer, nil
}

func (s *Service) revokeTokens(ctx context.Context, in *revokeTokensRequest) (*struct{}, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	if err := credentials.RevokeTokens(ctx, s.table, in.Device, in.All); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(in.Device)
	s.recordSecret(ctx, "device.revoke_tokens", in.Fleet, in.Device, "tokens")
	return nil, nil
}

func (s *Service) addClaimCode(ctx context.Context, in *DevicePath) (*claimCodeAnswer, error) {
	if _, err := s.known(ctx, in); err != nil {
		return nil, err
	}
	code, err := credentials.NewClaim(ctx, s.table, in.Device)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordSecret(ctx, "device.claim_code", in.Fleet, in.Device, "claimCode")
	answer := new(claimCodeAnswer)
	answer.Body.Code = code
	return answer, nil
}

func (s *Service) claim(ctx context.Context, in *claimRequest) (*claimAnswer, error) {
	d, token, err := credentials.Claim(ctx, s.table, in.Body.Code, in.Fleet)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.o.Collector.Forget(d.DeviceID)
	s.recordChange(ctx, "device.claim", in.Fleet, d.DeviceID, nil, settingsOfDevice(&d))
	answer := new(claimAnswer)
	answer.Body.Device, answer.Body.Token = describeDevice(&d, nil, s.table.Now()), token
	return answer, nil
}
