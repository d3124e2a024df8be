package telemetry

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/seeds"
)

// TestFinestResolution requests curves of any range, density and number of points. The finest step
// is chosen that fits and that is kept for the whole range, however the readings arrived. Each seed
// is a device.
func TestFinestResolution(t *testing.T) {
	for seed := range seeds.Each(t, 12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { finestResolution(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

var zones = []string{"UTC", "Europe/Berlin", "Asia/Kolkata"}

func finestResolution(t *testing.T, r *rand.Rand) {
	zone := zones[r.IntN(len(zones))]
	w := newWorld(t, zone, utc("2026-04-20T14:07"))
	w.fleet.TenMinutes = r.IntN(3) > 0
	_, err := UpdateFleet(w.Ctx, w.Table, "plant", func(f *Fleet) error { f.TenMinutes = w.fleet.TenMinutes; return nil })
	w.Must(err)
	w.c.Forget("d1")
	m := measured{world: w, random: r, zone: zone, step: []time.Duration{10 * time.Second, time.Minute, 7 * time.Minute, time.Hour, 26 * time.Hour}[r.IntN(5)]}
	m.send()
	for range 40 {
		m.ask()
	}
}

// measured is a device that measures at equal intervals, with the times of its measurements.
type measured struct {
	*world
	random   *rand.Rand
	zone     string
	step     time.Duration
	at       []time.Time
	imported bool
}

// send stores 3,000 readings, either in bursts, as a device uploads them, or as an import of the
// past.
func (m *measured) send() {
	m.Helper()
	m.imported = m.random.IntN(2) == 0
	end := m.Now()
	if m.imported && m.random.IntN(2) == 0 {
		end = end.Add(-time.Duration(m.random.IntN(3*365*24)) * time.Hour)
	}
	const n = 3000
	for i := range n {
		at := end.Add(-time.Duration(n-i) * m.step)
		if m.random.IntN(20) > 0 && (m.imported || m.Now().Sub(at) < 29*24*time.Hour) {
			m.at = append(m.at, at.UTC().Truncate(time.Millisecond))
		}
	}
	for part := range slices.Chunk(m.at, 100) {
		in := make([]Incoming, len(part))
		for i, at := range part {
			in[i] = send(at, Values{"temp": num(m.T, "1"), "other": num(m.T, "2")})
			in[i].Imported = m.imported
		}
		for _, o := range m.ingest(in...) {
			if o.Status == Rejected {
				m.Fatalf("%+v", o)
			}
		}
		m.Advance(time.Second)
	}
	m.Drain()
	_, err := RollUp(m.Ctx, m.Table)
	m.Must(err)
}

// ask compares the answer with a simple count.
func (m *measured) ask() {
	m.Helper()
	points := []int{3, 24, 100, 480, 500, 1500, 10_000}[m.random.IntN(7)]
	length := time.Duration(m.random.Int64N(int64([]time.Duration{time.Hour, 12 * time.Hour, 20 * 24 * time.Hour, 400 * 24 * time.Hour}[m.random.IntN(4)]))) + time.Millisecond
	to := m.at[m.random.IntN(len(m.at))].Add(time.Duration(m.random.Int64N(int64(time.Hour))))
	in := SeriesIn{Metric: "temp", From: to.Add(-length), To: to, MaxPoints: points, Fill: []Fill{FillNone, FillNull}[m.random.IntN(2)]}
	if m.random.IntN(4) == 0 {
		in.From, in.To = in.From.Truncate(time.Hour), in.To.Truncate(time.Hour).Add(time.Hour)
	}
	got, want := m.series(in), m.finest(&in)
	if got.Resolution != want || got.Thinned && want != Daily || len(got.Points) > points {
		m.Fatalf("%s to %s (%s), at most %d points, a reading every %s, imported %v: %s of %d points, thinned %v, want %s", in.From, in.To, length, points, m.step,
			m.imported, got.Resolution, len(got.Points), got.Thinned, want)
	}
}

// finest finds the finest resolution that fits by counting. Everything that was sent is kept.
func (m *measured) finest(in *SeriesIn) Period {
	old := m.Now().Sub(in.From)
	inside := 0
	for _, at := range m.at {
		if !at.Before(in.From) && at.Before(in.To) {
			inside++
		}
	}
	if inside <= in.MaxPoints && (old < 30*24*time.Hour || inside > 0) {
		return Raw
	}
	for _, tier := range []struct {
		period Period
		keep   time.Duration
		there  bool
	}{{TenMinutes, 90 * 24 * time.Hour, m.fleet.TenMinutes}, {Hourly, 730 * 24 * time.Hour, true}} {
		if tier.there && (old < tier.keep || m.anyOnDays(in)) && m.buckets(in, tier.period) <= in.MaxPoints {
			return tier.period
		}
	}
	return Daily
}

// buckets counts the buckets of a width that a range touches, minute by minute.
func (m *measured) buckets(in *SeriesIn, p Period) int {
	location, err := time.LoadLocation(m.zone)
	m.Must(err)
	width := 60
	if p == TenMinutes {
		width = 10
	}
	if in.To.Sub(in.From) > 10_001*time.Hour {
		return 10_001
	}
	seen := map[time.Time]bool{}
	note := func(at time.Time) {
		at = at.Truncate(time.Minute)
		seen[at.Add(-time.Duration(at.In(location).Minute()%width)*time.Minute)] = true
	}
	for at := in.From; at.Before(in.To); at = at.Add(10 * time.Minute) {
		note(at)
	}
	note(in.To.Add(-time.Millisecond))
	return len(seen)
}

// anyOnDays reports whether there is a reading on the days of a range. For old days, this shows
// that readings are kept.
func (m *measured) anyOnDays(in *SeriesIn) bool {
	location, err := time.LoadLocation(m.zone)
	m.Must(err)
	first, last := in.From.In(location).Format(time.DateOnly), in.To.Add(-time.Millisecond).In(location).Format(time.DateOnly)
	return slices.ContainsFunc(m.at, func(at time.Time) bool {
		day := at.In(location).Format(time.DateOnly)
		return first <= day && day <= last
	})
}

// TestMinuteResolution shows six hours of one-minute readings minute by minute, whether they
// arrived live, at once, or as the past of a device that was imported seconds before. Twenty days
// are shown by hour, even if they are years ago.
func TestMinuteResolution(t *testing.T) {
	for name, imported := range map[string]bool{"burst": false, "import": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
			from := w.Now().Add(-6 * time.Hour)
			for i := range 360 { // one per second
				in := send(from.Add(time.Duration(i)*time.Minute), Values{"temp": num(t, strconv.Itoa(i%100))})
				in.Imported = imported
				w.ingest(in)
				w.Advance(time.Second)
			}
			w.Drain()
			if s := w.series(SeriesIn{Metric: "temp", From: from, To: from.Add(6 * time.Hour), MaxPoints: 500}); s.Resolution != Raw || len(s.Points) != 360 {
				t.Errorf("%s, %d points", s.Resolution, len(s.Points))
			}
		})
	}
	w := newWorld(t, "UTC", utc("2026-11-20T14:00"))
	from := utc("2024-07-01T00:00")
	for i := range 20 * 24 * 4 {
		in := send(from.Add(time.Duration(i)*15*time.Minute), Values{"temp": num(t, strconv.Itoa(i%100))})
		in.Imported = true
		w.ingest(in)
	}
	w.Drain()
	for range 2 {
		if s := w.series(SeriesIn{Metric: "temp", From: from, To: from.Add(20 * 24 * time.Hour), MaxPoints: 500}); s.Resolution != Hourly || len(s.Points) != 480 {
			t.Errorf("%s, %d points", s.Resolution, len(s.Points))
		}
		_, err := RollUp(w.Ctx, w.Table)
		w.Must(err)
	}
}

// TestExpiredTiersAreNotChosen expires readings and then hours: a curve never lacks what the days
// still have.
func TestExpiredTiersAreNotChosen(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-03-10T12:00"))
	from := utc("2026-03-10T00:00")
	w.every(from, 10*time.Minute, 72, func(i int) Values { return Values{"temp": num(t, strconv.Itoa(i%100))} })
	w.Drain()
	for _, step := range []struct {
		after time.Duration
		want  Period
		n     int
	}{{5 * 24 * time.Hour, Raw, 72}, {26 * 24 * time.Hour, TenMinutes, 72}, {70 * 24 * time.Hour, Hourly, 12}, {700 * 24 * time.Hour, Daily, 1}} {
		w.Advance(step.after)
		_, err := RollUp(w.Ctx, w.Table)
		w.Must(err)
		_, err = w.DB.ExpireNow(w.Ctx)
		w.Must(err)
		w.Drain()
		if s := w.series(SeriesIn{Metric: "temp", From: from, To: from.Add(24 * time.Hour), MaxPoints: 500}); s.Resolution != step.want || len(s.Points) != step.n {
			t.Errorf("at %s: %s, %d points, want %s, %d", w.Now(), s.Resolution, len(s.Points), step.want, step.n)
		}
	}
}
