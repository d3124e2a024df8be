package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/demo"
	"github.com/onefold/onefold/cmd/onefold/internal/listen"
	"github.com/onefold/onefold/cmd/onefold/internal/reporttext"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/telemetry"
)

const demoEmail = "demo@example.com"

type demoCommand struct {
	listenFlags
	Seed         uint64 `help:"Seed of the generated data." default:"1"`
	VisitsPerDay int    `help:"Mean number of visits per day, over both sites." default:"450"`
	Keep         bool   `help:"Keep the directory when the demo ends."`
}

// Run fills a new directory with the last 90 days of two generated sites, a week of a device fleet
// and two weeks of a shop's orders. Then it serves them, while visitors keep arriving and devices
// keep reporting.
func (c *demoCommand) Run(ctx context.Context, std streams, g *globals) (err error) {
	free, err := listen.Near("--addr", c.Addr) // before the data is generated, which takes a while, rather than after
	if err != nil {
		return err
	}
	c.Addr = free.Addr().String()
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
	own := g.within(filepath.Join(dir, "table")) // companion files are inside the directory too, so they are removed with it
	fleet, err := demo.NewFleet(c.Seed, time.Now(), demo.FleetDays)
	if err != nil {
		return err
	}
	d := &demonstration{sites: demo.NewSites(c.Seed, c.VisitsPerDay), fleet: fleet, orders: demo.NewOrders(c.Seed, time.Now()), password: rand.Text()}
	fill := func(s *store) error { return d.fill(ctx, std, s) }
	if err := own.withStore(ctx, std.err, importTuning, fill); err != nil {
		return err
	}
	return own.withStore(ctx, std.err, tuning{memory: &c.Budget}, func(s *store) error {
		if err := d.opened(s); err != nil {
			return err
		}
		hello := func(url, token string) error { return d.hello(ctx, std, s, url, token, own.Data) }
		return c.serve(ctx, std, own, s, hello, append(d.live(), d.orders.Live(s.table))...)
	})
}

// demonstration generates traffic of its sites, readings of its fleet and events of orders. Its
// owner has a password generated for this run.
type demonstration struct {
	sites    []*demo.Site
	fleet    *demo.Fleet
	orders   *demo.Orders
	password string
}

// live returns the services that generate data while the demo is served.
func (d *demonstration) live() (all []service) {
	for _, site := range d.sites {
		all = append(all, site.Live)
	}
	return append(all, d.fleet.Live()...)
}

// opened connects the generators to a store.
func (d *demonstration) opened(s *store) error {
	d.fleet.Open(s.table)
	for _, site := range d.sites {
		if err := site.Open(s.table); err != nil {
			return err
		}
	}
	return nil
}

// fill creates the sites, the fleet and their owner, stores the generated past, and waits for the
// folds.
func (d *demonstration) fill(ctx context.Context, std streams, s *store) error {
	if err := d.opened(s); err != nil {
		return err
	}
	_, err := s.accounts.AddUser(ctx, accounts.NewUser{
		Email: demoEmail, Name: "Demo", Password: d.password, Grants: accounts.Grants{accounts.AllSites: accounts.Owner},
	})
	if err != nil {
		return err
	}
	began, sent, measured, happened := time.Now(), 0, 0, 0
	err = s.folding(ctx, func(ctx context.Context) (err error) {
		if sent, err = d.fillSites(ctx, std, s); err != nil {
			return err
		}
		if err = d.fleet.Create(ctx); err != nil {
			return err
		}
		if measured, err = d.fleet.Fill(ctx); err != nil {
			return err
		}
		if happened, err = d.orders.Fill(ctx, s.table); err != nil {
			return err
		}
		return s.worker.Drain(ctx)
	})
	for _, site := range d.sites {
		if err == nil {
			_, err = reconcile.RollUp(ctx, s.table, site.ID(), began)
		}
	}
	if err == nil {
		_, err = telemetry.RollUp(ctx, s.table)
	}
	if err == nil {
		fmt.Fprintf(std.err, "%d days, %s events of %d sites; %d days, %s readings of a fleet; %d days, %s order events; in %.1f s\n",
			demo.Days, grouped(int64(sent)), len(d.sites), demo.FleetDays, grouped(int64(measured)), demo.OrderDays, grouped(int64(happened)), time.Since(began).Seconds())
	}
	return err
}

// fillSites creates the sites and stores their traffic since demo.Days ago.
func (d *demonstration) fillSites(ctx context.Context, std streams, s *store) (sent int, err error) {
	now := time.Now().UTC()
	start := now.AddDate(0, 0, -demo.Days+1).Truncate(24 * time.Hour)
	bar := terminal.NewUnits(std.err, "day")
	defer bar.Close()
	for i, site := range d.sites {
		if err := site.Create(ctx, s.table); err != nil {
			return sent, err
		}
		n, err := site.Fill(ctx, start, now, func(at time.Time) {
			bar.Update(at.Format(time.DateOnly), i*demo.Days+int(at.Sub(start).Hours()/24), len(d.sites)*demo.Days)
		})
		if err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

// hello prints the last days of the first site, and how to use the demo.
func (d *demonstration) hello(ctx context.Context, std streams, s *store, url, token, dir string) error {
	site := d.sites[0].ID()
	today := time.Now().UTC()
	const shown = 30
	out, err := report.Make(ctx, s.table, report.Request{
		Site: site, From: today.AddDate(0, 0, -shown+1).Format(time.DateOnly), To: today.Format(time.DateOnly), Limit: 10,
	})
	if err != nil {
		return err
	}
	if err := reporttext.Print(std.out, &out, string(analytics.ByPage)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, `
Visitors keep arriving, and the devices of fleet %[7]s keep reporting: one cold room is too warm, one pump is silent.
Orders keep being placed and shipped: Events shows each as a timeline.
Read the same statistics from the API:
  curl -sH 'Authorization: Bearer %[2]s' '%[1]s/api/v1/sites/%[3]s/stats?compare=previous'
  curl -s %[1]s/healthz
Send an event of your own:
  curl -s %[1]s/api/event -H 'Content-Type: application/json' -A 'Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0' -d '{"site":"%[3]s","url":"/hello"}'
The API description is at %[1]s/openapi.json. The table is in %[4]s. Press Ctrl-C to stop.

The dashboard is at  %[1]s/
  log in as  %[5]s
  password   %[6]s   (for this run only)
`, url, token, site, dir, demoEmail, d.password, demo.FleetID)
	return err
}
