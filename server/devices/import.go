package devices

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

type importReadingsRequest struct {
	middleware.FleetPath
	DryRun          bool   `query:"dryRun" doc:"Report the outcomes without writing anything. Duplicates within the request are not detected."`
	MakeDevices     bool   `query:"makeDevices" doc:"Create unknown devices."`
	ContentEncoding string `header:"Content-Encoding" doc:"gzip or none."`
	RawBody         []byte `contentType:"application/json"`
}

type importReadingsAnswer struct {
	Body struct {
		Outcomes []telemetry.Outcome `json:"outcomes" doc:"One per reading, in order."`
		Made     []string            `json:"made" doc:"IDs of devices that were created, or would be."`
	}
}

func (s *Service) importRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "import-readings", Method: http.MethodPost, Path: fleetPath + "/import", DefaultStatus: http.StatusAccepted,
		MaxBodyBytes: maxBody, BodyReadTimeout: ingestFor, SkipValidateBody: true,
		Summary: "Import historical readings",
		Description: "Up to 5,000 readings in the form of `POST /api/readings`. If several are intentionally identical, such as rows of a file, `nth` numbers all but the first. " +
			"Returns 202 once they are durable. They may be of any age, are kept from now on, and are exempt from late-reading and rate limits. " +
			"Used by `onefold import telemetry --server`. Send one request at a time.",
		Tags: []string{"ingest"}, Errors: []int{http.StatusBadRequest, http.StatusNotFound},
	}), s.importReadings)
}

func (s *Service) importReadings(ctx context.Context, in *importReadingsRequest) (*importReadingsAnswer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ingestFor)
	defer cancel()
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body, err := plainBody(in.RawBody, in.ContentEncoding)
	if err != nil {
		return nil, err
	}
	parsed, err := payload.Parse(body, "")
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(importReadingsAnswer)
	answer.Body.Outcomes = make([]telemetry.Outcome, len(parsed))
	readings, of := make([]telemetry.Incoming, 0, len(parsed)), make([]int, 0, len(parsed))
	for i := range parsed {
		if parsed[i].Err != nil {
			answer.Body.Outcomes[i] = parsed[i].Outcome()
			continue
		}
		readings, of = append(readings, parsed[i].Incoming), append(of, i)
	}
	o := telemetry.ImportOptions{FleetID: in.Fleet, DryRun: in.DryRun}
	if in.MakeDevices {
		o.MakeIn = in.Fleet
	}
	became, made, err := s.o.Collector.Import(ctx, readings, o)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	for n, i := range of {
		answer.Body.Outcomes[i] = became[n]
	}
	if answer.Body.Made = append([]string{}, made...); !in.DryRun {
		s.imported(ctx, in.Fleet, made, readings, became)
	}
	return answer, nil
}

// imported notifies subscribers, such as counters and streams, of imported readings.
func (s *Service) imported(ctx context.Context, fleetID string, made []string, readings []telemetry.Incoming, became []telemetry.Outcome) {
	for _, id := range made {
		s.record(ctx, "device.create", fleetID, id)
	}
	s.metrics.count(became)
	s.tail.publish(readings, became)
}
