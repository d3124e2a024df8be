package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/internal/useragent"
)

const (
	demoDays      = 90
	demoBatch     = 500
	demoEmail     = "demo@example.com"
	liveAhead     = 3 // live traffic is that many times denser than the months before, so that something moves
	liveChunkDays = 1
)

type demoCommand struct {
	listenFlags
	Seed         uint64 `help:"Chooses one of all possible pasts." default:"1"`
	VisitsPerDay int    `help:"Mean number of visits a day, of both sites." default:"450"`
	Keep         bool   `help:"Keep the directory when the demo ends."`
}

// Run fills a fresh directory with the last 90 days of two made-up sites, then serves them while visitors keep coming.
func (c *demoCommand) Run(ctx context.Context, std streams, g *globals) (err error) {
	free, err := net.Listen("tcp", c.Addr) // a busy port is told before the past is made, not after
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
	d := &demo{sites: newDemoSites(c.Seed, c.VisitsPerDay), password: rand.Text()}
	fill := func(s *store) error { return d.fill(ctx, std, s) }
	if err := own.withStore(ctx, std.err, importTuning, fill); err != nil {
		return err
	}
	return own.withStore(ctx, std.err, tuning{}, func(s *store) error {
		if err := d.opened(s); err != nil {
			return err
		}
		hello := func(url, token string) error { return d.hello(ctx, std, s, url, token, dir) }
		services := make([]service, len(d.sites))
		for i, site := range d.sites {
			services[i] = site.live
		}
		return c.serve(ctx, std, &own, s, hello, services...)
	})
}

// demo sends made-up traffic to its sites, which an owner with a password made for this run may look at.
type demo struct {
	sites    []*demoSite
	password string
}

// opened lets the sites send to a store.
func (d *demo) opened(s *store) error {
	agents, err := useragent.New(0)
	for _, site := range d.sites {
		site.collector, site.agents = analytics.NewCollector(s.table, analytics.CollectorOptions{}), agents
	}
	return err
}

// fill makes the sites and their owner, stores the traffic from demoDays ago until now and waits for the folds.
func (d *demo) fill(ctx context.Context, std streams, s *store) error {
	if err := d.opened(s); err != nil {
		return err
	}
	_, err := s.accounts.AddUser(ctx, accounts.NewUser{
		Email: demoEmail, Name: "Demo", Password: d.password, Grants: accounts.Grants{accounts.AllSites: accounts.Owner},
	})
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	start := now.AddDate(0, 0, -demoDays+1).Truncate(24 * time.Hour)
	began := time.Now()
	bar := newDayProgress(std.err)
	defer bar.close()
	sent := 0
	err = s.folding(ctx, func(ctx context.Context) error {
		for i, site := range d.sites {
			if err := site.create(ctx, s); err != nil {
				return err
			}
			n, err := site.fill(ctx, start, now, func(at time.Time) {
				bar.update(reconcile.Progress{Day: at.Format(time.DateOnly), Done: i*demoDays + int(at.Sub(start).Hours()/24), Of: len(d.sites) * demoDays})
			})
			if err != nil {
				return err
			}
			sent += n
		}
		return s.worker.Drain(ctx)
	})
	for _, site := range d.sites {
		if err == nil {
			_, err = reconcile.RollUp(ctx, s.table, site.site.ID, now)
		}
	}
	bar.close()
	if err == nil {
		fmt.Fprintf(std.err, "%d days, %s events of %d sites in %.1f s\n", demoDays, grouped(int64(sent)), len(d.sites), time.Since(began).Seconds())
	}
	return err
}

// hello shows the days of the first site and says where to look.
func (d *demo) hello(ctx context.Context, std streams, s *store, url, token, dir string) error {
	site := d.sites[0].site.ID
	today := time.Now().UTC()
	const shown = 30
	report, err := analytics.Report(ctx, s.table, analytics.ReportIn{
		Site: site, From: today.AddDate(0, 0, -shown+1).Format(time.DateOnly), To: today.Format(time.DateOnly), Limit: 10,
	})
	if err != nil {
		return err
	}
	if err := printReport(std.out, &report, string(analytics.ByPage)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, `
The dashboard is at  %[1]s/
  log in as  %[5]s
  password   %[6]s   (of this run only)

Visitors keep coming. The API tells the same:
  curl -sH 'Authorization: Bearer %[2]s' '%[1]s/api/v1/sites/%[3]s/stats?compare=previous'
  curl -s %[1]s/healthz
Send an event of your own:
  curl -s %[1]s/api/event -H 'Content-Type: application/json' -A 'Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0' -d '{"site":"%[3]s","url":"/hello"}'
The API is described at %[1]s/openapi.json. The table is in %[4]s. Stop with Ctrl-C.
`, url, token, site, dir, demoEmail, d.password)
	return err
}
