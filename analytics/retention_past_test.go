package analytics

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

// However often a retention changes, no item of a day expires before the time that the site says, and
// it says the time exactly if the retention did not change while the day was open.
func TestFirstExpiryOfChangingRetention(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		site := Site{Retention: someRetention(random)}
		var changes []PastRetention // Changed is when the retention was set
		changes = append(changes, PastRetention{site.Retention, 0})
		now := start
		for range random.IntN(6) {
			now = now.Add(time.Duration(random.IntN(80*24*3600)) * time.Second)
			was := site
			site.Retention = someRetention(random)
			site.keepRetention(&was, now)
			changes = append(changes, PastRetention{site.Retention, now.Unix()})
		}
		since := start.Add(time.Duration(random.IntN(400*24*3600)) * time.Second)
		arrivals := []time.Time{since}
		for range 30 {
			arrivals = append(arrivals, since.Add(time.Duration(random.Int64N(int64(31*24*time.Hour)))))
		}
		var first time.Time
		changing := false
		for i, at := range arrivals {
			raw := retentionAt(changes, at).Raw()
			changing = changing || i > 0 && retentionAt(changes, at.Add(5*24*time.Hour)).filled() != retentionAt(changes, since.Add(-time.Hour)).filled()
			if end := at.Add(raw); first.IsZero() || end.Before(first) {
				first = end
			}
		}
		said := site.RawUntil(since)
		if first.Before(said) || !changing && !said.Equal(first) {
			t.Fatalf("seed %d: events since %s expire from %s on, the site says %s; %+v", seed, since, first, said, changes)
		}
		if site.ShortestRaw() > said.Sub(since) {
			t.Fatalf("seed %d: the shortest lifetime is %s, but events since %s expire on %s", seed, site.ShortestRaw(), since, said)
		}
		if sealed := site.SealedAt(since); sealed.After(said) || sealed.After(since.Add(30*24*time.Hour)) {
			t.Fatalf("seed %d: a day that began on %s is sealed on %s, but its events expire on %s", seed, since, sealed, said)
		}
	}
}

func someRetention(random *rand.Rand) Retention {
	r := Retention{RawDays: []int{0, 2, 5, 10, 29, 30, 31, 100}[random.IntN(8)]}
	if random.IntN(4) == 0 {
		r.DayDays = 400
	}
	return r
}

// retentionAt returns the retention that was set at a time.
func retentionAt(changes []PastRetention, at time.Time) Retention {
	r := changes[0].Retention
	for _, c := range changes {
		if c.Changed <= at.Unix() {
			r = c.Retention
		}
	}
	return r
}

func TestPastRetentions(t *testing.T) {
	w := foldtest.NewWorld(t, foldtest.Setup{Name: "site", Schema: Schema, Group: FoldGroup, At: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC),
		Folds: func(*table.Table) []*fold.Fold { return Folds(Config{}) }})
	_, err := CreateSite(w.Ctx, w.Table, NewSite{ID: "site", Retention: Retention{RawDays: 5}})
	w.Must(err)
	change := func(r Retention) Site {
		w.Advance(24 * time.Hour)
		s, err := UpdateSite(w.Ctx, w.Table, "site", func(s *Site) error { s.Retention, s.PastRetentions = r, nil; return nil })
		w.Must(err)
		return s
	}
	if s := change(Retention{RawDays: 5, HourDays: 90}); len(s.PastRetentions) != 0 {
		t.Errorf("saying a default is a change: %+v", s.PastRetentions)
	}
	for n := range 2 * maxPastRetentions {
		change(Retention{RawDays: 10 + n, MonthDays: 1000})
	}
	s := change(Retention{})
	if n := len(s.PastRetentions); n != maxPastRetentions {
		t.Errorf("%d past retentions are kept", n)
	}
	if oldest := s.PastRetentions[0].Retention; oldest.RawDays != 5 || oldest.MonthDays != 1000 {
		t.Errorf("the oldest is %+v, want the shortest of those before it", oldest)
	}
	if s.ShortestRaw() != 5*24*time.Hour {
		t.Errorf("the shortest lifetime is %s", s.ShortestRaw())
	}
}
