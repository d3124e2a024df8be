package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/internal/useragent"
)

const (
	demoSite      = "demo"
	demoDays      = 30
	demoBatch     = 500
	liveAhead     = 3 // live traffic is that many times denser than the month before, so that something moves
	liveChunkDays = 1
)

type demoCommand struct {
	listenFlags
	Seed         uint64 `help:"Chooses one of all possible months." default:"1"`
	VisitsPerDay int    `help:"Mean number of visits a day." default:"800"`
	Keep         bool   `help:"Keep the directory when the demo ends."`
}

// Run fills a fresh directory with the last 30 days of a made-up site, then serves it while visitors keep coming.
func (c *demoCommand) Run(ctx context.Context, std streams, g *globals) (err error) {
	free, err := net.Listen("tcp", c.Addr) // a busy port is told before the month is made, not after
	if err != nil {
		return fmt.Errorf("listen: %w; choose another with --addr", err)
	}
	if err := free.Close(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "onefold-demo-")
	if err != nil {
		return err
	}
	if !c.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	own := *g
	own.Data = dir
	return own.withStore(ctx, std.err, tuning{}, func(s *store) error {
		if _, err := analytics.CreateSite(ctx, s.table, analytics.NewSite{ID: demoSite, TimeZone: "UTC", Domains: []string{"example.com"}}); err != nil {
			return err
		}
		agents, err := useragent.New(0)
		if err != nil {
			return err
		}
		d := &demo{seed: c.Seed, visitsPerDay: c.VisitsPerDay, collector: analytics.NewCollector(s.table, analytics.CollectorOptions{}), agents: agents}
		if err := d.fill(ctx, std, s); err != nil {
			return err
		}
		hello := func(url, token string) error { return d.hello(ctx, std, s, url, token, dir) }
		return c.serve(ctx, std, &own, s, hello, d.live)
	})
}

// demo sends made-up traffic to one site.
type demo struct {
	seed         uint64
	visitsPerDay int
	collector    *analytics.Collector
	agents       *useragent.Parser
}

// fill stores the traffic from demoDays ago until now and waits for the folds.
func (d *demo) fill(ctx context.Context, std streams, s *store) error {
	now := time.Now().UTC()
	start := now.AddDate(0, 0, -demoDays+1).Truncate(24 * time.Hour)
	generator, err := traffic.New(traffic.Options{Seed: d.seed, Start: start, Days: demoDays, VisitsPerDay: d.visitsPerDay})
	if err != nil {
		return err
	}
	began := time.Now()
	bar := newDayProgress(std.err)
	defer bar.close()
	sent := 0
	err = s.folding(ctx, func(ctx context.Context) error {
		hits := make([]analytics.Hit, 0, demoBatch)
		for e := range generator.Events() {
			if e.At.After(now) {
				break
			}
			if hits = append(hits, d.hit(&e)); len(hits) < demoBatch {
				continue
			}
			if err := d.send(ctx, hits); err != nil {
				return err
			}
			sent += len(hits)
			hits = hits[:0]
			bar.update(analytics.Progress{Day: e.At.Format(time.DateOnly), Done: int(e.At.Sub(start).Hours() / 24), Of: demoDays})
		}
		sent += len(hits)
		return errors.Join(d.send(ctx, hits), s.worker.Drain(ctx))
	})
	if err != nil {
		return err
	}
	bar.close()
	fmt.Fprintf(std.err, "%d days, %s events of %q in %.1f s\n", demoDays, grouped(int64(sent)), demoSite, time.Since(began).Seconds())
	_, err = analytics.RollUp(ctx, s.table, demoSite, time.Now())
	return err
}

// live sends traffic as it happens, day after day, until ctx ends.
func (d *demo) live(ctx context.Context) error {
	for seed := d.seed + 1; ; seed++ {
		start := time.Now().UTC().Truncate(time.Second)
		generator, err := traffic.New(traffic.Options{Seed: seed, Start: start, Days: liveChunkDays, VisitsPerDay: d.visitsPerDay * liveAhead})
		if err != nil {
			return err
		}
		for e := range generator.Events() {
			if err := sleepUntil(ctx, e.At); err != nil {
				return err
			}
			if err := d.send(ctx, []analytics.Hit{d.hit(&e)}); err != nil {
				return err
			}
		}
	}
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// send stores hits; that the demo's own traffic is refused would be a fault of ours.
func (d *demo) send(ctx context.Context, hits []analytics.Hit) error {
	outcomes, err := d.collector.Ingest(ctx, demoSite, hits)
	if err != nil {
		return err
	}
	for i := range outcomes {
		if outcomes[i].Status == analytics.Rejected {
			return fmt.Errorf("demo: event refused: %s", outcomes[i].Reason)
		}
	}
	return nil
}

func (d *demo) hit(e *traffic.Event) analytics.Hit {
	agent := d.agents.Parse(e.UserAgent)
	url := e.Path
	if e.Query != "" {
		url += "?" + e.Query
	}
	h := analytics.Hit{
		EventID: ulid.MustNew(ulid.Timestamp(e.At), ulid.DefaultEntropy()).String(),
		Name:    e.Name, URL: url, Referrer: e.Referrer, UserAgent: e.UserAgent, Address: e.VisitorIP,
		Screen: e.Screen, Language: e.Language, Country: e.Country, Properties: e.Properties,
		Browser: agent.Browser, OS: agent.OS, Device: agent.Device,
	}
	if e.Currency != "" {
		h.Revenue = strconv.FormatInt(e.RevenueCents/100, 10) + "." + fmt.Sprintf("%02d", e.RevenueCents%100)
	}
	return h
}

// hello shows the month and says where to look.
func (d *demo) hello(ctx context.Context, std streams, s *store, url, token, dir string) error {
	today := time.Now().UTC()
	report, err := analytics.Report(ctx, s.table, analytics.ReportIn{
		Site: demoSite, From: today.AddDate(0, 0, -demoDays+1).Format(time.DateOnly), To: today.Format(time.DateOnly), Limit: 10,
	})
	if err != nil {
		return err
	}
	if err := printReport(std.out, &report, string(analytics.ByPage)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, `
Visitors keep coming. Look again with:
  curl -sH 'Authorization: Bearer %[2]s' '%[1]s/api/v1/sites/%[3]s/report?period=hour&by=source'
  curl -s %[1]s/healthz
Send an event of your own:
  curl -s %[1]s/api/event -H 'Content-Type: application/json' -A 'Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0' -d '{"site":"%[3]s","url":"/hello"}'
The API is described at %[1]s/openapi.json. The table is in %[4]s. Stop with Ctrl-C.
`, url, token, demoSite, dir)
	return err
}
