package webanalytics

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
)

// verifyBody is a running or finished check of a site's numbers.
type verifyBody struct {
	ID          string           `json:"id,omitempty"`
	State       string           `json:"state" enum:"never,running,clean,differs,failed"`
	At          time.Time        `json:"at,omitzero" doc:"When it ended, or while it runs, when it began."`
	From        string           `json:"from,omitempty"`
	To          string           `json:"to,omitempty"`
	Done        int              `json:"done" doc:"Number of days compared."`
	Of          int              `json:"of"`
	Events      int64            `json:"events" doc:"Number of raw events read."`
	Checked     int64            `json:"checked" doc:"Number of derived items compared."`
	Count       int64            `json:"count" doc:"Number of items that differ."`
	Sealed      int              `json:"sealed" doc:"Days left out because some of their raw events may have expired."`
	FirstSealed string           `json:"firstSealed,omitempty" doc:"The first of them."`
	Busy        int              `json:"busy" doc:"Items that changed too often to be compared."`
	Differences []differenceBody `json:"differences" doc:"The first 100 of them."`
	Problem     string           `json:"problem,omitempty" doc:"Why it failed."`
}

// differenceBody is a derived item that differs from what the facts give.
type differenceBody struct {
	Item       string                   `json:"item" doc:"Entity and key."`
	Field      reconcile.DifferenceKind `json:"field" enum:"missing,wrong,extra"`
	Stored     string                   `json:"stored"`
	Recomputed string                   `json:"recomputed"`
}

type verifyAnswer struct{ Body verifyBody }

type verifyRequest struct {
	middleware.SitePath
	Body struct {
		From string `json:"from,omitempty" maxLength:"10" doc:"First day, YYYY-MM-DD. Default: 6 days before the last."`
		To   string `json:"to,omitempty" maxLength:"10" doc:"Last day, inclusive. Default: the last day with statistics."`
	}
}

type verifyStarted struct {
	Body struct {
		ID string `json:"id"`
	}
}

// verifyDays is the default number of days to check.
const verifyDays = 7

func (s *Service) verifyRoutes(api huma.API) {
	const path = "/api/v1/sites/{site}/verify"
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "verify", Method: http.MethodPost, Path: path, DefaultStatus: http.StatusAccepted, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Check statistics against raw events, in the background", Tags: []string{"operations"}, Errors: []int{http.StatusConflict},
	}), s.verify)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "verified", Method: http.MethodGet, Path: path,
		Summary: "Get the current or last check of the last thirty days", Tags: []string{"operations"},
	}), s.verified)
}

func (s *Service) verify(ctx context.Context, in *verifyRequest) (*verifyStarted, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.Body.From, in.Body.To, verifyDays)
	if err == nil {
		_, err = analytics.GetSite(ctx, s.table, in.Site)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	began := verifyBody{ID: rand.Text(), State: "running", At: s.mw.Clock().UTC(), From: from, To: to, Differences: []differenceBody{}}
	job, err := s.verifications.Begin(ctx, began.ID, in.Site, began)
	if errors.Is(err, jobs.ErrBusy) {
		return nil, middleware.Problem(http.StatusConflict, "busy", "A check is running. Only one runs at a time; try again when it has ended.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "site.verify", Site: in.Site})
	if !s.background.Start(func(ctx context.Context) { s.runVerify(ctx, in.Site, job) }) {
		return nil, s.mw.Error(ctx, errors.Join(middleware.ShuttingDown(), job.Drop(ctx)))
	}
	answer := new(verifyStarted)
	answer.Body.ID = began.ID
	return answer, nil
}

// runVerify checks and stores the result, so that it survives a restart. If the server stops
// meanwhile, the previous result stays, and a new request resumes the check.
func (s *Service) runVerify(ctx context.Context, site string, job *jobs.Job[verifyBody]) {
	began := job.State()
	v := reconcile.Verification{SiteKey: analytics.SiteKey{SiteID: site}, ID: began.ID, From: began.From, To: began.To}
	var err error
	v.Found, err = reconcile.Verify(ctx, s.table, s.worker, reconcile.RangeIn{Site: site, From: v.From, To: v.To}, func(p reconcile.Progress) {
		v.Of = p.Of
		job.Change(func(b *verifyBody) { b.Done, b.Of, b.Events, b.Checked = p.Done, p.Of, p.Events, p.Items })
	})
	if ctx.Err() == nil {
		s.keepVerify(ctx, &v, err)
	}
	if err := job.Drop(context.WithoutCancel(ctx)); err != nil {
		s.mw.Logger.ErrorContext(ctx, "verification may show as running for a while", "site", site, "error", err)
	}
}

// keepVerify stores the result of a check.
func (s *Service) keepVerify(ctx context.Context, v *reconcile.Verification, err error) {
	if err != nil {
		v.Failure = s.mw.Error(ctx, err).Error()
	}
	v.At = s.mw.Clock().UTC()
	if err := reconcile.Keep(ctx, s.table, v); err != nil {
		s.mw.Logger.ErrorContext(ctx, "storing a verification failed", "site", v.SiteID, "error", err)
	}
}

func (s *Service) verified(ctx context.Context, in *middleware.SitePath) (*verifyAnswer, error) {
	body, phase, err := s.verifications.Last(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if phase == jobs.Under {
		return &verifyAnswer{body}, nil
	}
	v, err := reconcile.LastVerification.Get(ctx, s.table, analytics.SiteKey{SiteID: in.Site})
	if errors.Is(err, table.ErrNotFound) {
		return &verifyAnswer{verifyBody{State: "never", Differences: []differenceBody{}}}, nil
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &verifyAnswer{describeVerification(&v)}, nil
}

func describeVerification(v *reconcile.Verification) verifyBody {
	body := verifyBody{
		ID: v.ID, State: "clean", At: v.At, From: v.From, To: v.To, Done: v.Found.Days, Of: v.Of, Events: v.Found.Events, Checked: v.Found.Items,
		Count: v.Found.Count, Sealed: v.Found.SealedDays, Busy: len(v.Found.Busy), Differences: []differenceBody{}, Problem: v.Failure,
	}
	if len(v.Found.Sealed) > 0 {
		body.FirstSealed = v.Found.Sealed[0]
	}
	for _, d := range v.Found.List {
		body.Differences = append(body.Differences, differenceBody{d.Entity + " " + d.Key, d.Kind, d.Stored, d.Want})
	}
	switch {
	case v.Failure != "":
		body.State = "failed"
	case v.Found.Count > 0:
		body.State = "differs"
	}
	return body
}
