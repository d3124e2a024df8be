package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// healthCommand checks a server, for containers and monitors without another HTTP client.
type healthCommand struct {
	URL  string `arg:"" optional:"" help:"URL of the server (default: ${default})." default:"http://127.0.0.1:8090" env:"ONEFOLD_URL"`
	Live bool   `help:"Check liveness only: ignore an unreachable table. Use this for restart probes."`
}

// asks returns the path to request, and the status of a healthy server.
func (c *healthCommand) asks() (path, well string) {
	if c.Live {
		return "/livez", "alive"
	}
	return "/healthz", "ok"
}

const healthWithin = 5 * time.Second

// Run returns an error unless the server reports that it is healthy.
func (c *healthCommand) Run(ctx context.Context, std streams) error {
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &exitError{exitUsage, fmt.Errorf("bad_url: %q is not a server URL such as http://127.0.0.1:8090", c.URL)}
	}
	path, well := c.asks()
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, "/")+path, nil)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("bad_url: %w", err)}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no_server: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	const most = 4 << 10
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return fmt.Errorf("no_server: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("unhealthy: %s responded %s: %s", c.URL, answer.Status, text)
	}
	var said struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(text, &said); err != nil || said.Status != well { // any other server may respond 200 to this path
		return fmt.Errorf("unhealthy: the server at %s is not onefold or not healthy: %.200q", c.URL, text)
	}
	_, err = fmt.Fprintf(std.out, "%s\n", text)
	return err
}
