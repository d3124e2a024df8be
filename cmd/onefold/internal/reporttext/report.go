// Package reporttext prints reports on a terminal.
package reporttext

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// Print writes a report: totals, a bar of page views per bucket, and a breakdown by the dimension
// by.
func Print(w io.Writer, r *report.Report, by string) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s, %s to %s (%s)\n\n", r.Site, r.From, r.To, r.TimeZone)
	printTotals(out, &r.Totals)
	if r.Totals.PageViews == 0 && r.Totals.Events == 0 && len(r.Top) == 0 {
		fmt.Fprintln(out, "\nNo data in this period.")
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

func printTotals(out io.Writer, t *report.Totals) {
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "page views\tvisits\tvisitors\tviews per visit\tbounce rate\tvisit duration\tevents\t")
	perVisit, mean := "–", "–"
	if t.Visits > 0 {
		perVisit = fmt.Sprintf("%.1f", float64(t.PageViews)/float64(t.Visits))
		mean = duration(t.Seconds / t.Visits)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", terminal.Grouped(t.PageViews), terminal.Grouped(t.Visits), terminal.Grouped(t.Visitors),
		perVisit, percent(t.Bounces, t.Visits), mean, terminal.Grouped(t.Events))
	w.Flush() // cannot fail, the writer is a strings.Builder
}

const (
	chartWidth = 50
	chartRows  = 62 // if there are more buckets, empty ones at both ends are omitted, then the rest is cut
)

// printChart draws a bar of page views per bucket.
func printChart(out io.Writer, r *report.Report) {
	buckets := withData(r.Buckets)
	var most int64
	for i := range buckets {
		most = max(most, buckets[i].PageViews)
	}
	if most == 0 {
		fmt.Fprintln(out, "\nNo page views in this period.")
		return
	}
	fmt.Fprintf(out, "\npage views by %s\n", r.Period)
	shown := buckets[:min(len(buckets), chartRows)]
	for i := range shown {
		b := &shown[i]
		fmt.Fprintf(out, "%s  %-*s %s\n", bucketLabel(r, b.Start), chartWidth, bar(b.PageViews, most), terminal.Grouped(b.PageViews))
	}
	if more := len(buckets) - len(shown); more > 0 {
		fmt.Fprintf(out, "and %d more; use --json to print all, or --period month for fewer bars\n", more)
	}
}

// withData removes empty buckets at both ends.
func withData(buckets []report.Bucket) []report.Bucket {
	for len(buckets) > 0 && buckets[0].PageViews == 0 {
		buckets = buckets[1:]
	}
	for len(buckets) > 0 && buckets[len(buckets)-1].PageViews == 0 {
		buckets = buckets[:len(buckets)-1]
	}
	return buckets
}

// bucketLabel formats a bucket's start in the site's time zone.
func bucketLabel(r *report.Report, start string) string {
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

// bar draws n relative to most, in eighths of a character.
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

// column is a figure of a breakdown.
type column struct {
	name string
	of   func(*report.Row) string // "": not counted
}

// columns returns the figures that at least one row has. Events and goals have no page views, pages
// have no events.
func columns(top []report.Row, by string) []column {
	events := "events"
	if by == string(analytics.ByGoal) {
		events = "conversions"
	}
	all := []column{
		{"page views", func(r *report.Row) string { return orNothing(r.PageViews) }},
		{events, func(r *report.Row) string { return orNothing(r.Events) }},
		{"visits", func(r *report.Row) string { return orNothing(r.Visits) }},
		{"revenue", func(r *report.Row) string { return r.Revenue }},
	}
	return slices.DeleteFunc(all, func(c column) bool {
		return !slices.ContainsFunc(top, func(r report.Row) bool { return c.of(&r) != "" })
	})
}

func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return terminal.Grouped(n)
}

func printTop(out io.Writer, top []report.Row, by string) {
	if len(top) == 0 {
		fmt.Fprintf(out, "\nNo %s in this period.\n", strings.ReplaceAll(by, "_", " "))
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
		fmt.Fprintln(w, "\x20 "+terminal.Printable(top[i].Value))
	}
	w.Flush() // cannot fail, the writer is a strings.Builder
}

// percent formats part of whole in percent.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// duration formats seconds as 42s, 3m07s or 1h02m.
func duration(seconds int64) string {
	switch minutes := seconds / 60; {
	case minutes == 0:
		return strconv.FormatInt(seconds, 10) + "s"
	case minutes < 60:
		return fmt.Sprintf("%dm%02ds", minutes, seconds%60)
	default:
		return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
	}
}
