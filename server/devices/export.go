package devices

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/internal/download"
	"github.com/onefold/onefold/telemetry"
)

const exportTimeout = time.Hour // of a whole export

type exportRequest struct {
	DevicePath
	Times
	Kind   string           `query:"kind" enum:"readings,aggregates" default:"readings" doc:"What to export."`
	Format string           `query:"format" enum:"csv,jsonl" default:"csv" doc:"In CSV, each value of a reading is a line. Text that a spreadsheet could run as a formula is prefixed with an apostrophe."`
	Period telemetry.Period `query:"period" enum:"10min,hourly,daily" default:"hourly" doc:"Period of aggregates."`
}

func (s *Service) exportRoutes(api huma.API) {
	op := readOperation("export-device", "/export", "Export readings or aggregates of a time range as a file")
	op.Description = "The response is streamed. A response that is cut off is incomplete."
	op.Responses = map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{"text/csv": {}, "application/jsonl": {}}}}
	huma.Register(api, op, s.export)
}

func (s *Service) export(ctx context.Context, in *exportRequest) (*huma.StreamResponse, error) {
	if _, err := s.known(ctx, &in.DevicePath); err != nil {
		return nil, err
	}
	from, to := in.filled(s.table.Now())
	ask, err := s.buckets(ctx, &in.DevicePath, in.Period, from, to)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	kind := map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}[in.Format]
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		ctx, cancel := context.WithTimeout(hc.Context(), exportTimeout)
		defer cancel()
		_, w := humago.Unwrap(hc)
		err := download.Send(w, exportTimeout, func(h http.Header) {
			h.Set("Content-Type", kind)
			h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s.%s"`, strings.ReplaceAll(in.Device, ":", "_"), in.Kind, in.Format))
		}, func(file io.Writer) error {
			if in.Kind == "aggregates" {
				return s.exportAggregates(ctx, file, in.Format, ask)
			}
			return s.exportReadings(ctx, file, in.Format, telemetry.ReadingsIn{DeviceID: in.Device, From: from, To: to})
		})
		s.mw.DownloadFailed(hc.Context(), w, err)
	}}, nil
}

func (s *Service) exportReadings(ctx context.Context, file io.Writer, format string, ask telemetry.ReadingsIn) error {
	rows, lines := csv.NewWriter(file), json.NewEncoder(file)
	if format == "csv" {
		if err := rows.Write([]string{"at", "arrived", "metric", "value", "late"}); err != nil {
			return err
		}
	}
	for r, err := range ask.All(ctx, s.table) {
		if err == nil && format == "jsonl" {
			err = lines.Encode(describeReading(&r))
		}
		if err == nil && format == "csv" {
			err = writeRows(rows, &r)
		}
		if err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

func writeRows(rows *csv.Writer, r *telemetry.Reading) error {
	at, arrived := r.At.Format(time.RFC3339Nano), time.UnixMilli(r.Arrived).UTC().Format(time.RFC3339Nano)
	for _, name := range r.Values.Names() {
		v := r.Values[name]
		text := v.String()
		if !v.IsNumber() {
			text = download.Harmless(text)
		}
		if err := rows.Write([]string{at, arrived, download.Harmless(name), text, fmt.Sprint(r.Late)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) exportAggregates(ctx context.Context, file io.Writer, format string, ask telemetry.AggregatesIn) error {
	rows, lines := csv.NewWriter(file), json.NewEncoder(file)
	if format == "csv" {
		if err := rows.Write([]string{"start", "metric", "count", "sum", "mean", "min", "max", "deviation", "p50", "p95", "increase", "first", "last"}); err != nil {
			return err
		}
	}
	for a, err := range telemetry.AggregatesByTime.All(ctx, s.table, ask) {
		if err == nil && format == "jsonl" {
			err = lines.Encode(describeAggregate(&a))
		}
		if err != nil {
			return err
		}
		if format == "jsonl" {
			continue
		}
		for _, f := range telemetry.FiguresOf(&a) {
			if err := rows.Write([]string{a.Start, download.Harmless(f.Metric), fmt.Sprint(f.Count), f.Sum, f.Mean, f.Min, f.Max, f.Deviation, f.P50, f.P95, f.Increase, value(f, f.First), value(f, f.Last)}); err != nil {
				return err
			}
		}
	}
	rows.Flush()
	return rows.Error()
}

// value formats the first or last value of a metric. The value of a state is text that a device
// sent, so it is made harmless.
func value(f telemetry.Figures, text string) string {
	if f.Kind == telemetry.State {
		return download.Harmless(text)
	}
	return text
}
