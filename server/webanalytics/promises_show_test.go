package webanalytics_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/server/servertest"
)

// show prints what a command reads.
func (p *promise) show(d *datadriven.TestData) string {
	p.Helper()
	switch d.Cmd {
	case "events":
		return p.showEvents()
	case "sessions":
		return p.showSessions()
	case "report":
		return p.showReport(d)
	case "breakdown":
		from, to := days(d, 1)
		return p.showBreakdown(d.CmdArgs[0].Key, from, to)
	case "goals":
		return p.showGoals(days(d, 0))
	}
	p.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	return ""
}

func (p *promise) showEvents() string {
	p.Helper()
	site, err := analytics.GetSite(p.Context(), p.Table, "blog")
	servertest.Must(p.T, err)
	var rows [][]string
	for e, err := range analytics.EventsBetween(&site, time.UnixMilli(0), p.db.Now().Add(time.Hour), "").All(p.Context(), p.Table) {
		servertest.Must(p.T, err)
		at, err := e.Time()
		servertest.Must(p.T, err)
		rows = append(rows, []string{at.In(p.zone).Format("2006-01-02 15:04"), e.Path, e.Name, e.Revenue, e.UserID})
	}
	if len(rows) == 0 {
		return "no events\n"
	}
	return grid([]string{"", "path", "event", "revenue", "user"}, rows)
}

func (p *promise) showSessions() string {
	p.Helper()
	var rows [][]string
	for s, err := range analytics.RecentSessions(p.Context(), p.Table, "blog") {
		servertest.Must(p.T, err)
		clock := func(ms int64, layout string) string { return time.UnixMilli(ms).In(p.zone).Format(layout) }
		rows = append(rows, []string{clock(s.Start, "2006-01-02 15:04") + " - " + clock(s.End, "15:04"),
			s.EntryPath, s.ExitPath, fmt.Sprint(s.PageViews), number(s.Events), number(s.Conversions), s.Revenue, s.Name, s.UserID})
	}
	if len(rows) == 0 {
		return "no visits\n"
	}
	slices.Reverse(rows)
	return grid([]string{"", "entry", "exit", "page views", "events", "conversions", "revenue", "source", "user"}, rows)
}

func (p *promise) showReport(d *datadriven.TestData) string {
	p.Helper()
	from, to := days(d, 0)
	query, by := "from="+from+"&to="+to, ""
	if d.HasArg("by") {
		d.ScanArgs(p.T, "by", &by)
		query += "&period=" + by
	}
	type bucket struct {
		Start string
		sheet
	}
	a := get[struct {
		Totals  sheet
		Buckets []bucket
	}](p.Server, "/api/v1/sites/blog/stats?"+query)
	var rows [][]string
	for _, b := range a.Buckets {
		if by == "" || by == "hour" && b.sheet == (sheet{Revenue: "0"}) {
			continue
		}
		if at, err := time.Parse(calendar.HourLayout, b.Start); err == nil && by == "hour" {
			b.Start = at.In(p.zone).Format("2006-01-02 15:04-07:00")
		}
		rows = append(rows, b.figures(b.Start))
	}
	return grid(figureNames("visitors"), append(rows, a.Totals.figures("total")))
}

func (p *promise) showBreakdown(by, from, to string) string {
	p.Helper()
	type shown struct {
		ledgerRow
		ScrollDepth *float64
	}
	a := get[struct {
		Rows []shown
		None *shown
	}](p.Server, "/api/v1/sites/blog/breakdown?limit=1000&by="+url.QueryEscape(by)+"&from="+from+"&to="+to)
	if a.None != nil {
		a.Rows = append(a.Rows, *a.None)
	}
	var rows [][]string
	var total sheet
	for i := range a.Rows {
		row := a.Rows[i].complete()
		total = total.plus(&row.sheet)
		depth := ""
		if a.Rows[i].ScrollDepth != nil {
			depth = fmt.Sprintf("%.4g %%", *a.Rows[i].ScrollDepth)
		}
		rows = append(rows, append(row.figures(row.Value), depth))
	}
	rows = append(rows, append(total.figures("sum"), ""))
	for i := range rows[0] { // the dimension does not count them, or there are none
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" && row[i] != "0" }) {
			for _, row := range rows {
				row[i] = ""
			}
		}
	}
	return grid(append(figureNames(""), "scroll depth"), rows)
}

func figureNames(visitors string) []string {
	return []string{"", "page views", "visits", visitors, "bounces", "time", "engaged", "events", "conversions", "revenue"}
}

func (s *sheet) figures(of string) []string {
	return []string{of, fmt.Sprint(s.PageViews), fmt.Sprint(s.Visits), fmt.Sprint(s.Visitors), fmt.Sprint(s.Bounces),
		duration(float64(s.Seconds)), duration(s.EngagedSeconds), number(s.Events), number(s.Conversions), plainAmount(s.Revenue)}
}

func duration(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	text := time.Duration(seconds * float64(time.Second)).Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// number returns the text of n, empty for 0.
func number(n int64) string { return strings.TrimPrefix(fmt.Sprint(n), "0") }

func (p *promise) showGoals(from, to string) string {
	p.Helper()
	results, err := goals.Report(p.Context(), p.Table, "blog", from, to)
	servertest.Must(p.T, err)
	var rows [][]string
	for _, r := range results {
		rows = append(rows, []string{r.ID, fmt.Sprint(r.Conversions), fmt.Sprint(r.Visits), fmt.Sprintf("%.4g %%", 100*r.Rate), r.Revenue, map[bool]string{true: "yes"}[r.Pending]})
	}
	return grid([]string{"", "conversions", "visits", "rate", "revenue", "pending"}, rows)
}

// grid prints rows in columns. A column without a name or without values is omitted.
func grid(names []string, rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{names}, rows...) {
		line := row[0]
		for i, name := range names[1:] {
			used := slices.ContainsFunc(rows, func(r []string) bool { return r[i+1] != "" })
			if name != "" && used {
				line += "\t" + row[i+1]
			}
		}
		fmt.Fprintln(w, line)
	}
	w.Flush()
	var trimmed strings.Builder
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(&trimmed, strings.TrimRight(line, " \n"))
	}
	return trimmed.String()
}
