package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// rehearse reads the files and reports what an import would do. It writes nothing.
func (c *importCommand) rehearse(ctx context.Context, std streams, g *globals) (*importSummary, error) {
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	summary := &importSummary{DryRun: true}
	start := time.Now()
	defer func() {
		summary.Seconds.Read = time.Since(start).Seconds()
		summary.Seconds.Total = summary.Seconds.Read
	}()
	if c.Server != "" {
		remote, err := logimport.NewRemote(c.Server, c.Key)
		if err != nil {
			return nil, err
		}
		return summary, c.read(ctx, std, logimport.NewRehearsal(remote), summary)
	}
	s, err := c.rehearsalStore(ctx, std.err, g)
	if err != nil {
		return nil, err
	}
	taker := logimport.NewRehearsal(analytics.NewCollector(s.table, analytics.CollectorOptions{}))
	return summary, errors.Join(c.read(ctx, std, taker, summary), s.Close())
}

// rehearsalStore opens the table of the site. If the table or the site does not exist, it opens a
// table in memory with the site that an import would create.
func (c *importCommand) rehearsalStore(ctx context.Context, logs io.Writer, g *globals) (*store, error) {
	s, err := g.openStore(ctx, logs, tuning{existing: true})
	if err == nil {
		_, err = analytics.GetSite(ctx, s.table, c.Site)
		if err == nil {
			return s, nil
		}
		if closed := s.Close(); closed != nil || !errors.Is(err, table.ErrNotFound) {
			return nil, errors.Join(err, closed)
		}
	} else if !errors.Is(err, storeurl.ErrNoTable) {
		return nil, err
	}
	opened, err := storeurl.Location{}.Open(ctx, engine.Options{Logger: g.logger(logs)}, false)
	if err != nil {
		return nil, err
	}
	s = &store{Opened: opened, table: table.New(opened.API, opened.Table, table.Options{})}
	if err = logimport.EnsureSite(ctx, s.table, c.Site); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
