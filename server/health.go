package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// StaleAfter is how far the folds may lag, beyond their configured delays, before a server or
// worker reports itself as unhealthy.
const StaleAfter = 5 * time.Minute

type healthAnswer struct {
	Status int
	Body   struct {
		Status     string   `json:"status" enum:"ok,behind,unreachable,full,unwritable"`
		LagSeconds *float64 `json:"lagSeconds" doc:"Upper bound of the age of the oldest change that this server has yet to fold. Null if unknown here; see lagReason."`
		LagReason  string   `json:"lagReason,omitempty" doc:"Why lagSeconds is null."`
		Version    string   `json:"version,omitempty"`
		Reason     string   `json:"reason,omitempty" doc:"Why the status is not ok, and what to do about it."`
		Failing    []Part   `json:"failing,omitempty" doc:"Parts that have failed and are being restarted. The server can do without them for a while, so they do not affect the status."`
	}
}

// Part is a part of a server that has failed and that the server can do without.
type Part struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since" doc:"When it failed. The log has the reason."`
}

func (s *Server) healthRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/healthz",
		Summary: "Report whether the table answers and accepts writes, and whether the folds keep up", Tags: []string{"operations"},
	}), s.health)
}

// health tries a write and then reads one item, so that an unreachable table shows.
func (s *Server) health(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
	answer := &healthAnswer{Status: http.StatusOK}
	answer.Body.Status, answer.Body.Version = "ok", s.o.Version
	lag := FoldsBehind(s.o.Worker, s.since, s.o.Clock())
	answer.Body.LagSeconds, answer.Body.LagReason = lag.Seconds(), lag.Unknown
	if s.o.Failing != nil {
		answer.Body.Failing = s.o.Failing()
	}
	fails := func(status, reason string) {
		answer.Status, answer.Body.Status, answer.Body.Reason = http.StatusServiceUnavailable, status, reason
	}
	if status, reason := s.trouble(ctx); status != "" {
		fails(status, reason)
	} else if err := s.probe(ctx); err != nil {
		s.o.Logger.ErrorContext(ctx, "health: the table does not respond", "error", err)
		fails("unreachable", "The table does not answer.")
	} else if lag.Late {
		fails("behind", "The folds are behind. Statistics are older than "+StaleAfter.String()+".")
	}
	return answer, nil
}

// probe checks whether the table answers in time.
func (s *Server) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := analytics.GetSite(ctx, s.o.Table, "health") // existing or not, the read succeeded
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}
