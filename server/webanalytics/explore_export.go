package webanalytics

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/server/internal/download"
	"github.com/onefold/onefold/server/internal/middleware"
)

const exportTimeout = time.Hour // of a whole export

type exportRequest struct {
	middleware.SitePath
	DayRange
	FilterParams
	Kind   string `query:"kind" enum:"events,sessions,stats" default:"events" doc:"What to export."`
	Format string `query:"format" enum:"csv,jsonl" default:"csv" doc:"In CSV, text that a spreadsheet could run as a formula is prefixed with an apostrophe."`
	Period string `query:"period" enum:"hour,day,month" default:"day" doc:"For kind stats."`
}

func (s *Service) exploreExportRoutes(api huma.API) {
	op := statisticsOperation("export", "export", "Export raw events, sessions or statistics of a day range as a file")
	op.Description = "The response is streamed. A response that is cut off is incomplete."
	op.Responses = map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{"text/csv": {}, "application/jsonl": {}}}}
	huma.Register(api, middleware.Guard(middleware.ForRead, op), s.export)
}

func (s *Service) export(ctx context.Context, in *exportRequest) (*huma.StreamResponse, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	ask := explore.ExportIn{
		Range: days, Filters: filters, Kind: explore.Kind(in.Kind), Format: explore.Format(in.Format), Period: analytics.Period(in.Period),
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) { s.writeExport(hc, ask) }}, nil
}

func (s *Service) writeExport(hc huma.Context, ask explore.ExportIn) {
	ctx, cancel := context.WithTimeout(hc.Context(), exportTimeout)
	defer cancel()
	_, w := humago.Unwrap(hc)
	err := download.Send(w, exportTimeout, func(h http.Header) {
		h.Set("Content-Type", map[explore.Format]string{explore.CSV: "text/csv; charset=utf-8", explore.JSONL: "application/jsonl"}[ask.Format])
		h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s-%s-%s.%s"`, ask.Site, ask.Kind, ask.From, ask.To, ask.Format))
	}, func(file io.Writer) error { return s.raw.Export(ctx, ask, file) })
	s.mw.DownloadFailed(ctx, w, err)
}
