package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/onefold/onefold/server/mcpserver"
)

// mcpCommand serves the Model Context Protocol on the standard streams, for AI clients that start
// programs. The tools ask a running server.
type mcpCommand struct {
	Server string `help:"URL of the server (default: ${default})." default:"http://127.0.0.1:8090" placeholder:"URL" env:"ONEFOLD_SERVER"`
	Key    string `help:"API key with scope read, of a site, a fleet, events:main or everything (*)." env:"ONEFOLD_KEY"`
}

// Run serves until the client closes the standard input.
func (c *mcpCommand) Run(ctx context.Context, std streams) error {
	client, err := mcpserver.NewClient(c.Server, c.Key, nil, nil)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	rights, err := mcpserver.RightsOf(ctx, client)
	if err != nil {
		return fmt.Errorf("the server at %s did not accept the key: %w", c.Server, err)
	}
	err = mcpserver.New(client, rights, version).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(std.in), Writer: openWriter{std.out}})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// openWriter is a writer that outlives the protocol.
type openWriter struct{ io.Writer }

// Close does nothing.
func (openWriter) Close() error { return nil }
