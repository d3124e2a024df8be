package workcli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onefold/onefold/server"
)

// What a request for metrics may take.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = 10 * time.Second
	stopTimeout   = 2 * time.Second
)

// serveMetrics answers Prometheus, and whoever asks whether all is well, until ctx ends.
func serveMetrics(ctx context.Context, l net.Listener, crew *Crew, watch *Watch, version string) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(server.FoldCollector(crew.Worker, crew.Table.Now), watch,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Timeout: answerTimeout}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"status":"alive"}`) //nolint:errcheck // nobody is there to be told
	})
	began := crew.Table.Now()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		lag := server.FoldsBehind(crew.Worker, began, crew.Table.Now())
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
		json.NewEncoder(w).Encode(said) //nolint:errcheck // nobody is there to be told
	})
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: answerTimeout + time.Second,
		MaxHeaderBytes: 1 << 14,
	}
	stop := context.AfterFunc(ctx, func() {
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		s.Shutdown(rest) //nolint:errcheck // the process ends
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}
