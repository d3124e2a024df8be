package webanalytics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/seeds"
)

// export is what another program counted: the rows of each table, and their expected sums.
type export struct {
	rows  map[string][]string
	days  map[string]sheet
	known map[string]calendar.Span // days for which a table of the dimension is exported
}

func newExport() *export {
	return &export{rows: map[string][]string{}, days: map[string]sheet{}, known: map[string]calendar.Span{}}
}

// between returns what was counted from one day to another, as far as a dimension is known; for all
// days with "", the total.
func (x *export) between(from, to, by string) (total sheet) {
	known := x.known[by]
	for day, s := range x.days {
		if from <= day && day <= to && (by == "" || known.From <= day && day <= known.To) {
			total = total.plus(&s)
		}
	}
	return total
}

// someVisits returns the visits of a day. Many days have none, others a single visitor.
func someVisits(r *rand.Rand) []sheet {
	visits := make([]sheet, max(0, r.IntN(25)-4))
	for i := range visits {
		visits[i] = sheet{Visits: 1, PageViews: int64(1 + r.IntN(5)), Bounces: int64(r.IntN(2)), Seconds: int64(r.IntN(900))}
	}
	return visits
}

// sumOf adds up visits. Some of them have the same visitor.
func sumOf(r *rand.Rand, visits []sheet) (total sheet) {
	for i := range visits {
		total = total.plus(&visits[i])
	}
	total.Visitors = int64(1 + r.IntN(len(visits)))
	return total
}

// divide gives each visit a value. Values are drawn for each day, so that on some days no visit has
// a given one.
func divide(r *rand.Rand, values []string, visits []sheet) map[string]sheet {
	values = slices.Clone(values)
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	values = values[:1+r.IntN(len(values))]
	parts := map[string]sheet{}
	for i := range visits {
		v := values[r.IntN(len(values))]
		parts[v] = parts[v].plus(&visits[i])
	}
	return parts
}

// ga4Columns are Google's columns, by dimension. There is none for exit pages and utm_source.
var ga4Columns = map[string]string{
	"page": "pagePath", "entry_page": "landingPage", "source": "sessionSource", "utm_medium": "sessionMedium", "utm_campaign": "sessionCampaignName",
	"utm_term": "sessionManualTerm", "utm_content": "sessionManualAdContent", "channel": "sessionDefaultChannelGroup", "referrer": "pageReferrer",
	"country": "country", "region": "region", "city": "city", "browser": "browser", "os": "operatingSystem", "device": "deviceCategory",
	"screen": "screenResolution", "language": "language", "hostname": "hostName",
}

// someGA4 simulates an export of Google Analytics. Each dimension divides the visits of a day anew.
func someGA4(r *rand.Rand, from, to string) *export {
	x, all := newExport(), calendar.Days(from, to)
	for _, dimension := range slices.Sorted(maps.Keys(ga4Columns)) {
		known := calendar.Span{From: from, To: to}
		switch r.IntN(4) { // some are exported partially
		case 0:
			known.From = all[r.IntN(len(all)-30)]
		case 1:
			known.To = all[r.IntN(len(all))]
		}
		x.known[dimension] = known
	}
	for _, day := range all {
		visits := someVisits(r)
		for i := range visits {
			visits[i].EngagedSeconds, visits[i].Revenue = float64(r.IntN(600)), []string{"0", "0", "12.5", "0.01", "3"}[r.IntN(5)]
		}
		if len(visits) == 0 {
			continue
		}
		for _, dimension := range slices.Sorted(maps.Keys(ga4Columns)) {
			if known := x.known[dimension]; known.From <= day && day <= known.To {
				x.divideGA4(r, dimension, day, visits)
			}
		}
		total := sumOf(r, visits)
		x.addGA4("total", day, fmt.Sprint(total.Visitors), &total)
		for _, name := range []string{"signup", "order", "page_view", "(not set)", "(other)"} {
			if n := r.Int64N(9); n > 0 && r.IntN(2) == 0 {
				x.rows["event"] = append(x.rows["event"], fmt.Sprintf("%s,%s,%d", day, name, n))
				if name != "page_view" { // it is not a custom event
					total.Events += n
				}
			}
		}
		x.days[day] = total
	}
	return x
}

