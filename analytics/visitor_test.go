package analytics

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/block"

	"github.com/cockroachdb/datadriven"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/internal/referral"
)

var noon = time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)

// testEvent returns a page view of a visitor. n makes it unique.
func testEvent(at time.Time, n int, path string) *Event {
	id := newULID(uint64(at.UnixMilli()), 0, uint16(n)).String()
	return &Event{EventKey: EventKey{SiteID: "site", EventID: id}, VisitorID: "visitor", Path: path}
}

// visitorOf applies events to one state, one at a time.
func visitorOf(t interface{ Fatal(...any) }, events []*Event) *Visitor {
	states := map[VisitorKey]*Visitor{}
	for _, e := range events {
		err := addToVisitor(e, func(k VisitorKey) *Visitor {
			if states[k] == nil {
				states[k] = &Visitor{VisitorKey: k}
			}
			return states[k]
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range states {
		if len(states) == 1 {
			return v
		}
	}
	t.Fatal("events of ", len(states), " visitors' days")
	return nil
}

// modelVisits defines visits, event by event and without any merging.
func modelVisits(t interface{ Fatal(...any) }, events []*Event) visits.List {
	events = slices.Clone(events)
	slices.SortFunc(events, func(a, b *Event) int { return strings.Compare(a.EventID, b.EventID) })
	owns := []string{}
	for _, e := range events {
		if e.SessionID != "" && !slices.Contains(owns, e.SessionID) {
			owns = append(owns, e.SessionID)
		}
	}
	slices.Sort(owns)
	var groups [][]*Event
	name := func(e *Event) string {
		if i := slices.Index(owns, e.SessionID); i >= visits.MaxOwn {
			return visits.OtherOwn
		}
		return e.SessionID
	}
	for _, e := range events {
		at := slices.IndexFunc(groups, func(g []*Event) bool {
			near := g[len(g)-1].ms(t)+visits.Gap.Milliseconds() > e.ms(t)
			return name(g[0]) == name(e) && (name(e) != "" || near)
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], e)
	}
	var day visits.List
	for _, g := range groups {
		day = append(day, modelVisit(t, g))
		day[len(day)-1].Own = name(g[0])
	}
	return modelPages(day, groups)
}

func (e *Event) ms(t interface{ Fatal(...any) }) int64 {
	ms, err := eventMS(e.EventID)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func modelVisit(t interface{ Fatal(...any) }, events []*Event) visits.Visit {
	first, last := events[0], events[len(events)-1]
	v := visits.Visit{Start: first.ms(t), End: last.ms(t), FirstID: first.EventID, Traits: first.Traits, Host: first.Host}
	for _, e := range events {
		zone := int64(e.ZoneMinutes) * 60
		hour := (e.ms(t)/1000+zone)/3600*3600 - zone
		if n := len(v.Hours); n == 0 || v.Hours[n-1].Hour != hour {
			v.Hours = append(v.Hours, visits.Hour{Hour: hour})
		}
		if e.UserID != "" {
			v.UserID, v.UserAt = e.UserID, e.EventID
		}
		v.Revenue = decimal.Add(v.Revenue, e.Revenue)
		for _, g := range e.Goals {
			at := slices.IndexFunc(v.Goals, func(o visits.Conversion) bool { return o.Goal == g.Goal })
			if at < 0 {
				v.Goals = append(v.Goals, visits.Conversion{Goal: g.Goal, Once: g.Once, Value: g.Value})
				at = len(v.Goals) - 1
			}
			v.Goals[at].Count++
			v.Goals[at].Revenue = decimal.Add(v.Goals[at].Revenue, g.Revenue)
		}
		if e.Name != "" {
			v.Events++
			continue
		}
		v.Hours[len(v.Hours)-1].Views++
		if v.Entry.ID == "" {
			v.Entry = visits.Landing{Path: e.Path, ID: e.EventID}
		}
		v.Exit = visits.Landing{Path: e.Path, ID: e.EventID}
	}
	slices.SortFunc(v.Goals, func(a, b visits.Conversion) int { return strings.Compare(a.Goal, b.Goal) })
	return v
}

func modelPages(day visits.List, groups [][]*Event) visits.List {
	paths := func(events []*Event) (all []string) {
		for _, e := range events {
			if e.Name == "" {
				all = append(all, e.Path)
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	listed := paths(slices.Concat(groups...))
	listed = listed[:min(len(listed), visits.MaxPages)]
	for i, g := range groups {
		for _, p := range paths(g) {
			if slices.Contains(listed, p) {
				day[i].Pages = append(day[i].Pages, p)
			}
		}
	}
	return day
}

// drawEvents generates the events of a visitor's day. Many are close together, some share a
// millisecond, and sometimes there are more session IDs or pages than there is room for.
func drawEvents(t *rapid.T) []*Event {
	minutes := rapid.SampledFrom([]int{2, 90, 700}).Draw(t, "minutes")
	owns := rapid.SampledFrom([]int{0, 1, 3, 120}).Draw(t, "owns")
	pages := rapid.SampledFrom([]int{1, 5, 400}).Draw(t, "pages")
	n := rapid.IntRange(1, 150).Draw(t, "n")
	seed := rapid.Uint64().Draw(t, "seed")
	r := rand.New(rand.NewPCG(seed, 1))
	events := make([]*Event, n)
	for i := range events {
		at := noon.Add(time.Duration(r.IntN(minutes*60)) * time.Second)
		e := testEvent(at, i, fmt.Sprintf("/%03d", r.IntN(pages)))
		if r.IntN(4) == 0 {
			e.Name, e.Path = "click", ""
		}
		if r.IntN(5) == 0 {
			e.Goals = visits.Of([]visits.Conversion{{Goal: fmt.Sprint("goal", r.IntN(3)), Once: true, Value: "1.5", Count: 1}})
		}
		if owns > 0 && r.IntN(2) == 0 {
			e.SessionID = fmt.Sprintf("own-%03d", r.IntN(owns))
		}
		if r.IntN(5) == 0 {
			e.UserID = fmt.Sprint("user-", r.IntN(3))
		}
		if r.IntN(5) == 0 {
			e.Revenue = []string{"1.5", "-0.5", "3", "0.000001"}[r.IntN(4)]
		}
		e.Source = referral.Of([]string{"", "https://news.ycombinator.com/item?id=1", "https://t.co/x"}[r.IntN(3)], referral.Address{Path: "/"}, nil)
		e.Country = []string{"DE", "FR", ""}[r.IntN(3)]
		events[i] = e
	}
	return events
}

func TestVisitsAreAFunctionOfTheSetOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		want := modelVisits(t, events)
		shuffled := rapid.Permutation(events).Draw(t, "order")

		if got := visitorOf(t, shuffled).Visits; !equalVisits(got, want) {
			t.Fatalf("one by one:\n got %+v\nwant %+v", got, want)
		}
		parts := rapid.IntRange(1, 5).Draw(t, "parts")
		merged := &Visitor{VisitorKey: visitorOf(t, events).VisitorKey}
		for i := range parts {
			var part []*Event
			for j := i; j < len(shuffled); j += parts {
				part = append(part, shuffled[j])
			}
			if len(part) > 0 {
				merged.merge(visitorOf(t, part))
			}
		}
		if !equalVisits(merged.Visits, want) {
			t.Fatalf("merged of %d parts:\n got %+v\nwant %+v", parts, merged.Visits, want)
		}
	})
}

func TestVisitorMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		if len(events) < 3 {
			return
		}
		third := len(events) / 3
		parts := [][]*Event{events[:third], events[third : 2*third], events[2*third:]}
		merge := func(order ...int) *Visitor {
			v := &Visitor{VisitorKey: visitorOf(t, events).VisitorKey}
			for _, i := range order {
				v.merge(visitorOf(t, parts[i]))
			}
			return v
		}
		want := merge(0, 1, 2)
		ofLastTwo := visitorOf(t, parts[1])
		ofLastTwo.merge(visitorOf(t, parts[2]))
		nested := visitorOf(t, parts[0])
		nested.merge(ofLastTwo)
		for _, got := range []*Visitor{merge(2, 1, 0), merge(1, 2, 0), nested} {
			if !equalVisits(got.Visits, want.Visits) || got.Arrivals != want.Arrivals {
				t.Fatalf("got %+v\nwant %+v", got, want)
			}
		}
		before := visitorOf(t, parts[1])
		untouched := visitorOf(t, parts[1])
		merged := visitorOf(t, parts[0])
		merged.merge(before)
		merged.merge(visitorOf(t, parts[2]))
		if !equalVisits(before.Visits, untouched.Visits) {
			t.Fatal("merging changed what was merged")
		}
	})
}

func equalVisits(a, b visits.List) bool {
	return slices.EqualFunc(a, b, func(x, y visits.Visit) bool { return fmt.Sprintf("%+v", x) == fmt.Sprintf("%+v", y) })
}

// TestVisits runs testdata/visits. Each line of a case is an event "hh:mm[:ss] path", which may be
// followed by own=, user=, event=, revenue=, from= and country=.
func TestVisits(t *testing.T) {
	datadriven.RunTest(t, "testdata/visits", func(t *testing.T, d *datadriven.TestData) string {
		var events []*Event
		for i, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			events = append(events, parseEvent(t, i, line))
		}
		slices.Reverse(events)
		backwards := visitorOf(t, events)
		slices.Reverse(events)
		v := visitorOf(t, events)
		if !equalVisits(v.Visits, backwards.Visits) {
			t.Fatalf("%s: the order of events matters", d.Pos)
		}
		var b strings.Builder
		for i := range v.Visits {
			printVisit(&b, &v.Visits[i])
		}
		return b.String()
	})
}

