package webanalytics_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/seeds"
)

// exported are the columns of another program's dimensions, by those that they become. It has no tables of exit pages and utm_source.
var exported = map[string]string{
	"page": "pagePath", "entry_page": "landingPage", "source": "sessionSource", "utm_medium": "sessionMedium", "utm_campaign": "sessionCampaignName",
	"utm_term": "sessionManualTerm", "utm_content": "sessionManualAdContent", "channel": "sessionDefaultChannelGroup", "referrer": "pageReferrer",
	"country": "country", "region": "region", "city": "city", "browser": "browser", "os": "operatingSystem", "device": "deviceCategory",
	"screen": "screenResolution", "language": "language", "hostname": "hostName",
}

// tables are an export: of each dimension the rows of a table, and the totals of days.
type tables struct {
	rows map[string][]string
	days map[string]sheet
}

// someExport makes up what another program counted. Each dimension divides the visits of a day anew, and some have no value.
func someExport(r *rand.Rand, from, to string) *tables {
	x := &tables{rows: map[string][]string{"total": nil, "event": nil}, days: map[string]sheet{}}
	for _, day := range calendar.Days(from, to) {
		if r.IntN(5) == 0 && day != from && day != to {
			continue // nobody came
		}
		visits := make([]sheet, 1+r.IntN(20))
		total := sheet{Visitors: int64(1 + r.IntN(len(visits)))}
		for i := range visits {
			v := sheet{Visits: 1, PageViews: int64(1 + r.IntN(5)), Bounces: int64(r.IntN(2)), Seconds: int64(r.IntN(900))}
			v.EngagedSeconds, v.Revenue = float64(r.IntN(600)), []string{"0", "0", "12.5", "0.01", "3"}[r.IntN(5)]
			visits[i], total = v, total.plus(&v)
		}
		for dimension := range exported {
			x.divide(r, dimension, day, visits)
		}
		x.add("total", day, fmt.Sprint(total.Visitors), &total)
		for _, name := range []string{"signup", "order", "page_view"} {
			if n := r.Int64N(9); n > 0 && r.IntN(2) == 0 {
				x.rows["event"] = append(x.rows["event"], fmt.Sprintf("%s,%s,%d", day, name, n))
				if name != "page_view" { // it is no event
					total.Events += n
				}
			}
		}
		x.days[day] = total
	}
	return x
}

// divide adds the rows of a dimension and a day.
func (x *tables) divide(r *rand.Rand, dimension, day string, visits []sheet) {
	values := []string{"(not set)", "a", "b", "(other)"}
	if dimension == "page" || dimension == "entry_page" {
		values = []string{"/", "/a", "/blog/1", "(other)"}
	}
	parts := map[string]sheet{}
	for i := range visits {
		v := values[r.IntN(len(values))]
		if i == 0 { // a day without any value is left out of the dimension
			v = values[1]
		}
		parts[v] = parts[v].plus(&visits[i])
	}
	for _, v := range slices.Sorted(maps.Keys(parts)) {
		part := parts[v]
		x.add(dimension, day, v, &part)
	}
}

func (x *tables) add(table, day, value string, s *sheet) {
	row := fmt.Sprintf("%s,%s,%d,%d,%d,%.9f,%g,%s", day, value, s.Visits, s.Visits-s.Bounces, s.PageViews, float64(s.Seconds)/float64(s.Visits), s.EngagedSeconds, s.Revenue)
	x.rows[table] = append(x.rows[table], row)
}

// bring imports the tables, each by itself.
func (x *tables) bring(l *ledger) {
	l.Helper()
	for _, table := range slices.Sorted(maps.Keys(x.rows)) {
		header := "date," + exported[table] + ",sessions,engagedSessions,screenPageViews,averageSessionDuration,userEngagementDuration,totalRevenue"
		switch table {
		case "total":
			header = strings.Replace(header, ",,", ",totalUsers,", 1)
		case "event":
			header = "date,eventName,eventCount"
		}
		if len(x.rows[table]) > 0 {
			bring(l.House, table+".csv", header+"\n"+strings.Join(x.rows[table], "\n")+"\n")
		}
	}
}

// between is what was counted from one day to another.
func (x *tables) between(from, to string) (total sheet) {
	for day, s := range x.days {
		if from <= day && day <= to {
			total = total.plus(&s)
		}
	}
	return total
}

// TestImportedCountsAddUp holds answers over days that another program counted, and over those beside the site's own, against what was
// exported and against each other.
func TestImportedCountsAddUp(t *testing.T) {
	for seed := range seeds.Each(t, 1) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := newLedger(t, "Europe/Berlin", "2026-03-28", "2026-04-05", nil)
		from, to := l.bounds()
		l.ingest(deeds(r, 60, from, to))
		x := someExport(r, "2026-01-20", "2026-04-01") // the last days are counted by both: own counts win
		x.bring(l)
		l.lacking = []string{"exit_page", "utm_source", "revenue"}
		for _, days := range [][2]string{
			{"2026-01-20", l.to}, {"2026-02-01", "2026-02-28"}, {"2026-01-25", "2026-03-10"}, {"2026-02-01", "2026-03-31"}, {"2026-03-27", "2026-03-28"}, {"2026-01-01", "2026-01-25"},
		} {
			l.foreign(x, days[0], days[1])
		}
	}
}

// foreign checks a range of days of which some were counted by another program.
func (l *ledger) foreign(x *tables, from, to string) {
	l.Helper()
	query := "from=" + from + "&to=" + to
	want := x.between(from, min(to, calendar.ShiftDay(l.from, -1)))
	l.own = ""
	if to >= l.from {
		l.own = "from=" + max(from, l.from) + "&to=" + to
		own, _ := l.totals(l.own)
		want = want.plus(&own)
	}
	total, _ := l.totals(query)
	total.EngagedSeconds, want.EngagedSeconds = milli(total.EngagedSeconds), milli(want.EngagedSeconds)
	total.Revenue, want.Revenue = amount(total.Revenue), amount(want.Revenue)
	if total != want {
		l.Errorf("%s: the total is %+v, it was %+v", query, total, want)
	}
	l.addsUp(query)
	l.addsUp(query + all)
}
