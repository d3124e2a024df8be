package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/door"
)

type auditRequest struct {
	Month  string `query:"month" maxLength:"7" example:"2026-05" doc:"In UTC. Default: the present one."`
	Cursor string `query:"cursor" maxLength:"2048"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
}

type auditAnswer struct {
	Body struct {
		Entries []auditEntry `json:"entries"`
		Cursor  string       `json:"cursor,omitempty" doc:"Of the next page."`
	}
}

type auditEntry struct {
	At      time.Time `json:"at"`
	Actor   string    `json:"actor" doc:"user:ID, key:ID, token or command."`
	Action  string    `json:"action"`
	Site    string    `json:"site,omitempty"`
	Subject string    `json:"subject,omitempty"`
}

func (s *Server) auditRoutes(api huma.API) {
	huma.Register(api, door.Guard(door.ForAccounts, huma.Operation{
		OperationID: "audit", Method: http.MethodGet, Path: "/api/v1/audit",
		Summary: "Who changed what in a month, latest first", Tags: []string{"accounts"},
	}), s.audit)
}

func (s *Server) audit(ctx context.Context, in *auditRequest) (*auditAnswer, error) {
	page, err := s.o.Accounts.Audit(ctx, in.Month, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	answer := new(auditAnswer)
	answer.Body.Cursor = page.Next
	answer.Body.Entries = make([]auditEntry, len(page.Items))
	for i := range page.Items {
		e := &page.Items[i]
		answer.Body.Entries[i] = auditEntry{e.At(), e.Actor, e.Action, e.Site, e.Subject}
	}
	return answer, nil
}
