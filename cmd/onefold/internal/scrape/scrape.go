// Package scrape serves Prometheus metrics on their own address, for servers and workers.
package scrape

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Limits of a request for metrics.
const (
	headerTimeout = 5 * time.Second
	stopTimeout   = 2 * time.Second
	maxHeader     = 16 << 10 // bytes

	AnswerTimeout = 10 * time.Second // time limit of a handler
)

// Serve serves on a listener until ctx ends.
func Serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	s := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: AnswerTimeout + time.Second,
		MaxHeaderBytes: maxHeader,
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

// Flags configure access to a server's metrics.
type Flags struct {
	MetricsAddr      string `help:"Address to serve /metrics at instead of --addr, such as 127.0.0.1:9090." placeholder:"ADDR" env:"ONEFOLD_METRICS_ADDR"`
	MetricsToken     string `help:"Token required by /metrics, as Authorization: Bearer TOKEN, at least 16 characters (default: none required)." placeholder:"TOKEN" env:"ONEFOLD_METRICS_TOKEN"`
	MetricsTokenFile string `help:"File that holds the token of /metrics." type:"path" placeholder:"FILE" env:"ONEFOLD_METRICS_TOKEN_FILE"`
}

// maxTokenFile is the maximum size of a token file in bytes.
const maxTokenFile = 4096

// Token returns the token that /metrics requires, "" for none. Errors begin with bad_metrics_token.
func (f *Flags) Token() (string, error) {
	if f.MetricsTokenFile == "" {
		return f.MetricsToken, nil
	}
	if f.MetricsToken != "" {
		return "", errors.New("bad_metrics_token: --metrics-token and --metrics-token-file are both set: omit one of them")
	}
	text, err := os.ReadFile(f.MetricsTokenFile)
	if err != nil {
		return "", fmt.Errorf("bad_metrics_token: --metrics-token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > maxTokenFile {
		return "", fmt.Errorf("bad_metrics_token: %s contains no token of 16 to %d characters", f.MetricsTokenFile, maxTokenFile)
	}
	return token, nil
}
