package analyticsbench

import (
	"context"
	"errors"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/table"
)

var countries = [...]string{"US", "DE", "FR", "GB", "ES", "IN", "BR", "JP"}

const fillBatch = 512

// fill stores visits of a site in batches, evenly spread from start to end. It calls then after
// each batch.
func fill(ctx context.Context, s *workbench.Store, site string, events, pages, batch int, start, end time.Time, then func() error) error {
	agents, err := useragent.New(0)
	if err != nil {
		return err
	}
	collector := analytics.NewCollector(s.Table, analytics.CollectorOptions{})
	v := newVisitor(1, pages)
	hits := make([]analytics.Hit, 0, batch)
	step := end.Sub(start) / time.Duration(events)
	for n := range events {
		path := v.next()
		agent := agents.Parse(v.agent)
		hits = append(hits, analytics.Hit{
			At: start.Add(time.Duration(n) * step), URL: path, Referrer: v.referrer, UserAgent: v.agent, Address: v.address,
			Imported: true, Client: analytics.Client{
				Screen: v.screen, Language: v.language, Country: countries[int(v.address[len(v.address)-1])%len(countries)],
				Browser: agent.Browser, OS: agent.OS, Device: agent.Device,
			},
		})
		if len(hits) < batch && n < events-1 {
			continue
		}
		outcomes, err := collector.Ingest(ctx, site, hits)
		if err != nil {
			return err
		}
		for i := range outcomes {
			if outcomes[i].Status != analytics.Stored {
				return errors.New("an event was not stored: " + outcomes[i].Detail)
			}
		}
		hits = hits[:0]
		if err := then(); err != nil {
			return err
		}
	}
	return nil
}

// Fill creates a site and stores events of visits, evenly spread from start to end.
func Fill(ctx context.Context, t *table.Table, site analytics.NewSite, events int, start, end time.Time) error {
	if _, err := analytics.CreateSite(ctx, t, site); err != nil {
		return err
	}
	return fill(ctx, &workbench.Store{Table: t}, site.ID, events, livePages, fillBatch, start, end, func() error { return nil })
}
