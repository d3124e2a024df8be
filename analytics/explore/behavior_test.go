package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
)

// deed is a behavioral filter in the form of the oracle.
type deed struct {
	scope       Scope
	not         bool
	least, most int // most < 0: any number
	days        int
	what        Filter
}

func (d *deed) filter() Filter {
	head := string(d.scope) + ".did"
	if d.not {
		head += "_not"
	}
	switch {
	case d.most >= 0:
		head += fmt.Sprintf(".%d-%d", d.least, d.most)
	case d.least != 1:
		head += fmt.Sprintf(".%d-", d.least)
	}
	if d.days > 0 {
		head += fmt.Sprintf(".%dd", d.days)
	}
	f := d.what
	f.Dimension = analytics.Dimension(head + ":" + string(f.Dimension))
	return f
}

func drawDeed(random *rand.Rand) deed {
	values := map[analytics.Dimension][]string{
		analytics.ByPage: {"/", "/a", "/blog/1", "/blog/**", "nowhere"}, analytics.ByEventName: {"signup", "order"}, analytics.ByGoal: {"blog", "buy"},
		"prop:plan": {"pro", "free"}, analytics.ByCountry: {"DE", "FR"},
	}
	dimensions := []analytics.Dimension{analytics.ByPage, analytics.ByPage, analytics.ByEventName, analytics.ByGoal, "prop:plan", analytics.ByCountry}
	d := deed{scope: []Scope{OfVisit, OfVisitor, OfUser}[random.IntN(3)], not: random.IntN(2) == 0, least: 1, most: -1}
	d.what = Filter{Dimension: dimensions[random.IntN(len(dimensions))], Op: []Op{Is, Contains, Matches}[random.IntN(3)]}
	for range 1 + random.IntN(2) {
		of := values[d.what.Dimension]
		d.what.Values = append(d.what.Values, of[random.IntN(len(of))])
	}
	switch random.IntN(3) {
	case 0:
		d.least = 2 + random.IntN(3)
	case 1:
		d.least = random.IntN(3)
		d.most = d.least + random.IntN(3)
	}
	if d.scope == OfUser && random.IntN(2) == 0 {
		d.days = 1 + random.IntN(12)
	}
	return d
}

// times counts how often a visit did something, event by event.
func (v *oracleVisit) times(what Filter) (n int) {
	if what.Dimension == analytics.ByCountry {
		if v.selects(what) {
			n = 1
		}
		return n
	}
	blog := 0
	for _, e := range v.events {
		one := &oracleVisit{v.visitor, v.day, []analytics.Event{e}}
		if !one.selects(what) {
			continue
		}
		isBlog := what.Dimension == analytics.ByGoal && e.Name == "" && strings.HasPrefix(e.Path, "/blog/")
		if isBlog { // once a visit
			blog = 1
			continue
		}
		n++
	}
	return n + blog
}

// user is that of the last event with one.
func (v *oracleVisit) user() (id string) {
	for _, e := range v.events {
		if e.UserID != "" {
			id = e.UserID
		}
	}
	return id
}

// did returns the visits that a behavior selects. all has the visits of the window as well.
func (o *oracle) did(all *oracle, d *deed, from, to string) *oracle {
	if d.days > 0 {
		from = calendar.ShiftDay(to, 1-d.days)
	}
	times := map[string]int{}
	who := func(v *oracleVisit, place int) string {
		switch d.scope {
		case OfUser:
			return v.user()
		case OfVisitor:
			return v.visitor
		}
		return fmt.Sprint(v.events[0].EventID, place)
	}
	for i := range all.visits {
		if v := &all.visits[i]; v.day >= from && v.day <= to {
			times[who(v, 0)] += v.times(d.what)
		}
	}
	out := &oracle{zone: o.zone}
	for i := range o.visits {
		v := &o.visits[i]
		if who(v, 0) == "" {
			continue
		}
		n := times[who(v, 0)]
		if (n >= d.least && (d.most < 0 || n <= d.most)) != d.not {
			out.visits = append(out.visits, *v)
		}
	}
	return out
}

// Behavioral filters select what their words say, with events of all days of the window.
func TestBehaviorAgreesWithTheOracle(t *testing.T) {
	inTwoZones(t, 400, func(w *shop, random *rand.Rand, first, to string) {
		from := calendar.ShiftDay(first, 1+random.IntN(2)) // so that windows reach further back than the range
		all, in := w.oracle(first, to), w.oracle(from, to)
		some := 0
		for n := 0; n < 12 || some == 0 && n < 200; n++ {
			d := drawDeed(random)
			filters, want := []Filter{d.filter()}, in.did(all, &d, from, to)
			if random.IntN(3) == 0 { // in a segment
				filters = []Filter{{Dimension: BySegment, Op: Is, Values: []string{"s"}, Any: [][]Filter{filters}}}
			}
			some += len(want.visits)
			w.checkFigures(want, filters, from, to)
			if got := w.countSessions(filters, from, to); got != len(want.visits) {
				w.Errorf("%d sessions, want %d", got, len(want.visits))
			}
			if w.Failed() {
				w.Fatalf("filters %v", filters)
			}
		}
		if some == 0 {
			w.Error("no filter selected anything")
		}
	})
}

