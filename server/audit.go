package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/download"
	"github.com/onefold/onefold/server/internal/middleware"
)

// auditTimeout limits an export or a check of the audit record.
const auditTimeout = time.Hour

type auditRequest struct {
	Month  string `query:"month" maxLength:"7" example:"2026-05" doc:"In UTC. Default: the current month."`
	Cursor string `query:"cursor" maxLength:"2048" doc:"Where to continue: the cursor of the previous response."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum number of results."`
}

type auditAnswer struct {
	Body struct {
		Entries []accounts.EntryJSON `json:"entries"`
		Cursor  string               `json:"cursor,omitempty" doc:"From the previous page."`
	}
}

type auditExportRequest struct {
	From   string                `query:"from" format:"date" doc:"First day, in UTC. Default: the first day that is kept."`
	To     string                `query:"to" format:"date" doc:"Last day, in UTC. Default: today."`
	Format accounts.ExportFormat `query:"format" enum:"ndjson,csv" default:"ndjson" doc:"Format of the export."`
}

type auditCheckRequest struct {
	Head string `query:"head" maxLength:"90" example:"41:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" doc:"A head that an earlier check returned. Default: none is looked up."`
}

type auditCheckAnswer struct {
	Body struct {
		Whole   bool             `json:"whole" doc:"No entry is missing, changed, added or moved, and the given head, if any, exists or has expired."`
		Entries int64            `json:"entries" doc:"Number of entries of the chain that were checked."`
		Older   int64            `json:"older" doc:"Number of entries written by versions without a chain. They cannot be checked."`
		First   int64            `json:"first,omitempty" doc:"Number of the first entry that is kept. Earlier entries have expired."`
		Head    string           `json:"head,omitempty" doc:"Number and hash of the last entry. Keep it elsewhere to show later that the record was not rewritten."`
		Noted   accounts.Noted   `json:"noted,omitempty" enum:"found,missing,expired" doc:"The result for the given head."`
		Damage  *accounts.Damage `json:"damage,omitempty" doc:"The first entry that does not fit the chain."`
	}
}

func (s *Server) auditRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "audit", Method: http.MethodGet, Path: "/api/v1/audit",
		Summary: "List who changed what in a month, newest first", Tags: []string{"accounts"},
	}), s.audit)
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "audit-export", Method: http.MethodGet, Path: "/api/v1/audit/export",
		Summary: "Export the audit record as a file, oldest entry first", Tags: []string{"accounts"},
		Description: "The response is streamed. A response that is cut off is incomplete.",
		Responses:   map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{"application/x-ndjson": {}, "text/csv": {}}}},
	}), s.auditExport)
	huma.Register(api, middleware.Guard(middleware.ForAccounts, huma.Operation{
		OperationID: "audit-verify", Method: http.MethodGet, Path: "/api/v1/audit/verification",
		Summary: "Check that the audit record is unchanged", Tags: []string{"accounts"},
		Description: "Every entry contains the hash of the previous entry. A record that was rewritten as a whole is detected only with a head that was noted before.",
	}), s.auditCheck)
}

func (s *Server) audit(ctx context.Context, in *auditRequest) (*auditAnswer, error) {
	page, err := s.o.Accounts.Audit(ctx, in.Month, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(auditAnswer)
	answer.Body.Cursor = page.Next
	answer.Body.Entries = described(page.Items, (*accounts.Entry).JSON)
	return answer, nil
}

func (s *Server) auditExport(ctx context.Context, in *auditExportRequest) (*huma.StreamResponse, error) {
	from, to, err := accounts.AuditDays(in.From, in.To, s.o.Clock())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	kind := map[accounts.ExportFormat]string{accounts.NDJSON: "application/x-ndjson", accounts.CSV: "text/csv; charset=utf-8"}[in.Format]
	name := fmt.Sprintf("audit-%s-%s.%s", from.Format(time.DateOnly), to.Add(-1).Format(time.DateOnly), in.Format)
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		ctx, cancel := context.WithTimeout(hc.Context(), auditTimeout)
		defer cancel()
		_, w := humago.Unwrap(hc)
		err := download.Send(w, auditTimeout, func(h http.Header) {
			h.Set("Content-Type", kind)
			h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
		}, func(file io.Writer) error {
			_, err := accounts.WriteEntries(file, in.Format, s.o.Accounts.EntriesBetween(ctx, from, to), func(int64) {})
			return err
		})
		s.mw.DownloadFailed(hc.Context(), w, err)
	}}, nil
}

func (s *Server) auditCheck(ctx context.Context, in *auditCheckRequest) (*auditCheckAnswer, error) {
	v, err := s.o.Accounts.Verify(ctx, in.Head)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(auditCheckAnswer)
	b := &answer.Body
	b.Whole, b.Entries, b.Older, b.First, b.Head, b.Noted, b.Damage = v.Whole(), v.Entries, v.Older, v.First, v.Head, v.Noted, v.Damage
	return answer, nil
}
