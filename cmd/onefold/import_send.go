package main

import (
	"context"
	"time"

	"github.com/onefold/onefold/cmd/internal/logimport"
)

// send imports into the table of a running server, which folds the events.
func (c *importCommand) send(ctx context.Context, std streams, _ *globals) (*importSummary, error) {
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	return c.sending(func(remote *logimport.Remote, summary *importSummary) error {
		return c.read(ctx, std, remote, summary)
	})
}

// followTo follows logs and sends their lines to a running server.
func (c *importCommand) followTo(ctx context.Context, std streams, g *globals) (*importSummary, error) {
	return c.sending(func(remote *logimport.Remote, summary *importSummary) error {
		return c.followAll(ctx, std, g, remote, summary)
	})
}

// sending runs work with the server, and measures it.
func (c *importCommand) sending(work func(*logimport.Remote, *importSummary) error) (*importSummary, error) {
	remote, err := logimport.NewRemote(c.Server, c.Key)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	summary := new(importSummary)
	err = work(remote, summary)
	summary.Seconds.Read = time.Since(start).Seconds()
	summary.Seconds.Total = summary.Seconds.Read
	return summary, err
}
