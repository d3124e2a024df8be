package devices

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/recount"
)

// fleetVerification is a check or rebuild of a fleet's figures, running or finished.
type fleetVerification struct {
	ID          string            `json:"id,omitempty"`
	State       string            `json:"state" enum:"never,running,clean,differs,rebuilt,failed" doc:"rebuilt: every item that differed was replaced."`
	Rebuild     bool              `json:"rebuild,omitempty" doc:"While it runs: items that differ are replaced."`
	At          time.Time         `json:"at,omitzero" doc:"When it ended, or while it runs, when it began."`
	Device      string            `json:"device,omitempty" doc:"If set, the only device that is compared."`
	From        string            `json:"from,omitempty"`
	To          string            `json:"to,omitempty"`
	Done        int               `json:"done" doc:"Number of devices compared."`
	Of          int               `json:"of"`
	Readings    int64             `json:"readings" doc:"Number of raw readings read."`
	Checked     int64             `json:"checked" doc:"Number of derived items compared."`
	Count       int64             `json:"count" doc:"Number of items that differ."`
	Rebuilt     int64             `json:"rebuilt" doc:"Number of items that were replaced."`
	Sealed      int64             `json:"sealed" doc:"Items left out because some of their raw readings may have expired or cannot be read."`
	FirstSealed string            `json:"firstSealed,omitempty" doc:"The first of them."`
	Waiting     int64             `json:"waiting" doc:"Days of devices left out while a retraction is being applied."`
	Busy        int               `json:"busy" doc:"Items that changed too often to be compared, at most 100."`
	Differences []fleetDifference `json:"differences" doc:"The first 100 of them."`
	Problem     string            `json:"problem,omitempty" doc:"Why it failed."`
}

// fleetDifference is a derived item that differs from what the readings give.
type fleetDifference struct {
	Item       string                 `json:"item" doc:"Part, device and start."`
	Part       recount.Part           `json:"part" enum:"hour,ten_minutes,day,latest,label,counts"`
	Device     string                 `json:"device,omitempty" doc:"Absent for items of the fleet."`
	Start      string                 `json:"start,omitempty" doc:"Start of the hour, ten minutes or day; or kind and value of a label."`
	Field      recount.DifferenceKind `json:"field" enum:"missing,wrong,extra"`
	Stored     string                 `json:"stored"`
	Recomputed string                 `json:"recomputed"`
}

type fleetVerificationAnswer struct{ Body fleetVerification }

type verifyFleetRequest struct {
	middleware.FleetPath
	Body struct {
		From   string `json:"from,omitempty" maxLength:"10" doc:"First day, YYYY-MM-DD, in the fleet's time zone. Default: 6 days before the last."`
		To     string `json:"to,omitempty" maxLength:"10" doc:"Last day, inclusive. Default: today."`
		Device string `json:"device,omitempty" maxLength:"64" doc:"Default: all devices, and the fleet's labels and counts."`
	}
}

type verifyFleetStarted struct {
	Body struct {
		ID string `json:"id"`
	}
}

// verifyDays is the default number of days to check.
const verifyDays = 7

func (s *Service) verifyRoutes(api huma.API) {
	const path = "/api/v1/fleets/{fleet}/verify"
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "verify-fleet", Method: http.MethodPost, Path: path, DefaultStatus: http.StatusAccepted, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Check figures against raw readings, in the background", Tags: []string{"operations"}, Errors: []int{http.StatusConflict},
	}), s.verify)
	huma.Register(api, middleware.Guard(middleware.ForOwner, huma.Operation{
		OperationID: "rebuild-fleet", Method: http.MethodPost, Path: "/api/v1/fleets/{fleet}/rebuild", DefaultStatus: http.StatusAccepted, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Rebuild figures that differ from raw readings, in the background", Tags: []string{"operations"}, Errors: []int{http.StatusConflict},
	}), s.rebuild)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "verified-fleet", Method: http.MethodGet, Path: path,
		Summary: "Get the current or last check or rebuild of the last thirty days", Tags: []string{"operations"},
	}), s.verified)
}

func (s *Service) verify(ctx context.Context, in *verifyFleetRequest) (*verifyFleetStarted, error) {
	return s.beginRecount(ctx, in, recount.Verifying)
}

func (s *Service) rebuild(ctx context.Context, in *verifyFleetRequest) (*verifyFleetStarted, error) {
	return s.beginRecount(ctx, in, recount.Rebuilding)
}