func parseEvent(t *testing.T, n int, line string) *Event {
	fields := strings.Fields(line)
	layout := "15:04:05"[:len(fields[0])]
	clock, err := time.Parse(layout, fields[0])
	if err != nil {
		t.Fatal(err)
	}
	midnight := noon.Add(-12 * time.Hour)
	e := testEvent(midnight.Add(clock.Sub(clock.Truncate(24*time.Hour))), n, "")
	for _, f := range fields[1:] {
		key, value, ok := strings.Cut(f, "=")
		switch {
		case !ok:
			e.Path = f
		case key == "own":
			e.SessionID = value
		case key == "user":
			e.UserID = value
		case key == "event":
			e.Name = value
		case key == "revenue":
			e.Revenue = value
		case key == "country":
			e.Country = value
		case key == "from":
			e.Source = referral.Of("https://"+value+"/", referral.Address{}, nil)
		default:
			t.Fatalf("unknown field %q", f)
		}
	}
	return e
}

func printVisit(b *strings.Builder, v *visits.Visit) {
	clock := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05") }
	fmt.Fprintf(b, "%s-%s", clock(v.Start), clock(v.End))
	for _, f := range []struct{ name, value string }{
		{"own", v.Own}, {"entry", v.Entry.Path}, {"exit", v.Exit.Path}, {"source", v.Source.Name}, {"country", v.Country},
		{"user", v.UserID}, {"revenue", v.Revenue}, {"pages", strings.Join(v.Pages, ",")},
	} {
		if f.value != "" {
			fmt.Fprintf(b, " %s=%s", f.name, f.value)
		}
	}
	for _, h := range v.Hours {
		fmt.Fprintf(b, " %s:%d", time.Unix(h.Hour, 0).UTC().Format("15h"), h.Views)
	}
	if v.Events > 0 {
		fmt.Fprintf(b, " events=%d", v.Events)
	}
	if v.Bounced() {
		b.WriteString(" bounced")
	}
	b.WriteString("\n")
}

