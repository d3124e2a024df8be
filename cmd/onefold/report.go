package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/table"
)

// lastDays is how many days are reported when nobody says from when.
const lastDays = 30

type reportCommand struct {
	Site   string `required:"" help:"The site."`
	From   string `help:"First day, YYYY-MM-DD, in the site's time zone. Default: 29 days before the last."`
	To     string `help:"Last day, included. Default: the last day that has statistics."`
	Period string `help:"Width of a bucket: hour, day or month." enum:"hour,day,month" default:"day"`
	By     string `help:"Dimension of the top values: ${dimensions}, or prop:NAME of a property that the site lists." default:"page"`
	Limit  int    `help:"How many top values; 0 for all." default:"10"`
	Vitals bool   `help:"Web vitals of the site, its pages and devices instead."`
}

// Validate is called by kong.
func (c *reportCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit: %d is below 0, which is all", c.Limit)
	}
	return nil
}

// Run prints the report.
func (c *reportCommand) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if err := s.worker.Drain(ctx); err != nil { // what a killed process had stored and not folded
			return err
		}
		from, to, err := analytics.RecentDays(ctx, s.table, c.Site, c.From, c.To, lastDays)
		if err != nil {
			return siteError(c.Site, err)
		}
		if c.Vitals {
			return c.vitals(ctx, std, g, s, from, to)
		}
		in := analytics.ReportIn{
			Site: c.Site, From: from, To: to,
			Period: analytics.Period(c.Period), By: analytics.Dimension(c.By), Limit: c.Limit,
		}
		report, err := analytics.Report(ctx, s.table, in)
		if err != nil {
			return siteError(c.Site, err)
		}
		if g.JSON {
			return printJSON(std.out, report)
		}
		if in.By == analytics.ByGoal {
			if err := nameGoals(ctx, s.table, c.Site, report.Top); err != nil {
				return err
			}
		}
		return printReport(std.out, &report, c.By)
	})
}

func printReport(w io.Writer, r *analytics.ReportOut, by string) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s, %s to %s (%s)\n\n", r.Site, r.From, r.To, r.TimeZone)
	printTotals(out, &r.Totals)
	if r.Totals.PageViews == 0 && r.Totals.Events == 0 && len(r.Top) == 0 {
		fmt.Fprintln(out, "\nNothing was seen in this range.")
	} else {
		printChart(out, r)
		printTop(out, r.Top, by)
	}
	if r.Imported != nil {
		fmt.Fprintf(out, "\n%s\n", r.Imported.Note)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func printTotals(out io.Writer, t *analytics.Totals) {
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "page views\tvisits\tvisitors\tviews per visit\tbounce rate\tvisit duration\tevents\t")
	perVisit, mean := "–", "–"
	if t.Visits > 0 {
		perVisit = fmt.Sprintf("%.1f", float64(t.PageViews)/float64(t.Visits))
		mean = duration(t.Seconds / t.Visits)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", grouped(t.PageViews), grouped(t.Visits), grouped(t.Visitors),
		perVisit, percent(t.Bounces, t.Visits), mean, grouped(t.Events))
	w.Flush() // into a strings.Builder, which does not fail
}

const (
	chartWidth = 50
	chartRows  = 62 // more buckets than this are drawn without the empty ones at both ends, then cut
)

// printChart draws a bar of page views for each bucket.
func printChart(out io.Writer, r *analytics.ReportOut) {
	buckets := withData(r.Buckets)
	var most int64
	for i := range buckets {
		most = max(most, buckets[i].PageViews)
	}
	if most == 0 {
		fmt.Fprintln(out, "\nNo page was viewed in this range.")
		return
	}
	fmt.Fprintf(out, "\npage views by %s\n", r.Period)
	shown := buckets[:min(len(buckets), chartRows)]
	for i := range shown {
		b := &shown[i]
		fmt.Fprintf(out, "%s  %-*s %s\n", bucketLabel(r, b.Start), chartWidth, bar(b.PageViews, most), grouped(b.PageViews))
	}
	if more := len(buckets) - len(shown); more > 0 {
		fmt.Fprintf(out, "and %d more; --json prints all, --period month draws fewer\n", more)
	}
}

// withData cuts off empty buckets at both ends.
func withData(buckets []analytics.Bucket) []analytics.Bucket {
	for len(buckets) > 0 && buckets[0].PageViews == 0 {
		buckets = buckets[1:]
	}
	for len(buckets) > 0 && buckets[len(buckets)-1].PageViews == 0 {
		buckets = buckets[:len(buckets)-1]
	}
	return buckets
}

// bucketLabel writes a bucket's start as the site's clock shows it.
func bucketLabel(r *analytics.ReportOut, start string) string {
	if r.Period != analytics.Hour {
		return start
	}
	at, err := time.Parse(time.RFC3339, start)
	zone, zoneErr := time.LoadLocation(r.TimeZone)
	if err != nil || zoneErr != nil {
		return start
	}
	return at.In(zone).Format("2006-01-02 15:04")
}

// bar draws n of most in eighths of a character.
func bar(n, most int64) string {
	const eighths = "▏▎▍▌▋▊▉█"
	cells := int(n * chartWidth * 8 / most)
	if cells == 0 && n > 0 {
		cells = 1
	}
	b := strings.Repeat("█", cells/8)
	if rest := cells % 8; rest > 0 {
		b += string([]rune(eighths)[rest-1])
	}
	return b
}

// column is a figure of the top values.
type column struct {
	name string
	of   func(*analytics.Row) string // "": nothing was counted
}

// columns are the figures that any of the rows has. Events and goals have no page views, pages no events.
func columns(top []analytics.Row, by string) []column {
	events := "events"
	if by == string(analytics.ByGoal) {
		events = "conversions"
	}
	all := []column{
		{"page views", func(r *analytics.Row) string { return orNothing(r.PageViews) }},
		{events, func(r *analytics.Row) string { return orNothing(r.Events) }},
		{"visits", func(r *analytics.Row) string { return orNothing(r.Visits) }},
		{"revenue", func(r *analytics.Row) string { return r.Revenue }},
	}
	return slices.DeleteFunc(all, func(c column) bool {
		return !slices.ContainsFunc(top, func(r analytics.Row) bool { return c.of(&r) != "" })
	})
}

func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return grouped(n)
}

func printTop(out io.Writer, top []analytics.Row, by string) {
	if len(top) == 0 {
		fmt.Fprintf(out, "\nNo %s was seen in this range.\n", strings.ReplaceAll(by, "_", " "))
		return
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	shown := columns(top, by)
	for _, c := range shown {
		fmt.Fprint(w, c.name, "\t")
	}
	fmt.Fprintln(w, "\x20 "+strings.ReplaceAll(by, "_", " "))
	for i := range top {
		for _, c := range shown {
			fmt.Fprint(w, cmp.Or(c.of(&top[i]), "0"), "\t")
		}
		fmt.Fprintln(w, "\x20 "+printable(top[i].Value))
	}
	w.Flush() // into a strings.Builder, which does not fail
}

// nameGoals puts the names of goals in place of their ids. A deleted goal keeps its id.
func nameGoals(ctx context.Context, t *table.Table, site string, top []analytics.Row) error {
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

// printable makes a value from outside safe for a terminal.
func printable(value string) string { return terminal.Printable(value) }