// What was and what was not done add up: to all visits, or to those of identified users.
func TestDidAndDidNotAddUp(t *testing.T) {
	inTwoZones(t, 300, func(w *shop, random *rand.Rand, from, to string) {
		in := report.Request{Site: w.site.SiteID, From: from, To: to}
		for range 10 {
			d := drawDeed(random)
			sum := int64(0)
			for _, d.not = range []bool{false, true} {
				part, err := w.x.Report(w.ctx, in, []Filter{d.filter()})
				w.must(err)
				sum += part.Totals.Visits
			}
			want := int64(0)
			all := w.oracle(from, to)
			for i := range all.visits {
				if d.scope != OfUser || all.visits[i].user() != "" {
					want++
				}
			}
			if sum != want {
				w.Errorf("%v and its opposite have %d visits, want %d", d.filter(), sum, want)
			}
		}
	})
}

func TestParseBehavior(t *testing.T) {
	for text, want := range map[string]string{
		"visit.did:event:is:order":                 "visit false 1-",
		"visitor.did_not:page:is:/a|/b":            "visitor true 1-",
		"user.did.2-:event:is:order":               "user false 2-",
		"user.did_not.2-5.30d:prop:a:is:b:is:c":    "user true 2-5 30",
		"user.did.30d.-5:goal:matches:*":           "user false 0-5 30",
		"user.did.0-0:page:contains:pricing":       "user false 0-0",
		"visit.did.1000000-1000000:page:is:/":      "visit false 1000000-1000000",
		"user.did.366d:page:is:/":                  "user false 1- 366",
		"visit.did.0-:page:is:/":                   "error",
		"visit.did.3-2:page:is:/":                  "error",
		"visit.did.-:page:is:/":                    "error",
		"visit.did.1-2.3-4:page:is:/":              "error",
		"visit.did.1-.3-4:page:is:/":               "error",
		"visit.did.1-.1-:page:is:/":                "error",
		"visit.did.+2-:page:is:/":                  "error",
		"user.did.+7d:page:is:/":                   "error",
		"visit.did.7d:page:is:/":                   "error",
		"user.did.7d.8d:page:is:/":                 "error",
		"user.did.0d:page:is:/":                    "error",
		"user.did.367d:page:is:/":                  "error",
		"user.did.1-2.3d.4:page:is:/":              "error",
		"user.did.1000001-:page:is:/":              "error",
		"user.did.99999999999999999999-:page:is:/": "error",
		"user.does:page:is:/":                      "error",
		"user.did:colour:is:red":                   "error",
		"user.did:page:is_not:/":                   "error",
		"user.did:event:is:(none)":                 "error",
		"user.did:segment:is:a":                    "error",
		"user.did:visit.did:page:is:/":             "error",
		"device.did:page:is:/":                     "error",
	} {
		f, err := ParseFilter(text)
		got := "error"
		if err == nil {
			b, _, _, _ := f.Behavior()
			got = fmt.Sprintf("%s %t %d-", b.Scope, b.Not, b.Least)
			if b.Most < maxTimes*2 {
				got += fmt.Sprint(b.Most)
			}
			if b.Days > 0 {
				got += fmt.Sprint(" ", b.Days)
			}
			if f.String() != text {
				t.Errorf("%s is written %s", text, f.String())
			}
		} else if !errors.Is(err, ErrQuestion) {
			t.Error(err)
		}
		if got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}

// Days in a window that have expired are named, and what is too much is refused.
func TestWindows(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-10T12:00"))
	random := rand.New(rand.NewPCG(1, 2))
	w.ingest(traffic(random, utc("2026-04-08T00:00"), utc("2026-04-10T11:00"), 200)...)
	w.rollUp()
	w.advance(25 * 24 * time.Hour)
	w.ingest(traffic(random, utc("2026-05-02T00:00"), utc("2026-05-05T11:00"), 500)...)
	w.rollUp()
	in := report.Request{Site: "shop", From: "2026-05-03", To: "2026-05-05"}
	ask := func(texts ...string) (Report, error) {
		filters, err := ParseFilters(texts)
		w.must(err)
		return w.x.Report(w.ctx, in, filters)
	}
	out, err := ask("user.did.28d:page:contains:/")
	w.must(err)
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "identified users") {
		t.Errorf("%q", out.Notes)
	}
	w.advance(8 * 24 * time.Hour)
	out, err = ask("user.did.28d:page:contains:/")
	w.must(err)
	if !slices.ContainsFunc(out.Notes, func(n string) bool {
		return strings.Contains(n, "has expired and is unknown") && strings.Contains(n, "2026-04-08 to 2026-04-10")
	}) {
		t.Errorf("%q", out.Notes)
	}
	if _, err := ask("user.did.1d:page:is:/", "user.did.2d:page:is:/", "user.did.3d:page:is:/", "user.did.4d:page:is:/", "user.did.5d:page:is:/", "user.did.6d:page:is:/"); !errors.Is(err, ErrQuestion) {
		t.Error(err)
	}
	w.x = New(w.table, Options{Users: 3})
	if _, err := ask("user.did:page:contains:/"); !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
}

// A cached cube does not retain the counts of every user.
func TestCubesForgetUsers(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(traffic(rand.New(rand.NewPCG(1, 2)), utc("2026-05-08T00:00"), utc("2026-05-10T11:00"), 300)...)
	filters, err := ParseFilters([]string{"user.did:page:contains:/"})
	w.must(err)
	out, err := w.x.Report(w.ctx, report.Request{Site: "shop", From: "2026-05-08", To: "2026-05-10"}, filters)
	w.must(err)
	if out.Totals.Visits == 0 || len(w.x.cubes) != 1 {
		t.Fatalf("%d visits, %d cubes", out.Totals.Visits, len(w.x.cubes))
	}
	for _, c := range w.x.cubes {
		if c.scan.conditions != nil {
			t.Error("the cube retains the conditions")
		}
	}
}
