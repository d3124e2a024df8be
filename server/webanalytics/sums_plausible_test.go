package webanalytics_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/servertest"
)

// plausibleTable is one of Plausible's tables that divide visits.
type plausibleTable struct {
	columns string
	values  []string // of these columns
	becomes []string // dimensions
}

var plausibleTables = map[string]plausibleTable{
	"imported_sources": {
		"source,referrer,utm_source,utm_medium,utm_campaign,utm_content,utm_term",
		[]string{",,,,,,", "Google,google.com,,,,,", "news,mail.example,news,email,spring,,", ",,,,,x,tea", "GitHub,github.com/a/b,,,,,"},
		[]string{"source", "referrer", "channel", "utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"},
	},
	"imported_locations": { // visits without a location have no row
		"country,region,city", []string{"", "", "DE,DE-BW,2929831", "FR,,0", "DE,,2950159"}, []string{"country", "region", "city"},
	},
	"imported_devices":           {"device", []string{"", "Desktop", "Laptop", "Mobile"}, []string{"device"}},
	"imported_browsers":          {"browser,browser_version", []string{",", "Chrome,119.0", "Chrome,120.0", "Firefox,"}, []string{"browser"}},
	"imported_operating_systems": {"operating_system,operating_system_version", []string{",", "Mac,14.2", "Windows,11"}, []string{"os"}},
	"imported_entry_pages":       {"entry_page", []string{"/", "/a", "/blog/1"}, []string{"entry_page"}},
	"imported_exit_pages":        {"exit_page", []string{"/", "/a", "/blog/1"}, []string{"exit_page"}},
}

// plausibleHeader returns the columns of a table.
func plausibleHeader(table string) string {
	switch table {
	case "imported_visitors":
		return "date,visitors,pageviews,bounces,visits,visit_duration"
	case "imported_pages":
		return "date,page,visits,visitors,pageviews,total_time_on_page"
	case "imported_custom_events":
		return "date,name,link_url,path,visitors,events"
	}
	visits := "visits"
	switch table {
	case "imported_entry_pages":
		visits = "entrances"
	case "imported_exit_pages":
		visits = "exits"
	}
	return "date," + plausibleTables[table].columns + ",visitors," + visits + ",visit_duration,bounces,pageviews"
}

// somePlausible simulates an export of Plausible, in which some tables may be missing.
func somePlausible(r *rand.Rand, from, to string) *export {
	x := newExport()
	x.known["page"] = calendar.Span{From: from, To: to}
	missing := map[string]bool{}
	for _, table := range slices.Sorted(maps.Keys(plausibleTables)) {
		missing[table] = r.IntN(8) == 0
	}
	for _, day := range calendar.Days(from, to) {
		visits := someVisits(r)
		if len(visits) == 0 {
			continue
		}
		for _, table := range slices.Sorted(maps.Keys(plausibleTables)) {
			if !missing[table] {
				x.dividePlausible(r, table, day, visits)
			}
		}
		total := sumOf(r, visits)
		x.add("imported_visitors", "%s,%d,%d,%d,%d,%d", day, total.Visitors, total.PageViews, total.Bounces, total.Visits, total.Seconds)
		for page, part := range divide(r, []string{"/", "/a", "/b"}, visits) {
			x.add("imported_pages", "%s,%s,%d,%d,%d,%d", day, page, part.Visits, part.Visits, part.PageViews, part.Seconds)
			total.EngagedSeconds += float64(part.Seconds)
		}
		total.Events = x.plausibleEvents(r, day)
		x.days[day] = total
	}
	for table := range x.rows { // a table without rows has no information
		for _, dimension := range plausibleTables[table].becomes {
			x.known[dimension] = calendar.Span{From: from, To: to}
		}
	}
	return x
}

func (x *export) add(table, format string, values ...any) {
	x.rows[table] = append(x.rows[table], fmt.Sprintf(format, values...))
}

func (x *export) dividePlausible(r *rand.Rand, table, day string, visits []sheet) {
	for value, part := range divide(r, plausibleTables[table].values, visits) {
		if value != "" || table != "imported_locations" {
			x.add(table, "%s,%s,%d,%d,%d,%d,%d", day, value, part.Visits, part.Visits, part.Seconds, part.Bounces, part.PageViews)
		}
	}
}

// plausibleEvents adds custom events of a day, and returns their number.
func (x *export) plausibleEvents(r *rand.Rand, day string) (total int64) {
	for _, event := range []string{"Signup,,", ",,", "Outbound Link: Click,https://a.example/,", "File Download,https://a.example/x.pdf,", "404,,/gone", "engagement,,"} {
		if n := r.Int64N(9); n > 0 && r.IntN(2) == 0 {
			x.add("imported_custom_events", "%s,%s,%d,%d", day, event, n, n)
			if !strings.HasPrefix(event, "engagement") { // it measures a page
				total += n
			}
		}
	}
	return total
}

// archive returns the zip that people download.
func (x *export) archive(l *ledger) *bytes.Reader {
	l.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, table := range slices.Sorted(maps.Keys(x.rows)) {
		file, err := w.Create(table + ".csv")
		servertest.Must(l.T, err)
		_, err = io.WriteString(file, plausibleHeader(table)+"\n"+strings.Join(x.rows[table], "\n")+"\n")
		servertest.Must(l.T, err)
	}
	servertest.Must(l.T, w.Close())
	return bytes.NewReader(b.Bytes())
}

// TestPlausibleCountsAddUp does with an archive of Plausible what TestImportedCountsAddUp does with
// tables of Google.
func TestPlausibleCountsAddUp(t *testing.T) { seeds.Run(t, 1, plausibleCountsAddUp) }

func plausibleCountsAddUp(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	l := newLedger(t, "Europe/Berlin", "2026-03-28", "2026-04-05", nil)
	l.countItself(r)
	x := somePlausible(r, "2026-01-20", "2026-04-01")
	file := x.archive(l)
	e, err := exports.OpenZip(file, file.Size())
	servertest.Must(t, err)
	into, err := report.ImportInto(t.Context(), l.Table, "blog")
	servertest.Must(t, err)
	_, err = imported.Run(t.Context(), l.Table, into, e, imported.Options{})
	servertest.Must(t, err)
	l.besides(x)
}
