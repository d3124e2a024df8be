package exports

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics/internal/dimension"
	"github.com/onefold/onefold/analytics/internal/tally"
)

// table returns an export of one file.
func table(name, content string) *Export {
	return OpenCSV(name, strings.NewReader(content), int64(len(content)))
}

// sums adds up what an export counts, by day, dimension and value. It reads the given parts of the
// days.
func sums(t *testing.T, e *Export, parts ...[2]string) (map[string]Fact, *Contents) {
	t.Helper()
	c, err := e.Inspect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if parts == nil {
		parts = [][2]string{{c.From, c.To}}
	}
	all := map[string]Fact{}
	r := e.Reader(t.Context(), nil)
	defer r.Close()
	for _, p := range parts {
		err := r.Days(p[0], p[1], func(f Fact) error {
			key := fmt.Sprintf("%s %s %s", f.Day, f.Dimension, f.Value)
			if f.Rest {
				key += rest
			}
			sum := all[key]
			sum.Visitors += f.Visitors
			sum.Count = sum.Count.Plus(f.Count)
			all[key] = sum
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, c
}

// written returns the counts, one per line.
func written(all map[string]Fact) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		f := all[key]
		fmt.Fprintf(&b, "%s:", key)
		for _, n := range []struct {
			name string
			n    int64
		}{{"visitors", f.Visitors}, {"visits", f.Count.Visits}, {"views", f.Count.PageViews}, {"bounces", f.Count.Bounces}, {"seconds", f.Count.Seconds},
			{"events", f.Count.Events}, {"engaged", f.Count.EngagedMS}, {"depths", f.Count.Scrolls}, {"depth", f.Count.Scroll}} {
			if n.n != 0 {
				fmt.Fprintf(&b, " %d %s", n.n, n.name)
			}
		}
		if f.Count.Revenue != "" {
			fmt.Fprintf(&b, " %s revenue", f.Count.Revenue)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The sums of each Plausible table match those of its file, as added up by encoding/csv alone.
func TestPlausibleAddsUp(t *testing.T) {
	e, err := Open("testdata/plausible")
	if err != nil {
		t.Fatal(err)
	}
	all, c := sums(t, e)
	if c.Format != Plausible || c.From != "2024-01-01" || c.To != "2024-01-03" || c.Malformed != 0 || len(c.Tables) != 10 {
		t.Errorf("%+v", c)
	}
	byDimension := map[Dimension]Fact{}
	for key, f := range all {
		d := Dimension(strings.Fields(key)[1])
		sum := byDimension[d]
		sum.Visitors += f.Visitors
		sum.Count = sum.Count.Plus(f.Count)
		byDimension[d] = sum
	}
	for file, of := range map[string][]Dimension{
		"visitors": {Totals}, "sources": {"channel"}, "entry_pages": {"entry_page"}, "exit_pages": {"exit_page"}, "pages": {"page", PageTotals},
		"devices": {"device"}, "browsers": {"browser"}, "locations": {"country"}, "custom_events": {"event", EventTotals},
	} {
		want := oracle(t, file)
		for _, d := range of {
			got := byDimension[d]
			switch d {
			case PageTotals:
				want = Fact{Count: tally.Count{EngagedMS: want.Count.EngagedMS}}
			case Totals:
			default:
				got.Visitors = want.Visitors // visitors are not kept by value
			}
			if got != want {
				t.Errorf("%s of imported_%s: %+v, the file has %+v", d, file, got, want)
			}
		}
	}
	for _, line := range []string{
		"2024-01-01 browser Chrome: 114 visits 250 views 70 bounces 20000 seconds\n", // all versions together
		"2024-01-01 browser Edge: 20 visits", "2024-01-01 os macOS: 70 visits", "2024-01-01 device desktop: 121 visits",
		"2024-01-01 source Google: 25 visits", "2024-01-01 channel Organic Search: 25 visits", "2024-01-01 channel Direct: 64 visits",
		"2024-01-01 channel Email: 42 visits", "2024-01-01 channel Referral: 3 visits", "2024-01-01 utm_campaign spring, \"early\": 42 visits",
		"2024-01-01 referrer github.com/example/project: 3 visits", "2024-01-01 city geonames:2929831: 84 visits",
		"2024-01-01 event outbound: 2 events", "2024-01-01 outbound https://one.example.com/: 2 events", "2024-01-02 download https://example.com/a.pdf: 4 events",
		"2024-01-01 not_found /no-such-page: 1 events", "2024-01-02 event Signup: 3 events", "2024-01-02 total_event : 7 events\n",
		"2024-01-01 page /: 120 visits 200 views 3000000 engaged 100 depths 6000 depth\n", "2024-01-03 page /Ünïcode: 128 visits",
		"2024-01-03 source =HYPERLINK(\"http://evil.example\"): 128 visits", // kept as it is; writers of CSV make it harmless
	} {
		if !strings.Contains(written(all), line) {
			t.Errorf("nothing says %q in\n%s", line, written(all))
		}
	}
}

// oracle adds up the columns of a file.
func oracle(t *testing.T, file string) (f Fact) {
	t.Helper()
	raw, err := os.ReadFile("testdata/plausible/imported_" + file + "_20240101_20240103.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		if slices.Contains(row, "engagement") {
			continue // a measurement, not an event
		}
		for i, name := range rows[0] {
			n, _ := strconv.ParseInt(row[i], 10, 64) // 0 for columns that are not numbers
			switch name {
			case "visitors":
				f.Visitors += n
			case "visits", "entrances", "exits":
				f.Count.Visits += n
			case "pageviews":
				f.Count.PageViews += n
			case "bounces":
				f.Count.Bounces += n
			case "visit_duration":
				f.Count.Seconds += n
			case "events":
				f.Count.Events += n
			case "total_scroll_depth":
				f.Count.Scroll += n
			case "total_scroll_depth_visits":
				f.Count.Scrolls += n
			case "total_time_on_page":
				f.Count.EngagedMS += 1000 * n
			}
		}
	}
	return f
}

func TestGA4(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"as the API names them": {"date,totalUsers,activeUsers,sessions,screenPageViews,engagedSessions,averageSessionDuration,userEngagementDuration,totalRevenue\n20240310,12,11,20,50,15,12.5,100,9.990\n",
			"2024-03-10 total : 12 visitors 20 visits 50 views 5 bounces 250 seconds 100000 engaged 9.99 revenue\n"},
		"as a page names them": {"# ----------------------------------------\n# Free form 1\n# Shop - \"GA4\"\n# 20240101-20240102\n# ----------------------------------------\n\nDate,Active users,Sessions,Views,Bounce rate,Key events,Totals\n,30,41,90,0.5,2,Grand total\n20240101,10,20,40,25%,1\n20240102,20,21,50,0.3333,1\n",
			"2024-01-01 total : 10 visitors 20 visits 40 views 5 bounces\n2024-01-02 total : 20 visitors 21 visits 50 views 7 bounces\n"},
		"as Looker writes": {"\xef\xbb\xbfDate,Session source,Sessions,Views,Average session duration\n\"Jan 5, 2024\",google,\"1,234\",\"2,000\",00:01:00\n\"Jan 5, 2024\",(direct),5,6,00:00:30\n\"Jan 5, 2024\",(other),7,8,\n",
			"2024-01-05 source (other): 7 visits 8 views\n2024-01-05 source Google: 1234 visits 2000 views 74040 seconds\n"},
		"numbered days": {"# Start date: 20240130\n# End date: 20240201\n\nNth day,Active users\n0000,4\n0002,6\n\n# ---\n# Start date: 20240130\n\nNth day,Views\n0000,9\n\nChannel,Sessions\nDirect,3\n",
			"2024-01-30 total : 4 visitors 9 views\n2024-02-01 total : 6 visitors\n"},
		"events": {"date,eventName,eventCount,totalUsers\n20240101,page_view,100,5\n20240101,session_start,50,5\n20240101,sign_up,3,2\n20240101,file_download,2,2\n",
			"2024-01-01 event download: 2 events\n2024-01-01 event sign_up: 3 events\n2024-01-01 total_event : 5 events\n"},
		"pages": {"date,pagePathPlusQueryString,screenPageViews,userEngagementDuration\n20240101,/a?x=1,3,4\n20240101,/a?x=2,5,6\n20240101,(not set),1,1\n",
			"2024-01-01 page /a: 8 views 10000 engaged\n2024-01-01 total_page : 11000 engaged\n"},
		"events without a name": {"date,eventName,eventCount\n20240101,(not set),3\n20240101,(other),4\n20240101,sign_up,5\n",
			"2024-01-01 event (other): 7 events\n2024-01-01 event sign_up: 5 events\n2024-01-01 total_event : 12 events\n"},
		"countries": {"date,country,sessions\n2024-01-01,Germany,3\n2024-01-01,United States,4\n2024-01-01,Türkiye,2\n2024-01-01,(not set),9\n2024-01-01,Atlantis,1\n",
			"2024-01-01 country Atlantis: 1 visits\n2024-01-01 country DE: 3 visits\n2024-01-01 country TR: 2 visits\n2024-01-01 country US: 4 visits\n"},
		"media are no tags": {"date,sessionMedium,sessions\n20240101,organic,3\n20240101,referral,3\n20240101,(none),3\n20240101,newsletter,4\n",
			"2024-01-01 utm_medium newsletter: 4 visits\n"},
		"channels":           {"date,sessionDefaultChannelGroup,sessions\n20240101,Organic Search,3\n20240101,Cross-network,2\n", "2024-01-01 channel Organic Search: 3 visits\n2024-01-01 channel Paid Other: 2 visits\n"},
		"fewer visits":       {"date,sessions,engagedSessions\n20240101,3,4\n", "2024-01-01 total : 3 visits\n"},
		"malformed left out": {"date,sessions\n20240101,3\n20240102,-4\n20240103,NaN\n20240104,1e300\n20240105,Inf\n20240106,0x10\n2024-13-01,5\n19691231,5\n20240107\n20240108,\"2\n", "2024-01-01 total : 3 visits\n"},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := sums(t, table("report.csv", c.content))
			if got := written(all); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// A row measures its dimension, whether or not it has a value. Plausible has no rows for visits
// without a place. So its table of places measures each day of its own export, and no day of
// another export.
func TestMeasured(t *testing.T) {
	const (
		visitors = "date,visitors,pageviews,bounces,visits,visit_duration\n"
		places   = "date,country,region,city,visitors,visits,visit_duration,bounces,pageviews\n"
		browsers = "date,browser,visitors,visits,visit_duration,bounces,pageviews\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"Google": {map[string]string{
			"totals.csv":    "date,sessions\n20240101,3\n20240102,3\n20240103,3\n",
			"countries.csv": "date,country,sessions\n20240101,(not set),3\n20240103,Germany,3\n20240104,Germany,many\n",
			"media.csv":     "date,sessionMedium,sessions\n20240101,organic,3\n",
			"events.csv":    "date,eventName,eventCount\n20240105,page_view,3\n",
		}, "2024-01-01: utm_medium country, 2024-01-02:, 2024-01-03: country, "},
		"Plausible": {map[string]string{
			"a.csv": visitors + "2024-01-01,1,1,1,1,1\n2024-01-02,1,1,1,1,1\n2024-01-04,1,1,1,1,1\n",
			"b.csv": places + "2024-01-02,DE,,0,1,1,1,1,1\n",
			"c.csv": browsers + "2024-01-01,,1,1,1,1,1\n2024-01-02,Firefox,1,1,1,1,1\n",
		}, "2024-01-01: country region city browser, 2024-01-02: country region city browser, 2024-01-04: country region city, "},
		"two exports": {map[string]string{
			"a.csv": visitors + "2024-01-01,1,1,1,1,1\n2024-01-02,1,1,1,1,1\n",
			"b.csv": visitors + "2024-01-03,1,1,1,1,1\n2024-01-04,1,1,1,1,1\n",
			"c.csv": places + "2024-01-03,DE,,0,1,1,1,1,1\n",
		}, "2024-01-01:, 2024-01-02:, 2024-01-03: country region city, 2024-01-04: country region city, "},
		"no place at all": {map[string]string{
			"a.csv": visitors + "2024-01-01,1,1,1,1,1\n", "b.csv": places,
		}, "2024-01-01:, "},
	} {
		_, contents := sums(t, archive(t, c.files))
		var got strings.Builder
		for _, day := range contents.Days() {
			fmt.Fprintf(&got, "%s:", day)
			for _, d := range contents.Measured(day) {
				fmt.Fprintf(&got, " %s", d)
			}
			got.WriteString(", ")
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", name, got.String(), c.want)
		}
	}
	_, c := sums(t, table("x.csv", "date,country,sessions\n20240101,(not set),3\n"))
	if !slices.Equal(c.Dimensions(), []Dimension{dimension.Country}) || c.From != "2024-01-01" {
		t.Errorf("%+v", c)
	}
}

// Every malformed row is counted, and the first ones are shown with their line numbers.
func TestMalformedRows(t *testing.T) {
	_, c := sums(t, table("x.csv", "# a comment\n\ndate,sessions\n20240101,3\n20240102,-4\nbad,1\n20240103\n20240104,\"\"1\n20240105,9999999999999\n20240106,1\n"))
	if c.Rows != 2 || c.Malformed != 5 || len(c.Shown) != 5 {
		t.Errorf("%+v", c)
	}
	for i, want := range []string{`line 5: not a count: "-4"`, `line 6: not a date on or after 1993-01-01: "bad"`, "line 7: 1 columns: want 2", "line 8: ", `line 9: not a count: "9999999999999"`} {
		if !strings.Contains(c.Shown[i], want) {
			t.Errorf("%q does not say %q", c.Shown[i], want)
		}
	}
}

func TestRefusals(t *testing.T) {
	overlapping := archive(t, map[string]string{"a.csv": "date,sessions,users\n20240101,3,2\n20240105,3,2\n", "b.csv": "date,sessions\n20240103,4\n"})
	small := table("x.csv", "date,sessions\n"+strings.Repeat("20240101,3\n", 1000))
	small.most = 5_000
	for name, c := range map[string]struct {
		e    *Export
		want error
		says string
	}{
		"empty":             {table("x.csv", ""), ErrFormat, "empty"},
		"binary":            {table("x.csv", "\x00\x01\x02\x03"), ErrFormat, ""},
		"UTF-16":            {table("x.csv", "\xff\xfed\x00a\x00"), ErrFormat, "UTF-16"},
		"no date":           {table("x.csv", "page,views\n/,3\n"), ErrFormat, "date"},
		"two dimensions":    {table("x.csv", "date,browser,country,sessions\n20240101,a,b,3\n"), ErrFormat, "one dimension"},
		"an unknown column": {table("x.csv", "date,shoe size,sessions\n20240101,43,3\n"), ErrFormat, `"shoe size"`},
		"only visitors":     {table("x.csv", "date,country,totalUsers\n20240101,Germany,3\n"), ErrFormat, "metric"}, // visitors are not kept by value
		"no metric":         {table("x.csv", "date,browser\n20240101,a\n"), ErrFormat, "metric"},
		"no start":          {table("x.csv", "Nth day,Sessions\n0000,3\n"), ErrFormat, "start date"},
		"only malformed":    {table("x.csv", "date,sessions\n20240101,many\n"), ErrFormat, "line 2"},
		"a log":             {table("x.csv", `1.2.3.4 - - [12/May/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "Mozilla"`+"\n"), ErrFormat, ""},
		"an endless quote":  {table("x.csv", "date,sessions\n20240101,\""+strings.Repeat("a\n", 1<<20)), ErrTooMuch, "line"},
		"an endless line":   {table("x.csv", "date,sessions\n"+strings.Repeat("a", 3<<20)), ErrTooMuch, "line 2"},
		"an endless header": {table("x.csv", strings.Repeat("a", 3<<20)), ErrTooMuch, "line 1"},
		"many columns":      {table("x.csv", strings.Repeat("a,", 500)+"\n1\n"), ErrFormat, "x.csv: the first line has 501 columns"},
		"too many bytes":    {small, ErrTooMuch, "bytes"},
		"the same twice":    {overlapping, ErrFormat, "a.csv and b.csv have the same counts"},
	} {
		if _, err := c.e.Inspect(t.Context(), nil); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// archive returns a zip archive of files.
func archive(t *testing.T, files map[string]string) *Export {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "export.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// An export has the same ID, however it is packed and its files are named.
func TestArchives(t *testing.T) {
	a, b := "date,sessions\n20240101,3\n", "date,browser,sessions\n20240101,Chrome,3\n"
	want, _ := sums(t, archive(t, map[string]string{"a.csv": a, "b.csv": b}))
	_, c := sums(t, archive(t, map[string]string{"a.csv": a, "b.csv": b}))
	for name, files := range map[string]map[string]string{
		"renamed, in a folder": {"deep/x.csv": b, "y.CSV": a},
		"with what is no table": {"a.csv": a, "b.csv": b, "README.txt": "no", "__MACOSX/._a.csv": "no", "../../evil.txt": "no",
			"again.csv": a}, // the same file again counts once
	} {
		got, other := sums(t, archive(t, files))
		if other.ID != c.ID || !maps.Equal(got, want) {
			t.Errorf("%s: %s, want %s:\n%s", name, other.ID, c.ID, written(got))
		}
	}
	if _, other := sums(t, archive(t, map[string]string{"a.csv": a})); other.ID == c.ID {
		t.Error("another export has the same id")
	}
}

// The unpacked size of an archive is limited by the data itself, not by what the archive declares.
func TestArchiveOfMuch(t *testing.T) {
	e := archive(t, map[string]string{"bomb.csv": "date,sessions\n" + strings.Repeat("20240101,1\n", 1_000_000)})
	e.most = 1 << 20
	if _, err := e.Inspect(t.Context(), nil); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	many := map[string]string{}
	for i := range maxFiles + 1 {
		many[fmt.Sprintf("%d.csv", i)] = ""
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name := range many {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenZip(bytes.NewReader(b.Bytes()), int64(b.Len())); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	if _, err := OpenZip(strings.NewReader("PK\x03\x04nonsense"), 12); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// Reading some days at a time gives the same as reading all at once, whatever the order of the
// rows.
func TestDaysAtATime(t *testing.T) {
	sorted := "date,sessions\n20240101,1\n20240101,2\n20240102,4\n20240104,8\n20240105,16\n"
	mixed := "date,browser,sessions\n20240104,Chrome,8\n20240101,Chrome,1\n20240105,Safari,16\n20240102,Chrome,4\n20240101,Safari,2\n"
	e := archive(t, map[string]string{"a.csv": sorted, "b.csv": mixed})
	want, _ := sums(t, e)
	for _, parts := range [][][2]string{
		{{"2024-01-01", "2024-01-01"}, {"2024-01-02", "2024-01-04"}, {"2024-01-05", "2024-01-05"}},
		{{"2024-01-01", "2024-01-02"}, {"2024-01-03", "2024-01-03"}, {"2024-01-04", "2024-01-30"}},
	} {
		if got, _ := sums(t, e, parts...); !maps.Equal(got, want) {
			t.Errorf("%v:\n%swant\n%s", parts, written(got), written(want))
		}
	}
	got, _ := sums(t, e, [2]string{"2024-01-02", "2024-01-04"})
	if written(got) != "2024-01-02 browser Chrome: 4 visits\n2024-01-02 total : 4 visits\n2024-01-04 browser Chrome: 8 visits\n2024-01-04 total : 8 visits\n" {
		t.Error(written(got))
	}
}

func TestReadingStops(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	if _, err := table("x.csv", "date,sessions\n20240101,1\n").Inspect(ctx, nil); !errors.Is(err, enough) {
		t.Error(err)
	}
}

// For any file contents, there is no panic and no negative count, and reading finds what inspecting
// found.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"date,sessions\n20240101,1\n", "# Start date: 20240101\n\nNth day,Views\n0001,\"2\"\n\nx\n", "\"date\",\"visitors\",\"pageviews\",\"bounces\",\"visits\",\"visit_duration\"\n\"2024-01-01\",1,2,3,4,5\n",
		"date,source,visitors,visits,utm_medium\n2024-01-01,\"a\"\"b\",1,2,cpc\n", "date,eventName,eventCount\n20240101,\"x\ny\",3\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		e := table("x.csv", content)
		c, err := e.Inspect(t.Context(), nil)
		if err != nil {
			return
		}
		var found int64
		for _, d := range c.Days() {
			found += c.Facts(d)
		}
		r := e.Reader(t.Context(), nil)
		defer r.Close()
		err = r.Days(c.From, c.To, func(f Fact) error {
			found--
			if n := f.Count; f.Visitors < 0 || n.Visits < 0 || n.PageViews < 0 || n.Bounces < 0 || n.Seconds < 0 || n.Events < 0 || n.EngagedMS < 0 {
				t.Errorf("%+v", f)
			}
			return nil
		})
		if err != nil || found != 0 {
			t.Errorf("%v, %d facts more when inspecting", err, found)
		}
	})
}