// TestLargestVisitor fills a visitor's day with as much as ingest accepts: it must fit in an item.
func TestLargestVisitor(t *testing.T) {
	var events []*Event
	long := func(n, size int) string { return fmt.Sprintf("%04d%s", n, strings.Repeat("x", size-4)) }
	for i := range 2000 {
		e := testEvent(noon.Add(-12*time.Hour).Add(time.Duration(i)*43*time.Second), i, long(i, maxPath))
		if i%43 != 0 { // the others are more than visits.Gap apart
			e.SessionID = long(i, maxSessionID)
		}
		e.UserID, e.Host = long(i, maxUserID), long(i, maxHost)
		e.Revenue = fmt.Sprintf("%d.000001", 100_000_000_000_000+i)
		e.Referrer, e.Source.Name = long(i, referral.MaxReferrer), long(i, referral.MaxText)
		e.Channel = referral.ChannelOtherCampaign
		e.UTM = referral.UTM{
			Source: long(i, referral.MaxText), Medium: long(i+1e3, referral.MaxText), Campaign: long(i+2e3, referral.MaxText),
			Term: long(i+3e3, referral.MaxText), Content: long(i+4e3, referral.MaxText),
		}
		texts := make([]string, 8)
		for j := range texts {
			texts[j] = long(i+1000*j, MaxClient)
		}
		e.Client = Client{
			Country: texts[0], Region: texts[1], City: texts[2], Browser: texts[3], OS: texts[4], Device: texts[5], Screen: texts[6], Language: texts[7],
		}
		for goal := range 50 { // as many as a site may have, each with the longest ID
			e.Goals = append(e.Goals, visits.Conversion{Goal: long(goal, 64), Value: "999999999999999.999999", Count: int64(1 + i*goal), Revenue: fmt.Sprintf("%d.%06d", 100_000_000_000_000+i, goal)})
		}
		seen := *e // the same pages again and again, all day
		seen.EventID, seen.Path, seen.Goals = newULID(ulid.MustParse(e.EventID).Time(), uint64(i), 1).String(), long(i/43%visits.MaxPages, maxPath), nil
		scrolled := seen
		scrolled.EventID, scrolled.Name, scrolled.Path, scrolled.Scroll = newULID(ulid.MustParse(e.EventID).Time(), uint64(i), 2).String(), EngagementEvent, long(i, maxPath), 100
		events = append(events, e, &seen, &scrolled)
	}
	v := visitorOf(t, events)
	encoded := appendVisitor(nil, v)
	body := fold.ExampleStates("VISITOR#visitor#2026-05-12", encoded)
	t.Logf("%d visits, %d bytes, %d in a page", len(v.Visits), len(encoded), len(body))
	if len(body) > block.MaxBody {
		t.Errorf("a visitor's day takes %d bytes of a page", len(body))
	}
}
