package workcli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onefold/onefold/cmd/onefold/internal/scrape"
	"github.com/onefold/onefold/server"
)

// serveMetrics serves Prometheus metrics and health checks until ctx ends.
func serveMetrics(ctx context.Context, l net.Listener, process *Process, version string, own ...prometheus.Collector) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(own...)
	registry.MustRegister(server.FoldCollector(process.Worker, process.Table.Now), server.BuildInfo(version),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Timeout: scrape.AnswerTimeout}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"status":"alive"}`) //nolint:errcheck // the client has disconnected
	})
	began := process.Table.Now()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		lag := server.FoldsBehind(process.Worker, began, process.Table.Now())
		status, code := "ok", http.StatusOK
		if lag.Late {
			status, code = "behind", http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		said := map[string]any{"status": status, "lagSeconds": lag.Seconds(), "version": version}
		if lag.Unknown != "" {
			said["lagReason"] = lag.Unknown
		}
		json.NewEncoder(w).Encode(said) //nolint:errcheck // the client has disconnected
	})
	return scrape.Serve(ctx, l, mux)
}
