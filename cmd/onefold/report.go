package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/reporttext"
	"github.com/onefold/onefold/cmd/onefold/internal/segmentcli"
	"github.com/onefold/onefold/table"
)

// lastDays is the default length of a report in days.
const lastDays = 30

type reportCommand struct {
	Site   string   `required:"" help:"Site ID."`
	From   string   `help:"First day, YYYY-MM-DD, in the site's time zone (default: 29 days before the last day)."`
	To     string   `help:"Last day, inclusive (default: last day with statistics)."`
	Period string   `help:"Bucket width: ${enum}." enum:"hour,day,month" default:"day"`
	By     string   `help:"Dimension of the breakdown: ${dimensions}, or prop:NAME for a property listed in the site's settings." default:"page"`
	Filter []string `sep:"none" help:"Only visits that match dimension:op:value|value, such as 'country:is:DE|AT' or segment:is:NAME. Repeat for more. Counted from raw events." placeholder:"FILTER"`
	Limit  int      `help:"Number of rows in the breakdown; 0 for all." default:"10"`
	Vitals bool     `help:"Print Web Vitals by site, page and device type instead."`
}

// Validate checks the flags. Kong calls it.
func (c *reportCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit must be 0 (all) or more, not %d", c.Limit)
	}
	if c.Vitals && len(c.Filter) > 0 {
		return errors.New("--vitals cannot be filtered; omit --filter")
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
			return cmdenv.SiteError(c.Site, err)
		}
		if c.Vitals {
			return c.vitals(ctx, std, g, s, from, to)
		}
		in := report.Request{
			Site: c.Site, From: from, To: to,
			Period: analytics.Period(c.Period), By: analytics.Dimension(c.By), Limit: c.Limit,
		}
		out, notes, err := c.count(ctx, s, in)
		if err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		if g.JSON {
			return printJSON(std.out, out)
		}
		if in.By == analytics.ByGoal {
			if err := nameGoals(ctx, s.table, c.Site, out.Top); err != nil {
				return err
			}
		}
		if err := reporttext.Print(std.out, &out, c.By); err != nil {
			return err
		}
		for _, note := range notes {
			if _, err := fmt.Fprintln(std.out, note); err != nil {
				return err
			}
		}
		return nil
	})
}

// count counts from statistics, or with filters from raw events, and returns notes on what is missing.
func (c *reportCommand) count(ctx context.Context, s *store, in report.Request) (report.Report, []string, error) {
	if len(c.Filter) == 0 {
		out, err := report.Make(ctx, s.table, in)
		return out, nil, err
	}
	filters, err := explore.ParseFilters(c.Filter)
	if err == nil {
		filters, err = segments.Expand(ctx, s.table, c.Site, filters)
	}
	if err != nil {
		return report.Report{}, nil, exploreFailed(c.Site, err)
	}
	out, err := explore.New(s.table, explore.Options{}).Report(ctx, in, filters)
	return out.Report, out.Notes, exploreFailed(c.Site, err)
}

// exploreFailed adds stable codes to errors of questions on raw events.
func exploreFailed(site string, err error) error {
	switch {
	case errors.Is(err, explore.ErrQuestion):
		return fmt.Errorf("bad_question: %w", err)
	case errors.Is(err, explore.ErrTooMuch):
		return fmt.Errorf("too_much: %w", err)
	case errors.Is(err, explore.ErrGone):
		return fmt.Errorf("raw_events_gone: %w", err)
	case err != nil:
		return segmentcli.Explain(site, err)
	}
	return nil
}

// vitals prints the Web Vitals of the site.
func (c *reportCommand) vitals(ctx context.Context, std streams, g *globals, s *store, from, to string) error {
	out, err := report.WebVitals(ctx, s.table, report.VitalsRequest{Site: c.Site, From: from, To: to})
	if err != nil {
		return cmdenv.SiteError(c.Site, err)
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