// beginRecount starts a check or a rebuild. Only one of them runs at a time.
func (s *Service) beginRecount(ctx context.Context, in *verifyFleetRequest, verb recount.Verb) (*verifyFleetStarted, error) {
	of, err := s.rangeOf(ctx, in)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	began := fleetVerification{
		ID: rand.Text(), State: "running", Rebuild: verb == recount.Rebuilding, At: s.mw.Clock().UTC(), Device: of.Device, From: of.From, To: of.To, Differences: []fleetDifference{},
	}
	job, err := s.verifications.Begin(ctx, began.ID, in.Fleet, began)
	if errors.Is(err, jobs.ErrBusy) {
		return nil, middleware.Problem(http.StatusConflict, "busy", "A check or rebuild is running. Only one runs at a time; try again when it has ended.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "fleet."+string(verb), in.Fleet, of.Device)
	if !s.background.Start(func(ctx context.Context) { s.runRecount(ctx, of, verb, job) }) {
		return nil, s.mw.Error(ctx, errors.Join(middleware.ShuttingDown(), job.Drop(ctx)))
	}
	answer := new(verifyFleetStarted)
	answer.Body.ID = began.ID
	return answer, nil
}

// rangeOf returns the range that a request asks for.
func (s *Service) rangeOf(ctx context.Context, in *verifyFleetRequest) (recount.RangeIn, error) {
	of := recount.RangeIn{Fleet: in.Fleet, Device: in.Body.Device, From: in.Body.From, To: in.Body.To}
	f, err := telemetry.GetFleet(ctx, s.table, in.Fleet)
	if err != nil {
		return of, err
	}
	if of.Device != "" {
		if _, err := s.known(ctx, &DevicePath{in.FleetPath, of.Device}); err != nil {
			return of, err
		}
	}
	zone, err := calendar.LoadZone(f.TimeZone)
	if err != nil {
		return of, err
	}
	of.To = cmp.Or(of.To, zone.Day(s.mw.Clock()))
	if _, err := calendar.ParseDay(of.To); err == nil && of.From == "" {
		of.From = calendar.ShiftDay(of.To, 1-verifyDays)
	}
	return of, of.Check()
}

// runRecount checks or rebuilds, and stores the result, so that it survives a restart. If the
// server stops meanwhile, the previous result stays, and a new request resumes the work.
func (s *Service) runRecount(ctx context.Context, of recount.RangeIn, verb recount.Verb, job *jobs.Job[fleetVerification]) {
	v := recount.Verification{FleetKey: telemetry.FleetKey{FleetID: of.Fleet}, ID: job.State().ID, Device: of.Device, From: of.From, To: of.To}
	var err error
	do := recount.Verify
	if verb == recount.Rebuilding {
		do = recount.Rebuild
	}
	v.Found, err = do(ctx, s.table, s.folded, of, func(p recount.Progress) {
		v.Of = p.Of
		job.Change(func(b *fleetVerification) { b.Done, b.Of, b.Readings, b.Checked = p.Done, p.Of, p.Readings, p.Items })
	})
	if ctx.Err() == nil {
		s.keepVerify(ctx, &v, err)
	}
	if err := job.Drop(context.WithoutCancel(ctx)); err != nil {
		s.mw.Logger.ErrorContext(ctx, "verification may show as running for a while", "fleet", of.Fleet, "error", err)
	}
}

// keepVerify stores the result of a check or rebuild.
func (s *Service) keepVerify(ctx context.Context, v *recount.Verification, err error) {
	if err != nil {
		v.Failure = s.mw.Error(ctx, err).Error()
	}
	v.At = s.mw.Clock().UTC()
	if err := recount.Keep(ctx, s.table, v); err != nil {
		s.mw.Logger.ErrorContext(ctx, "storing a verification failed", "fleet", v.FleetID, "error", err)
	}
}

func (s *Service) verified(ctx context.Context, in *middleware.FleetPath) (*fleetVerificationAnswer, error) {
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body, phase, err := s.verifications.Last(ctx, in.Fleet)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if phase == jobs.Under {
		return &fleetVerificationAnswer{body}, nil
	}
	v, err := recount.LastVerification.Get(ctx, s.table, telemetry.FleetKey{FleetID: in.Fleet})
	if errors.Is(err, table.ErrNotFound) {
		return &fleetVerificationAnswer{fleetVerification{State: "never", Differences: []fleetDifference{}}}, nil
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &fleetVerificationAnswer{describeVerification(&v)}, nil
}

func describeVerification(v *recount.Verification) fleetVerification {
	body := fleetVerification{
		ID: v.ID, State: "clean", At: v.At, Device: v.Device, From: v.From, To: v.To, Done: v.Found.Devices, Of: v.Of, Readings: v.Found.Readings,
		Checked: v.Found.Items, Count: v.Found.Count, Rebuilt: v.Found.Repaired, Sealed: v.Found.SealedItems, Waiting: v.Found.Waiting, Busy: len(v.Found.Busy),
		Differences: []fleetDifference{}, Problem: v.Failure,
	}
	if len(v.Found.Sealed) > 0 {
		body.FirstSealed = v.Found.Sealed[0]
	}
	for _, d := range v.Found.List {
		body.Differences = append(body.Differences, fleetDifference{d.Item(), d.Part, d.Device, d.Start, d.Kind, d.Stored, d.Want})
	}
	switch {
	case v.Failure != "":
		body.State = "failed"
	case v.Found.Count > v.Found.Repaired:
		body.State = "differs"
	case v.Found.Count > 0:
		body.State = "rebuilt"
	}
	return body
}
