package devices

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
)

type retractionBody struct {
	ID      string    `json:"id"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Metrics []string  `json:"metrics,omitempty" doc:"Empty: all metrics."`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"by,omitempty" doc:"Name of the person or key."`
	Created time.Time `json:"created"`
	Applied time.Time `json:"applied,omitzero" doc:"When the aggregates were recomputed without the readings. Absent if not yet."`
	Lifted  time.Time `json:"lifted,omitzero" doc:"When the retraction was undone. It disappears once that is applied."`
}

func describeRetraction(ctx context.Context, r *telemetry.Retraction, who *names) (retractionBody, error) {
	by, err := who.of(ctx, r.By)
	return retractionBody{r.RetractionID, r.From, r.To, r.Metrics, r.Reason, by, r.CreatedAt, r.AppliedAt, r.LiftedAt}, err
}

type retractionsAnswer struct {
	Body struct {
		Retractions []retractionBody `json:"retractions"`
	}
}

type retractionAnswer struct{ Body retractionBody }

type retractRequest struct {
	DevicePath
	Body struct {
		From    time.Time `json:"from"`
		To      time.Time `json:"to" doc:"Exclusive."`
		Metrics []string  `json:"metrics,omitempty" maxItems:"256" doc:"Default: all."`
		Reason  string    `json:"reason,omitempty" maxLength:"200"`
	}
}

// RetractionPath names a retraction of a device.
type RetractionPath struct {
	DevicePath
	Retraction string `path:"retraction" maxLength:"26" doc:"ID of the retraction."`
}

type quarantineRequest struct {
	DevicePath
	PageParams
}

type quarantinedBody struct {
	Claimed time.Time        `json:"claimed" doc:"The time that the reading claims."`
	Arrived time.Time        `json:"arrived"`
	Reason  telemetry.Reason `json:"reason"`
	Values  telemetry.Values `json:"values"`
}

type quarantineAnswer struct {
	Body struct {
		Readings []quarantinedBody `json:"readings"`
		Cursor   string            `json:"cursor,omitempty"`
	}
}

func (s *Service) retractionRoutes(api huma.API) {
	const list = devicePath + "/retractions"
	huma.Register(api, readOperation("device-quarantine", "/quarantine", "List the quarantined readings of a device"), s.quarantine)
	huma.Register(api, readOperation("retractions", "/retractions", "List the retractions of a device"), s.retractions)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "retract", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Retract a time range of a device's readings", Description: "Within a minute, its readings are excluded from all aggregates, including readings of that time that arrive later. The readings themselves are kept.", Tags: []string{"readings"},
	}), s.retract)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "lift-retraction", Method: http.MethodDelete, Path: list + "/{retraction}", DefaultStatus: http.StatusNoContent,
		Summary: "Undo a retraction", Tags: []string{"readings"},
	}), s.lift)
}

func (s *Service) quarantine(ctx context.Context, in *quarantineRequest) (*quarantineAnswer, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	page, err := telemetry.QuarantineOfDevice.Page(ctx, s.table, telemetry.DeviceIn{DeviceID: in.Device}, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(quarantineAnswer)
	answer.Body.Cursor = page.Next
	answer.Body.Readings = described(page, func(q *telemetry.Quarantined) quarantinedBody {
		return quarantinedBody{q.Claimed, time.UnixMilli(q.Arrived).UTC(), q.Reason, q.Values}
	})
	return answer, nil
}

func (s *Service) retractions(ctx context.Context, in *DevicePath) (*retractionsAnswer, error) {
	if _, err := s.known(ctx, in); err != nil {
		return nil, err
	}
	all, err := telemetry.RetractionsOfDevice.Collect(ctx, s.table, telemetry.DeviceIn{DeviceID: in.Device})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(retractionsAnswer)
	answer.Body.Retractions = make([]retractionBody, len(all))
	who := s.names()
	for i := range all {
		if answer.Body.Retractions[i], err = describeRetraction(ctx, &all[i], who); err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	return answer, nil
}

func (s *Service) retract(ctx context.Context, in *retractRequest) (*retractionAnswer, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	r, err := telemetry.Retract(ctx, s.table, telemetry.Retraction{
		RetractionKey: telemetry.RetractionKey{DeviceID: in.Device}, From: in.Body.From, To: in.Body.To, Metrics: in.Body.Metrics,
		Reason: in.Body.Reason, By: middleware.CallerOf(ctx).Actor,
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.retracted(ctx, "reading.retract", in.Fleet, in.Device)
	body, err := describeRetraction(ctx, &r, s.names())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &retractionAnswer{body}, nil
}

func (s *Service) lift(ctx context.Context, in *RetractionPath) (*struct{}, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	if err := telemetry.Lift(ctx, s.table, telemetry.RetractionKey{DeviceID: in.Device, RetractionID: in.Retraction}); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.retracted(ctx, "reading.lift", in.Fleet, in.Device)
	return nil, nil
}

// retracted starts to recompute aggregates for changed retractions. If it is interrupted,
// maintenance completes it.
func (s *Service) retracted(ctx context.Context, action, fleetID, deviceID string) {
	s.o.Collector.Forget(deviceID)
	s.record(ctx, action, fleetID, deviceID)
	s.background.Start(func(ctx context.Context) {
		if _, err := telemetry.ApplyRetractions(ctx, s.table, s.folded, deviceID); err != nil && ctx.Err() == nil {
			s.mw.Logger.WarnContext(ctx, "applying retractions failed; maintenance will complete it", "device", deviceID, "error", err)
		}
	})
}
