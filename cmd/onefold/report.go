package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/cmd/onefold/internal/reporttext"
	"github.com/onefold/onefold/table"
)

// lastDays is the default length of a report in days.
const lastDays = 30

type reportCommand struct {
	Site   string `required:"" help:"Site ID."`
	From   string `help:"First day, YYYY-MM-DD, in the site's time zone (default: 29 days before the last day)."`
	To     string `help:"Last day, inclusive (default: last day with statistics)."`
	Period string `help:"Bucket width: ${enum}." enum:"hour,day,month" default:"day"`
	By     string `help:"Dimension of the breakdown: ${dimensions}, or prop:NAME for a property listed in the site's settings." default:"page"`
	Limit  int    `help:"Number of rows in the breakdown; 0 for all." default:"10"`
	Vitals bool   `help:"Print Web Vitals by site, page and device type instead."`
}

// Validate checks the flags. Kong calls it.
func (c *reportCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit must be 0 (all) or more, not %d", c.Limit)
	}
	return nil
}

// Run prints the report.
func (c *reportCommand) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if err := s.worker.Drain(ctx); err != nil { // fold events that a killed process had stored
			return err
		}
		from, to, err := analytics.RecentDays(ctx, s.table, c.Site, c.From, c.To, lastDays)
		if err != nil {
			return siteError(c.Site, err)
		}
		if c.Vitals {
			return c.vitals(ctx, std, g, s, from, to)
		}
		in := report.Request{
			Site: c.Site, From: from, To: to,
			Period: analytics.Period(c.Period), By: analytics.Dimension(c.By), Limit: c.Limit,
		}
		out, err := report.Make(ctx, s.table, in)
		if err != nil {
			return siteError(c.Site, err)
		}
		if g.JSON {
			return printJSON(std.out, out)
		}
		if in.By == analytics.ByGoal {
			if err := nameGoals(ctx, s.table, c.Site, out.Top); err != nil {
				return err
			}
		}
		return reporttext.Print(std.out, &out, c.By)
	})
}

// vitals prints the Web Vitals of the site.
func (c *reportCommand) vitals(ctx context.Context, std streams, g *globals, s *store, from, to string) error {
	out, err := report.WebVitals(ctx, s.table, report.VitalsRequest{Site: c.Site, From: from, To: to})
	if err != nil {
		return siteError(c.Site, err)
	}
	if c.Limit > 0 {
		out.Pages = out.Pages[:min(c.Limit, len(out.Pages))]
	}
	if g.JSON {
		return printJSON(std.out, out)
	}
	return reporttext.PrintVitals(std.out, &out)
}

// nameGoals replaces goal IDs by names. A deleted goal keeps its ID.
func nameGoals(ctx context.Context, t *table.Table, site string, top []report.Row) error {
	all, err := goals.List(ctx, t, site)
	if err != nil {
		return err
	}
	for i := range top {
		if g := slices.IndexFunc(all, func(g goals.Goal) bool { return g.GoalID == top[i].Value }); g >= 0 {
			top[i].Value = all[g].Name
		}
	}
	return nil
}
