package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
)

type attributionCommand struct {
	Site     string   `required:"" help:"Site ID."`
	From     string   `help:"First day, YYYY-MM-DD, in the site's time zone (default: 29 days before the last day)."`
	To       string   `help:"Last day, inclusive (default: last day with statistics)."`
	By       string   `help:"Dimension of visits, such as source, channel, utm_campaign or entry_page." default:"source"`
	Lookback int      `help:"Days before the revenue in which visits count, 1 to 90." default:"30"`
	HalfLife int      `help:"Days after which a visit counts half in the model time_decay, 1 to 90." default:"7"`
	Sort     string   `help:"Model to sort by: ${enum}." enum:"first,last,linear,time_decay" default:"linear"`
	Filter   []string `sep:"none" help:"Only revenue of visits that match dimension:op:value|value, or segment:is:NAME. Repeat for more." placeholder:"FILTER"`
	Limit    int      `help:"Number of rows; 0 for all." default:"20"`
}

// attributionOutput is the JSON form of a report.
type attributionOutput struct {
	Site    string         `json:"site"`
	From    string         `json:"from"`
	To      string         `json:"to"`
	By      string         `json:"by"`
	Revenue string         `json:"revenue"`
	Events  int64          `json:"events"`
	Known   int64          `json:"known"`
	Rows    []creditOutput `json:"rows"`
	Notes   []string       `json:"notes"`
}

type creditOutput struct {
	Value     string `json:"value"`
	Events    int64  `json:"events"`
	First     string `json:"first"`
	Last      string `json:"last"`
	Linear    string `json:"linear"`
	TimeDecay string `json:"timeDecay"`
}

// Validate checks the flags. Kong calls it.
func (c *attributionCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit must be 0 (all) or more, not %d", c.Limit)
	}
	return nil
}

// Run attributes the revenue of the range and prints it.
func (c *attributionCommand) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if err := s.worker.Drain(ctx); err != nil { // fold events that a killed process had stored
			return err
		}
		from, to, err := analytics.RecentDays(ctx, s.table, c.Site, c.From, c.To, lastDays)
		if err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		filters, err := explore.ParseFilters(c.Filter)
		if err == nil {
			filters, err = segments.Expand(ctx, s.table, c.Site, filters)
		}
		if err != nil {
			return exploreFailed(c.Site, err)
		}
		out, err := explore.New(s.table, explore.Options{}).Attribution(ctx, explore.AttributionIn{
			Range: explore.Range{Site: c.Site, From: from, To: to}, Filters: filters, By: analytics.Dimension(c.By), Lookback: c.Lookback, HalfLife: c.HalfLife,
		})
		if err != nil {
			return exploreFailed(c.Site, err)
		}
		return c.print(std, g, attributionOutput{Site: c.Site, From: from, To: to, By: c.By, Revenue: out.Revenue, Events: out.Events, Known: out.Known, Notes: out.Notes, Rows: []creditOutput{}}, out.Credits)
	})
}

func (c *attributionCommand) print(std streams, g *globals, out attributionOutput, credits []explore.Credit) error {
	explore.SortCredits(credits, explore.Model(c.Sort))
	shown := credits
	if c.Limit > 0 {
		shown = credits[:min(c.Limit, len(credits))]
	}
	for _, r := range shown {
		out.Rows = append(out.Rows, creditOutput{r.Value, r.Events, r.Revenue[explore.FirstTouch], r.Revenue[explore.LastTouch], r.Revenue[explore.Linear], r.Revenue[explore.TimeDecay]})
	}
	if g.JSON {
		return printJSON(std.out, out)
	}
	fmt.Fprintf(std.out, "%s, %s to %s: revenue %s of %d events, %d of them by identified users\n\n", out.Site, out.From, out.To, out.Revenue, out.Events, out.Known)
	w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tFIRST\tLAST\tLINEAR\tTIME DECAY\tEVENTS\n", c.By)
	for _, r := range out.Rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\n", printable(r.Value), r.First, r.Last, r.Linear, r.TimeDecay, r.Events)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more := len(credits) - len(shown); more > 0 {
		fmt.Fprintf(std.out, "and %d more; use --limit 0 to print all\n", more)
	}
	for _, note := range out.Notes {
		fmt.Fprintln(std.out, note)
	}
	return nil
}
