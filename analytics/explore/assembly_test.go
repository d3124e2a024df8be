package explore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/seeds"
)

// Assembling events as they arrive gives the same visits as the folds store.
func TestAssembly(t *testing.T) {
	seeds.Run(t, 12, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 8))
		w := newShop(t, []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe"}[random.IntN(3)], utc("2026-04-07T12:00"))
		hits := traffic(random, utc("2026-04-04T00:00"), utc("2026-04-06T12:00"), 50+random.IntN(900))
		for i := range hits {
			switch h := &hits[i]; {
			case random.IntN(30) == 0:
				h.SessionID = fmt.Sprint("s", random.IntN(40))
			case random.IntN(20) == 0:
				h.At = h.At.Truncate(time.Hour) // many at the same time
			case random.IntN(10) == 0:
				h.Path = fmt.Sprint("/page/", random.IntN(300))
			}
		}
		w.ingest(hits...)
		assembled := 0
		for _, day := range []string{"2026-04-04", "2026-04-05", "2026-04-06"} {
			if sameColumns(w, day) {
				assembled++
			}
		}
		if assembled == 0 {
			t.Error("no day could be assembled")
		}
	})
}

// sameColumns compares the columns of a day that are built in the two ways. It returns false if
// only one way was possible.
func sameColumns(w *shop, day string) bool {
	w.Helper()
	s, err := w.x.scan(w.ctx, w.between(day, day), nil)
	w.must(err)
	from, to, err := w.cal.Bounds(day)
	w.must(err)
	visits, n, err := s.readDay(w.ctx, day, from, to)
	w.must(err)
	left := s.left.Load()
	got, err := s.assemble(w.ctx, day, from, to)
	if errors.Is(err, errNotPlain) {
		if s.left.Load() != left {
			w.Errorf("%s: %d events were taken for nothing", day, left-s.left.Load())
		}
		return false
	}
	w.must(err)
	if taken := left - s.left.Load(); got.read != n || taken != int64(n) {
		w.Errorf("%s: %d events were read and %d taken, want %d", day, got.read, taken, n)
	}
	want := columnsOf(visits, &w.x.hours, &w.x.users)
	if got, want := inWords(got), inWords(want); !slices.Equal(got, want) {
		w.Errorf("%s:\nis     %q\nshould %q", day, got, want)
	}
	return true
}

// inWords describes all columns as text, by visitor, independent of the order of visitors.
func inWords(d *columns) []string {
	people := map[uint32]string{}
	for v, who := range d.visitor {
		people[who] += visitInWords(d, v)
	}
	for _, s := range d.scrolls {
		people[d.visitor[s.visit]] += fmt.Sprintf("\nscroll %d: %s %d", int(s.visit)-slices.Index(d.visitor, d.visitor[s.visit]), d.path.values[s.page], s.percent)
	}
	var all []string
	for _, text := range people {
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func visitInWords(d *columns, v int) string {
	text := fmt.Sprintf("\nvisit %d %t %s %d", d.seconds[v], d.bounced[v], d.started.text(v), d.userOf(v))
	for _, of := range visits.Dimensions {
		text += fmt.Sprintf(" %s=%s", of.Name, d.one[of.Name].text(v))
	}
	for i, end := d.goals.of(v); i < end; i++ {
		text += fmt.Sprintf(" goal %s %d %s", d.goals.goal.text(i), d.goals.count[i], d.goals.revenue.text(i))
	}
	for e, end := d.events(v); e < end; e++ {
		text += fmt.Sprintf("\n\t%d %s %q %s %s %d %t", d.at[e], d.hour.text(e), d.name.text(e), d.path.text(e), d.revenue.text(e), d.engagedOf(e), d.isSilent(e))
		var props []string
		if d.properties.first != nil {
			for i := d.properties.first[e]; i < d.properties.first[e+1]; i++ {
				props = append(props, d.properties.name.text(int(i))+"="+d.properties.value.text(int(i)))
			}
		}
		slices.Sort(props)
		text += fmt.Sprint(props)
	}
	return text
}

// A day with more session IDs from the sender than a visitor's day keeps is assembled as the folds
// do it.
func TestManySenderSessionIDs(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-04-07T12:00"))
	var hits []analytics.Hit
	for i := range 60 {
		hits = append(hits, analytics.Hit{
			At: utc("2026-04-06T10:00").Add(time.Duration(i%30) * time.Minute), Imported: true, Address: "10.0.0.1", UserAgent: "test", Path: "/", SessionID: fmt.Sprint("s", i%30),
		})
	}
	w.ingest(hits...)
	if sameColumns(w, "2026-04-06") {
		t.Error("more session ids than are kept have a visit each")
	}
	s, err := w.x.scan(w.ctx, w.between("2026-04-06", "2026-04-06"), nil)
	w.must(err)
	d, err := s.day(w.ctx, "2026-04-06")
	w.must(err)
	if len(d.visitor) != 25 {
		t.Errorf("%d visits, want 24 and one of the others", len(d.visitor))
	}
}
