package webanalytics

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/server/internal/door"
)

// verifications remember the last check of each site's numbers since the server started. One runs at a time: each reads
// all raw events of its days.
type verifications struct {
	mu      sync.Mutex
	last    map[string]*verifyBody // by site
	running bool
}

type verifyBody struct {
	ID          string           `json:"id,omitempty"`
	State       string           `json:"state" enum:"never,running,clean,differs,failed"`
	At          time.Time        `json:"at,omitzero" doc:"When it ended; while it runs, when it began."`
	From        string           `json:"from,omitempty"`
	To          string           `json:"to,omitempty"`
	Done        int              `json:"done" doc:"Days that are compared."`
	Of          int              `json:"of"`
	Events      int64            `json:"events" doc:"Raw events that were read."`
	Checked     int64            `json:"checked" doc:"Derived items that were compared."`
	Count       int64            `json:"count" doc:"Items that differ."`
	Differences []differenceBody `json:"differences" doc:"The first hundred of them."`
	Problem     string           `json:"problem,omitempty" doc:"Why it failed."`
}

// differenceBody is one derived item that is not what its facts say.
type differenceBody struct {
	Item       string                   `json:"item" doc:"Entity and key."`
	Field      reconcile.DifferenceKind `json:"field" enum:"missing,wrong,extra"`
	Stored     string                   `json:"stored"`
	Recomputed string                   `json:"recomputed"`
}

type verifyAnswer struct{ Body verifyBody }

type verifyRequest struct {
	door.SitePath
	Body struct {
		From string `json:"from,omitempty" maxLength:"10" doc:"First day, YYYY-MM-DD. Default: 6 days before the last."`
		To   string `json:"to,omitempty" maxLength:"10" doc:"Last day, included. Default: the last that has statistics."`
	}
}

type verifyStarted struct {
	Body struct {
		ID string `json:"id"`
	}
}

// verifyDays are checked when nobody says from when.
const verifyDays = 7

func (s *Service) verifyRoutes(api huma.API) {
	const path = "/api/v1/sites/{site}/verify"
	huma.Register(api, door.Guard(door.ForWrite, huma.Operation{
		OperationID: "verify", Method: http.MethodPost, Path: path, DefaultStatus: http.StatusAccepted, MaxBodyBytes: door.MaxSmallBody,
		Summary: "Recompute statistics from raw events and compare, in the background", Tags: []string{"operations"}, Errors: []int{http.StatusConflict},
	}), s.verify)
	huma.Register(api, door.Guard(door.ForRead, huma.Operation{
		OperationID: "verified", Method: http.MethodGet, Path: path,
		Summary: "How the last comparison since the server started went, or goes", Tags: []string{"operations"},
	}), s.verified)
}

func (s *Service) verify(ctx context.Context, in *verifyRequest) (*verifyStarted, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.Body.From, in.Body.To, verifyDays)
	if err == nil {
		_, err = analytics.GetSite(ctx, s.table, in.Site)
	}
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	body := &verifyBody{ID: rand.Text(), State: "running", At: s.door.Clock().UTC(), From: from, To: to, Differences: []differenceBody{}}
	if !s.verifications.begin(in.Site, body) {
		return nil, door.Problem(http.StatusConflict, "busy", "A comparison is running. Only one runs at a time; ask again when it has ended.")
	}
	s.door.Record(ctx, accounts.Entry{Actor: door.CallerOf(ctx).Actor, Action: "site.verify", Site: in.Site})
	if !s.background.Start(func(ctx context.Context) { s.runVerify(ctx, in.Site, from, to) }) {
		return nil, door.Stopping()
	}
	answer := new(verifyStarted)
	answer.Body.ID = body.ID
	return answer, nil
}

func (s *Service) runVerify(ctx context.Context, site, from, to string) {
	found, err := reconcile.Verify(ctx, s.table, s.worker, reconcile.RangeIn{Site: site, From: from, To: to}, func(p reconcile.Progress) {
		s.verifications.change(site, func(b *verifyBody) { b.Done, b.Of, b.Events, b.Checked = p.Done, p.Of, p.Events, p.Items })
	})
	ended := s.door.Clock().UTC()
	failure := ""
	if err != nil {
		failure = s.door.Error(ctx, err).Error()
	}
	s.verifications.end(site, func(b *verifyBody) {
		b.At, b.Events, b.Checked, b.Count, b.State = ended, found.Events, found.Items, found.Count, "clean"
		for _, d := range found.List {
			b.Differences = append(b.Differences, differenceBody{d.Entity + " " + d.Key, d.Kind, d.Stored, d.Want})
		}
		switch {
		case failure != "":
			b.State, b.Problem = "failed", failure
		case found.Count > 0:
			b.State = "differs"
		}
	})
}

func (s *Service) verified(_ context.Context, in *door.SitePath) (*verifyAnswer, error) {
	return &verifyAnswer{s.verifications.of(in.Site)}, nil
}

// begin notes that a check runs, unless one does already.
func (v *verifications) begin(site string, body *verifyBody) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running {
		return false
	}
	if v.last == nil {
		v.last = map[string]*verifyBody{}
	}
	v.running, v.last[site] = true, body
	return true
}

func (v *verifications) change(site string, change func(*verifyBody)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(v.last[site])
}

func (v *verifications) end(site string, change func(*verifyBody)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(v.last[site])
	v.running = false
}

func (v *verifications) of(site string) verifyBody {
	v.mu.Lock()
	defer v.mu.Unlock()
	if body := v.last[site]; body != nil {
		return *body
	}
	return verifyBody{State: "never", Differences: []differenceBody{}}
}
