package webanalytics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/server/internal/door"
)

const (
	exportTimeout  = time.Hour        // of all of an export
	exportPatience = 30 * time.Second // for a reader to take what was written
	exportBuffer   = 32 << 10
)

type exportRequest struct {
	door.SitePath
	DayRange
	FilterParams
	Kind   string `query:"kind" enum:"events,sessions,stats" default:"events"`
	Format string `query:"format" enum:"csv,jsonl" default:"csv" doc:"In CSV a text that a spreadsheet would take for a formula has an apostrophe before it."`
	Period string `query:"period" enum:"hour,day,month" default:"day" doc:"Of stats."`
}

func (s *Service) exploreExportRoutes(api huma.API) {
	op := statisticsOperation("export", "export", "Raw events, sessions or statistics of a range of days, as a file")
	op.Description = "Written as it is read. An answer that breaks off is not all of it."
	op.Responses = map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{"text/csv": {}, "application/jsonl": {}}}}
	huma.Register(api, door.Guard(door.ForRead, op), s.export)
}

func (s *Service) export(ctx context.Context, in *exportRequest) (*huma.StreamResponse, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.door.Error(ctx, err)
	}
	ask := explore.ExportIn{
		Range: days, Filters: filters, Kind: explore.Kind(in.Kind), Format: explore.Format(in.Format), Period: analytics.Period(in.Period),
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) { s.writeExport(hc, ask) }}, nil
}

// writeExport writes an export. Before anything was sent an error is a problem; after that the connection is closed, so
// that nobody takes a part for the whole.
func (s *Service) writeExport(hc huma.Context, ask explore.ExportIn) {
	ctx, cancel := context.WithTimeout(hc.Context(), exportTimeout)
	defer cancel()
	_, w := humago.Unwrap(hc)
	file := &download{w: w, control: http.NewResponseController(w), header: func(h http.Header) {
		h.Set("Content-Type", map[explore.Format]string{explore.CSV: "text/csv; charset=utf-8", explore.JSONL: "application/jsonl"}[ask.Format])
		h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s-%s-%s.%s"`, ask.Site, ask.Kind, ask.From, ask.To, ask.Format))
	}}
	err := file.allow(exportTimeout)
	if err == nil {
		err = s.raw.Export(ctx, ask, file)
	}
	if err == nil {
		err = file.flush()
	}
	if err == nil {
		return
	}
	if file.started {
		if hc.Context().Err() == nil {
			s.door.Logger.WarnContext(ctx, "export broke off", "site", ask.Site, "error", err)
		}
		panic(http.ErrAbortHandler) // the way to close a connection
	}
	var p *huma.ErrorModel
	if !errors.As(s.door.Error(ctx, err), &p) {
		p = door.Problem(http.StatusServiceUnavailable, "unavailable", "The export cannot be made at the moment.")
	}
	door.WriteProblem(w, p)
}

// download buffers what is written, and sends no header before it has to. A reader has a while to take each part.
type download struct {
	w       http.ResponseWriter
	control *http.ResponseController
	header  func(http.Header)
	started bool
	buffer  []byte
}

// Write implements io.Writer.
func (d *download) Write(p []byte) (int, error) {
	d.buffer = append(d.buffer, p...)
	if len(d.buffer) < exportBuffer {
		return len(p), nil
	}
	return len(p), d.flush()
}

func (d *download) flush() error {
	if !d.started {
		d.started = true
		d.header(d.w.Header())
		d.w.WriteHeader(http.StatusOK)
	}
	if err := d.allow(exportPatience); err != nil {
		return err
	}
	_, err := d.w.Write(d.buffer)
	d.buffer = d.buffer[:0]
	return errors.Join(err, d.allow(exportTimeout))
}

// allow lets the next write take a while. What is computed between two writes counts, too, and a deadline that has passed
// cannot be moved; so it is far away but while something is written.
func (d *download) allow(most time.Duration) error {
	if err := d.control.SetWriteDeadline(time.Now().Add(most)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("server: export: %w", err)
	}
	return nil
}