func (x *export) divideGA4(r *rand.Rand, dimension, day string, visits []sheet) {
	values := []string{"(not set)", "a", "b", "(other)"}
	switch dimension {
	case "page", "entry_page":
		values = []string{"(not set)", "/a", "/blog/1", "(other)"}
	case "utm_medium":
		values = []string{"organic", "referral", "(none)", "email"} // Google's words for no tag
	case "utm_campaign":
		values = []string{"(organic)", "(direct)", "", "spring"}
	}
	for value, part := range divide(r, values, visits) {
		x.addGA4(dimension, day, value, &part)
	}
}

func (x *export) addGA4(table, day, value string, s *sheet) {
	row := fmt.Sprintf("%s,%s,%d,%d,%d,%.9f,%g,%s", day, value, s.Visits, s.Visits-s.Bounces, s.PageViews, float64(s.Seconds)/float64(s.Visits), s.EngagedSeconds, s.Revenue)
	x.rows[table] = append(x.rows[table], row)
}

// bringGA4 imports the tables, one by one.
func (x *export) bringGA4(l *ledger) {
	l.Helper()
	for _, table := range slices.Sorted(maps.Keys(x.rows)) {
		header := "date," + ga4Columns[table] + ",sessions,engagedSessions,screenPageViews,averageSessionDuration,userEngagementDuration,totalRevenue"
		switch table {
		case "total":
			header = strings.Replace(header, ",,", ",totalUsers,", 1)
		case "event":
			header = "date,eventName,eventCount"
		}
		bring(l.Server, table+".csv", header+"\n"+strings.Join(x.rows[table], "\n")+"\n")
	}
}

// TestImportedCountsAddUp compares responses over imported days, and over those next to the site's
// own, with the export and with each other.
func TestImportedCountsAddUp(t *testing.T) { seeds.Run(t, 1, importedCountsAddUp) }

func importedCountsAddUp(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	l := newLedger(t, "Europe/Berlin", "2026-03-28", "2026-04-05", nil)
	l.countItself(r)
	x := someGA4(r, "2026-01-20", "2026-04-01") // the last days are counted by both: own counts win
	x.bringGA4(l)
	l.besides(x)
}

// countItself gives the site its own counts, from its first day on.
func (l *ledger) countItself(r *rand.Rand) {
	l.Helper()
	from, to := l.bounds()
	first := analytics.Hit{Imported: true, Address: "10.1.0.0", UserAgent: "test", At: from, URL: "https://example.com/"}
	l.ingest(append(deeds(r, 60, from, to), first))
}

// besides checks day ranges that are partly imported.
func (l *ledger) besides(x *export) {
	l.Helper()
	for _, days := range [][2]string{
		{"2026-01-20", l.to}, {"2026-02-01", "2026-02-28"}, {"2026-01-25", "2026-03-10"}, {"2026-02-01", "2026-03-31"}, {"2026-03-27", "2026-03-28"}, {"2026-01-01", "2026-01-25"},
	} {
		from, to := days[0], days[1]
		query := "from=" + from + "&to=" + to
		own := ""
		if to >= l.from {
			own = "from=" + max(from, l.from) + "&to=" + to
		}
		l.known = func(by, query string) (want sheet) {
			_, filter, filtered := strings.Cut(query, "&filter=")
			if !filtered { // there are no visits to filter
				want = x.between(from, min(to, calendar.ShiftDay(l.from, -1)), by)
			}
			if own != "" {
				ours, _ := l.totals(strings.TrimSuffix(own+"&filter="+filter, "&filter="))
				want = want.plus(&ours)
			}
			return want
		}
		total, _ := l.totals(query)
		total.EngagedSeconds, total.Revenue = milli(total.EngagedSeconds), amount(total.Revenue)
		if want := l.known("", query).plus(&sheet{}); total != want {
			l.Errorf("%s: the total is %+v, it was %+v", query, total, want)
		}
		l.addsUp(query)
		l.addsUp(query + all)
	}
}
