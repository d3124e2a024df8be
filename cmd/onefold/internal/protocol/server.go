// Package protocol serves an embedded database over DynamoDB's protocol, with maintenance tasks and
// Prometheus metrics.
package protocol

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/cmd/onefold/internal/gauges"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
)

// Options configure access.
type Options struct {
	Region  string
	Keys    map[string]string // secrets by ID; none: any signature is accepted
	Origins []string          // origins of web pages that may connect without keys
	ToAll   bool              // metrics may be read by everybody
	Logger  *slog.Logger
}

// Handler returns the handler of DynamoDB's operations, the maintenance tasks and the metrics.
func Handler(db *engine.DB, o Options) (http.Handler, error) {
	registry := newRegistry(db)
	handler, err := dynamohttp.New(db, dynamohttp.Options{
		Region: o.Region, Keys: o.Keys, Origins: o.Origins, Registry: registry, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", Metrics(registry, o.Keys, o.ToAll))
	mux.Handle(AdminPath, handler.Signed(admin(db, o.Logger)))
	mux.Handle("/", handler)
	return mux, nil
}

// Keys parses access keys, ID:SECRET each, from flags and from a file with one per line. Errors
// begin with bad_access_key.
func Keys(flags []string, file string) (map[string]string, error) {
	lines := slices.Clone(flags)
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("access keys: %w", err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	keys := map[string]string{}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, secret, ok := strings.Cut(line, ":")
		if !ok || id == "" || secret == "" {
			return nil, errors.New("bad_access_key: write an access key as ID:SECRET")
		}
		keys[id] = secret
	}
	if file != "" && len(keys) == 0 {
		return nil, fmt.Errorf("bad_access_key: there is no access key in %s", file)
	}
	if len(flags) > 0 && len(keys) == 0 { // an empty environment variable must not open the server to everybody
		return nil, errors.New("bad_access_key: --access-key is empty; omit it to serve without keys")
	}
	return keys, nil
}

// CheckAddress returns an error for an address that other machines can reach. It returns nil if
// meant is set: access keys are required, or open access is intended.
func CheckAddress(addr string, meant bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("bad_address: --addr is HOST:PORT: %w", err)
	}
	ip := net.ParseIP(host)
	if meant || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("open_to_all: other machines can reach %s; give --access-key ID:SECRET, or --no-auth to allow access without keys", addr)
}

// Timeouts of a connection. Idle connections stay open longer than any SDK keeps them, so that a
// client does not send on a closed one.
const (
	grace            = 10 * time.Second // for running requests at shutdown
	readHeaderWithin = 10 * time.Second
	readWithin       = 2 * time.Minute
	writeWithin      = 4 * time.Minute
	idleWithin       = 10 * time.Minute
	maxHeader        = 64 << 10
)

// Serve serves until ctx ends, then waits for the running requests.
func Serve(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger) error {
	web := &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderWithin, ReadTimeout: readWithin, WriteTimeout: writeWithin, IdleTimeout: idleWithin,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := web.Shutdown(rest)
	if err != nil { // abort requests that would outlive the database
		err = errors.Join(err, web.Close())
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// newRegistry returns the metrics of the process, of the capacity used, and of the engine.
func newRegistry(db *engine.DB) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(processCollectors()...)
	registry.MustRegister(newCapacityCollector(db))
	registry.MustRegister(gauges.Engine(db)...)
	return registry
}
