package traffic

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

func newGenerator(t testing.TB, o Options) *Generator {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func collect(g *Generator) []Event {
	var events []Event
	for e := range g.Events() {
		events = append(events, e)
	}
	return events
}

func TestSameOptionsSameTraffic(t *testing.T) {
	o := Options{Seed: 7, Days: 3}
	first := collect(newGenerator(t, o))
	g := newGenerator(t, o)
	for range 2 {
		if !reflect.DeepEqual(first, collect(g)) {
			t.Error("the same options gave other events")
		}
	}
	o.Seed = 8
	if reflect.DeepEqual(first, collect(newGenerator(t, o))) {
		t.Error("another seed gave the same events")
	}
	var a, b bytes.Buffer
	if err := errors.Join(g.WriteLog(&a, 5000), newGenerator(t, Options{Seed: 7, Days: 3}).WriteLog(&b, 5000)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("the same options gave another log")
	}
}

// TestVisits checks what the comment on Event.Visit promises, and the means.
func TestVisits(t *testing.T) {
	g := newGenerator(t, Options{Seed: 1, Days: 28, VisitsPerDay: 500})
	events := collect(g)
	last, lastOf, visitorOf := time.Time{}, map[int64]Event{}, map[string]Event{}
	for _, e := range events {
		if e.At.Before(last) || e.At.Before(g.o.Start) || !e.At.Before(g.o.Start.AddDate(0, 0, 28)) {
			t.Fatalf("event at %v after one at %v", e.At, last)
		}
		last = e.At
		before, again := lastOf[e.Visit]
		if again && (e.At.Sub(before.At) >= 20*time.Minute || before.VisitorIP != e.VisitorIP) {
			t.Fatalf("one visit: %+v, then %+v", before, e)
		}
		if !again && (e.Name != "" || strings.Contains(e.Referrer, g.o.Site)) || again && !strings.Contains(e.Referrer, g.o.Site) {
			t.Fatalf("visit %d, first %v: event %q with referrer %q", e.Visit, !again, e.Name, e.Referrer)
		}
		lastOf[e.Visit] = e
		other, known := visitorOf[e.VisitorIP]
		if known && other.Visit != e.Visit && (e.At.Sub(other.At) <= 30*time.Minute || other.Visitor != e.Visitor || other.UserAgent != e.UserAgent) {
			t.Fatalf("two visits of one address: %+v, then %+v", other, e)
		}
		visitorOf[e.VisitorIP] = e
	}
	visits, perVisit := float64(len(lastOf)), float64(len(events))/float64(len(lastOf))
	if math.Abs(visits-28*500) > 600 || math.Abs(perVisit-3) > 0.15 {
		t.Errorf("%g visits of %g events, want about 14,000 of 3", visits, perVisit)
	}
	if returning := 1 - float64(len(visitorOf))/visits; returning < 0.2 || returning > 0.32 {
		t.Errorf("%.0f%% of the visits are returns, want about 30%%", returning*100)
	}
}

func TestRhythm(t *testing.T) {
	var hours [24]int
	var days [7]int
	paths, custom, revenue, campaigns := map[string]int{}, 0, int64(0), 0
	events := collect(newGenerator(t, Options{Seed: 2, Days: 28}))
	for _, e := range events {
		hours[e.At.Hour()]++
		days[e.At.Weekday()]++
		revenue += e.RevenueCents
		if e.UTM.Source != "" && strings.Contains(e.Query, "utm_source="+e.UTM.Source) {
			campaigns++
		}
		if e.Name != "" {
			custom++
			continue
		}
		paths[e.Path]++
	}
	if hours[14] < 3*hours[3] {
		t.Errorf("%d at 14h and %d at 3h: no day and no night", hours[14], hours[3])
	}
	if days[time.Tuesday]*2 < days[time.Sunday]*3 {
		t.Errorf("%d on Tuesdays and %d on Sundays: no week", days[time.Tuesday], days[time.Sunday])
	}
	if share := float64(paths["/"]) / float64(len(events)); len(paths) != 200 || share < 0.1 || share > 0.3 {
		t.Errorf("%d paths, %.2f of all views on the first: want 200 and a Zipf distribution", len(paths), share)
	}
	if share := float64(custom) / float64(len(events)); share < 0.02 || share > 0.06 || revenue == 0 || campaigns == 0 {
		t.Errorf("%.3f custom events, %d cents, %d from campaigns", share, revenue, campaigns)
	}
}

var logLine = regexp.MustCompile(`^([0-9a-f.:]+) - - \[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000)\] ` +
	`"(GET|POST) (/[^" ]*) HTTP/1\.1" (\d{3}) (\d+) "([^"]+)" "([^"]+)"$`)

func TestWriteLog(t *testing.T) {
	g := newGenerator(t, Options{Seed: 3})
	const lines = 60_000
	var out bytes.Buffer
	if err := g.WriteLog(&out, lines); err != nil {
		t.Fatal(err)
	}
	n, last, days := 0, time.Time{}, map[string]int{}
	var bots, assets, views float64
	for line := range strings.Lines(out.String()) {
		n++
		m := logLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("not a line of a log: %s", line)
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		if err != nil || at.Before(last) {
			t.Fatalf("%v, %v after %v: %s", err, at, last, line)
		}
		last = at
		days[at.Format(time.DateOnly)]++
		switch {
		case !strings.HasPrefix(m[8], "Mozilla/5.0 (") || strings.Contains(m[8], "compatible;"):
			bots++
		case strings.HasPrefix(m[4], "/assets/"), strings.HasPrefix(m[4], "/images/"), m[4] == "/favicon.ico":
			assets++
		case m[3] == "GET" && (m[5] == "200" || m[5] == "304"):
			views++
		}
	}
	if n != lines || len(days) < 29 || len(days) > 31 {
		t.Errorf("%d lines on %d days, want %d on 30", n, len(days), lines)
	}
	if math.Abs(bots/lines-0.04) > 0.01 || math.Abs(assets/lines-0.05) > 0.01 || views/lines < 0.8 {
		t.Errorf("%.3f bots, %.3f assets, %.3f page views", bots/lines, assets/lines, views/lines)
	}
}

func TestWriteLogReportsTheWritersError(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("broken")
	if err := r.CloseWithError(broken); err != nil {
		t.Fatal(err)
	}
	if err := newGenerator(t, Options{}).WriteLog(w, 10); !errors.Is(err, broken) {
		t.Errorf("got %v, want the writer's error", err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, o := range []Options{
		{Days: -1}, {Days: 5000}, {VisitsPerDay: -1}, {EventsPerVisit: 0.5}, {EventsPerVisit: math.NaN()}, {Pages: 1},
		{BotShare: 0.95}, {AssetShare: math.NaN()}, {BotShare: 0.5, AssetShare: 0.5},
	} {
		if _, err := New(o); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("%+v: got %v, want ErrInvalidOptions", o, err)
		}
	}
	if err := newGenerator(t, Options{}).WriteLog(io.Discard, 0); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("a log of no lines: got %v, want ErrInvalidOptions", err)
	}
}

// TestExtremes checks the limits of the options.
func TestExtremes(t *testing.T) {
	for _, o := range []Options{
		{EventsPerVisit: 1, BotShare: -1, AssetShare: -1, Pages: 2},
		{EventsPerVisit: 50, BotShare: 0.3, AssetShare: 0.6, Pages: 5000, Days: 1},
	} {
		g := newGenerator(t, o)
		var out bytes.Buffer
		if err := g.WriteLog(&out, 20_000); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != 20_000 {
			t.Errorf("%+v: %d lines", o, n)
		}
		assets := float64(bytes.Count(out.Bytes(), []byte(" /assets/"))+bytes.Count(out.Bytes(), []byte(" /images/"))+
			bytes.Count(out.Bytes(), []byte(" /favicon.ico"))) / 20_000
		if want := max(o.AssetShare, 0); math.Abs(assets-want) > 0.1 {
			t.Errorf("%+v: %.2f assets", o, assets)
		}
	}
	for _, k := range []Kind{Company, Shop} {
		paths, kind := map[string]bool{}, k.profile()
		for i := range 5000 {
			paths[kind.pageAt(i).path] = true
		}
		if len(paths) != 5000 {
			t.Errorf("kind %d: 5,000 pages have %d paths", k, len(paths))
		}
	}
}

// Engagement is reported after each page view, for its page and before the next event, and does not
// change other events.
func TestEngagement(t *testing.T) {
	for _, kind := range []Kind{Company, Shop} {
		var without []Event
		for e := range newGenerator(t, Options{Kind: kind, Seed: 3, Days: 2}).Events() {
			without = append(without, e)
		}
		engaged, n := 0, 0
		last := map[int64]Event{}
		for e := range newGenerator(t, Options{Kind: kind, Seed: 3, Days: 2, Engagement: true}).Events() {
			before := last[e.Visit]
			last[e.Visit] = e
			if e.Name != "engagement" {
				if n < len(without) && (!e.At.Equal(without[n].At) || e.Path != without[n].Path || e.Name != without[n].Name || e.Visit != without[n].Visit) {
					t.Fatalf("event %d is %+v, without engagement %+v", n, e, without[n])
				}
				n++
				continue
			}
			engaged++
			if e.Path != before.Path || e.EngagedMS <= 0 || e.EngagedMS > e.At.Sub(before.At).Milliseconds()+1 || e.Scroll < 0 || e.Scroll > 100 {
				t.Fatalf("%+v is told after %+v", e, before)
			}
		}
		if engaged < n*9/10 || n < len(without)*99/100 {
			t.Errorf("kind %d: %d events and %d of engagement, want %d", kind, n, engaged, len(without))
		}
	}
}

// BenchmarkWriteLog measures a line of the log that importers are measured with.
func BenchmarkWriteLog(b *testing.B) {
	g := newGenerator(b, Options{Seed: 1})
	b.ReportAllocs()
	if err := g.WriteLog(io.Discard, b.N); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkEvents measures an event.
func BenchmarkEvents(b *testing.B) {
	g := newGenerator(b, Options{Seed: 1, Days: 3660, VisitsPerDay: 100_000})
	b.ReportAllocs()
	n := 0
	for range g.Events() {
		if n++; n == b.N {
			break
		}
	}
}
