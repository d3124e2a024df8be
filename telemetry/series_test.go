package telemetry

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/table"
)

func (w *world) series(in SeriesIn) Series {
	w.Helper()
	if in.DeviceID == "" {
		in.DeviceID = "d1"
	}
	s, err := ReadSeries(w.Ctx, w.Table, in)
	w.Must(err)
	return s
}

// every sends readings of d1 at equal intervals.
func (w *world) every(from time.Time, step time.Duration, n int, values func(i int) Values) {
	w.Helper()
	in := make([]Incoming, n)
	for i := range in {
		in[i] = send(from.Add(time.Duration(i)*step), values(i))
	}
	w.ingest(in...)
}

// The resolution follows from the range and the number of points.
func TestResolution(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", utc("2026-04-20T14:00"))
	w.every(w.Now().Add(-540*time.Minute), time.Minute, 541, func(i int) Values { return Values{"temp": num(t, strconv.Itoa(i%100))} })
	w.Drain()
	to := w.Now().Add(time.Second)
	for _, c := range []struct {
		from time.Time
		want Period
	}{
		{to.Add(-2 * time.Hour), Raw}, {to.Add(-9 * time.Hour), TenMinutes}, {to.Add(-9 * 24 * time.Hour), Hourly}, {to.Add(-300 * 24 * time.Hour), Daily},
		{to.Add(-40 * 365 * 24 * time.Hour), Daily},
	} {
		if s := w.series(SeriesIn{Metric: "temp", From: c.from, To: to, MaxPoints: 240}); s.Resolution != c.want || len(s.Points) == 0 || len(s.Points) > 240 {
			t.Errorf("from %s: %s, %d points", c.from, s.Resolution, len(s.Points))
		}
	}
	thin := w.series(SeriesIn{Metric: "temp", From: to.Add(-time.Hour), To: to, Resolution: Raw, MaxPoints: 10})
	if len(thin.Points) != 10 || !thin.Thinned {
		t.Errorf("%d points, thinned: %v", len(thin.Points), thin.Thinned)
	}
	for _, bad := range []SeriesIn{{Metric: "temp", From: to, To: to}, {Metric: "a#b", From: to.Add(-1), To: to}, {Metric: "temp", From: to.Add(-1), To: to, Fill: "x"}, {Metric: "temp", From: to.Add(-1), To: to, Resolution: "x"}} {
		bad.DeviceID = "d1"
		if _, err := ReadSeries(w.Ctx, w.Table, bad); !errors.Is(err, ErrRange) && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := ReadSeries(w.Ctx, w.Table, SeriesIn{DeviceID: "nobody", Metric: "temp", From: to.Add(-1), To: to}); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("unknown device: %v", err)
	}
}

func TestFills(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	for hour, v := range map[string]string{"2026-04-20T08:30": "10", "2026-04-20T11:10": "40"} {
		w.ingest(send(utc(hour), Values{"temp": num(t, v)}))
	}
	w.Drain()
	for fill, want := range map[Fill]string{
		FillNone: "8=10 11=40", FillNull: "7= 8=10 9= 10= 11=40 12=", FillPrevious: "7= 8=10 9=10* 10=10* 11=40 12=40*", FillLinear: "7= 8=10 9=20* 10=30* 11=40 12=",
	} {
		s := w.series(SeriesIn{Metric: "temp", From: utc("2026-04-20T07:00"), To: utc("2026-04-20T13:00"), Resolution: Hourly, Fill: fill})
		got := ""
		for i, p := range s.Points {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("%d=%s", p.At.Hour(), p.Value)
			if p.Filled {
				got += "*"
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", fill, got, want)
		}
	}
}

// A counter's increase continues from bucket to bucket, over resets and gaps: the sum of all
// buckets is that of the readings.
func TestCounterOverBuckets(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	counts := []int{100, 130, 150, 20, 50, 50, 10}
	w.every(utc("2026-04-20T08:40"), 40*time.Minute, len(counts), func(i int) Values { return Values{"pulses": num(t, strconv.Itoa(counts[i]))} })
	w.Drain()
	for p, want := range map[Period]string{Hourly: "8=0/0 9=30/0 10=40/1 11=30/0 12=10/1", TenMinutes: "8=0/0 9=30/0 10=20/0 10=20/1 11=30/0 12=0/0 12=10/1"} {
		got := ""
		for i, pt := range w.series(SeriesIn{Metric: "pulses", From: utc("2026-04-20T08:00"), To: utc("2026-04-20T14:00"), Resolution: p}).Points {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("%d=%s/%d", pt.At.Hour(), pt.Value, pt.Figures.Resets)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}

// Different values of one millisecond without sequence numbers are not counted as a reset, in
// whatever order the readings are.
func TestCounterInOneMillisecond(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	at := utc("2026-04-20T12:59")
	for i, v := range []string{"12", "19", "15", "11", "17", "13", "10"} {
		w.ingest(send(at, Values{"pulses": num(t, v), "temp": num(t, strconv.Itoa(i))}))
	}
	w.ingest(send(at.Add(2*time.Minute), Values{"pulses": num(t, "21")}))
	w.Drain()
	s := w.series(SeriesIn{Metric: "pulses", From: at.Add(-time.Hour), To: at.Add(time.Hour), Resolution: Hourly})
	if len(s.Points) != 2 || s.Points[0].Value.String() != "9" || s.Points[1].Value.String() != "2" || s.Points[0].Figures.Resets+s.Points[1].Figures.Resets != 0 {
		t.Errorf("%+v", s.Points)
	}
}

// A curve continues from the last bucket before it with a reading, if that is close enough: within
// 18 ten-minute buckets, 24 hours, or seven days of the fleet in any time zone.
func TestSeriesContinuesFromEarlierBucket(t *testing.T) {
	day, hour := 24*time.Hour, time.Hour
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Date(2026, 4, 20, 0, 0, 0, 0, location)
		for _, c := range []struct {
			p      Period
			before time.Duration // how long before the curve the bucket with the reading starts
			known  bool
		}{
			{Daily, 1 * day, true}, {Daily, 7 * day, true}, {Daily, 8 * day, false},
			{Hourly, 1 * hour, true}, {Hourly, 24 * hour, true}, {Hourly, 25 * hour, false},
			{TenMinutes, 10 * time.Minute, true}, {TenMinutes, 3 * hour, true}, {TenMinutes, 3*hour + 10*time.Minute, false},
		} {
			w := newWorld(t, zone, start.Add(9*time.Minute))
			w.ingest(send(start.Add(5*time.Minute-c.before), Values{"pulses": num(t, "100")}), send(start.Add(5*time.Minute), Values{"pulses": num(t, "130")}))
			w.Drain()
			w.Advance(48 * time.Hour)
			_, err := RollUp(w.Ctx, w.Table)
			w.Must(err)
			want := map[bool]string{true: "30", false: "0"}[c.known]
			s := w.series(SeriesIn{Metric: "pulses", From: start, To: start.Add(9 * time.Minute), Resolution: c.p})
			if len(s.Points) != 1 || s.Points[0].Value.String() != want {
				t.Errorf("%s, %s, a reading %s before: %+v, want %s", zone, c.p, c.before, s.Points, want)
			}
		}
	}
}

// A curve continues from the day before it, even if that is not rolled up.
func TestSeriesContinuesFromUnrolledDay(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", utc("2026-04-20T22:03"))
	for at, v := range map[string]string{"2026-04-18T10:00": "100", "2026-04-20T10:00": "130", "2026-04-20T22:01": "150"} {
		w.ingest(send(utc(at), Values{"pulses": num(t, v)}))
	}
	w.Drain()
	s := w.series(SeriesIn{Metric: "pulses", From: utc("2026-04-20T22:00"), To: utc("2026-04-20T22:03"), Resolution: Daily})
	if len(s.Points) != 1 || s.Points[0].Value.String() != "20" {
		t.Errorf("%+v", s.Points)
	}
}

// A state lasts until the next reading, also across buckets.
func TestStatesOverBuckets(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	for at, v := range map[string]string{"2026-04-20T08:30": "open", "2026-04-20T08:45": "shut", "2026-04-20T09:20": "open", "2026-04-20T09:30": "open"} {
		w.ingest(send(utc(at), Values{"door": Text(v)}))
	}
	w.Drain()
	s := w.series(SeriesIn{Metric: "door", From: utc("2026-04-20T08:00"), To: utc("2026-04-20T10:00"), Resolution: Hourly})
	want := []map[string]float64{{"open": 900, "shut": 900}, {"shut": 1200, "open": 2400}}
	for i, p := range s.Points {
		if !reflect.DeepEqual(p.Figures.Lasted, want[i]) {
			t.Errorf("hour %d: %v, want %v", i, p.Figures.Lasted, want[i])
		}
	}
	if len(s.Points) != 2 || s.Kind != State {
		t.Errorf("%+v", s)
	}
}

// Curves have states as they were sent, whatever they look like: a text as text, and a number that
// names a state as a number.
func TestStatesAreReturnedUnchanged(t *testing.T) {
	for _, v := range []Value{Text("7"), Text("007"), Text("true"), num(t, "7"), Bool(true), Bool(false), Text("open")} {
		w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
		w.ingest(send(utc("2026-04-20T08:30"), Values{"door": v}), send(utc("2026-04-20T12:30"), Values{"door": num(t, "12")}))
		w.Drain()
		status, err := ReadStatus(w.Ctx, w.Table, "d1")
		w.Must(err)
		if got := status.Values["door"].Value; got != num(t, "12") {
			t.Errorf("the latest value is %#v", got)
		}
		for _, p := range []Period{Raw, TenMinutes, Hourly, Daily} {
			s := w.series(SeriesIn{Metric: "door", From: utc("2026-04-20T08:00"), To: utc("2026-04-20T08:40"), Resolution: p})
			want := v
			if p == Daily {
				want = num(t, "12")
			}
			if len(s.Points) != 1 || s.Points[0].Value != want {
				t.Errorf("%s: %#v, want %#v", p, s.Points, want)
			}
		}
	}
}

// There is no state between two others, even if both are numbers.
func TestStatesAreNotInterpolated(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	w.ingest(send(utc("2026-04-20T08:30"), Values{"door": num(t, "1")}), send(utc("2026-04-20T10:30"), Values{"door": num(t, "3")}))
	w.Drain()
	s := w.series(SeriesIn{Metric: "door", From: utc("2026-04-20T08:00"), To: utc("2026-04-20T11:00"), Resolution: Hourly, Fill: FillLinear})
	if len(s.Points) != 3 || !s.Points[1].Value.IsZero() {
		t.Errorf("%#v", s.Points)
	}
}

func TestCoverage(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:15"))
	_, err := PutProfile(w.Ctx, w.Table, Profile{ProfileKey: ProfileKey{"meter"}, FleetID: "plant", Every: 60})
	w.Must(err)
	w.every(utc("2026-04-20T13:00"), 2*time.Minute, 30, func(i int) Values { return Values{"x": num(t, "1")} })
	w.every(utc("2026-04-20T14:00"), time.Minute, 15, func(i int) Values { return Values{"x": num(t, "1")} })
	w.Drain()
	s := w.series(SeriesIn{Metric: "x", From: utc("2026-04-20T13:00"), To: utc("2026-04-20T15:00"), Resolution: Hourly})
	if len(s.Points) != 2 || s.Points[0].Coverage != 0.5 || s.Points[1].Coverage != 1 {
		t.Errorf("%+v", s.Points)
	}
}

// Days are derived from their hours when they are over, and again when an hour changes. Until then,
// a series derives them itself.
func TestDailyAggregates(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	start := utc("2026-03-27T22:00")
	in := drawReadings(t, r, start, 1200) // over the day of 23 hours
	last := in[len(in)-1].At
	w := newWorld(t, "Europe/Berlin", last)
	late := in[300]
	in = append(in[:300:300], in[301:]...)
	w.ingest(in...)
	w.Drain()
	days := func() Series {
		return w.series(SeriesIn{Metric: "pulses", From: start, To: last.Add(time.Second), Resolution: Daily})
	}
	_, err := RollUp(w.Ctx, w.Table)
	w.Must(err)
	open := days()
	w.Advance(72 * time.Hour)
	did, err := RollUp(w.Ctx, w.Table)
	w.Must(err)
	if got := days(); !reflect.DeepEqual(values(got), values(open)) || len(got.Points) < 2 {
		t.Errorf("%v became %v (%+v)", values(open), values(got), did)
	}
	if again, err := RollUp(w.Ctx, w.Table); err != nil || again.Days != 0 {
		t.Errorf("nothing has changed: %+v, %v", again, err)
	}
	before := w.dayReadings()
	w.ingest(late)
	w.Drain()
	did, err = RollUp(w.Ctx, w.Table)
	w.Must(err)
	if did.Days != 1 || did.Changed != 1 || w.dayReadings() != before+1 {
		t.Errorf("after a late reading: %+v, %d readings after %d", did, w.dayReadings(), before)
	}
	total := int64(0)
	for _, h := range w.aggregates("d1", Hourly) {
		total += h.Readings
	}
	if total != w.dayReadings() || total != 1200 {
		t.Errorf("hours have %d readings, days %d", total, w.dayReadings())
	}
}

func (w *world) dayReadings() (n int64) {
	for _, d := range w.aggregates("d1", Daily) {
		n += d.Readings
	}
	return n
}

func values(s Series) (all []string) {
	for _, p := range s.Points {
		all = append(all, p.At.Format(time.DateOnly)+" "+p.Value.String()+" "+fmt.Sprint(p.Figures.Count))
	}
	return all
}

// An hour with more readings than a track keeps is derived from the readings, with the same
// figures. The rollup stores them before the readings expire.
func TestLongTracks(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	count := 0
	increase := 0
	w.every(utc("2026-04-20T12:00"), 4*time.Second, 900, func(i int) Values {
		step := i % 7
		if count += step; i > 0 {
			increase += step
		}
		return Values{"pulses": num(t, strconv.Itoa(count))}
	})
	w.Drain()
	figures := func() *Figures {
		s := w.series(SeriesIn{Metric: "pulses", From: utc("2026-04-20T12:00"), To: utc("2026-04-20T13:00"), Resolution: Hourly})
		return s.Points[0].Figures
	}
	if f := figures(); f.Partial || f.Increase != strconv.Itoa(increase) {
		t.Errorf("%+v, want %d", f, increase)
	}
	w.Advance(48 * time.Hour)
	_, err := RollUp(w.Ctx, w.Table)
	w.Must(err)
	w.Advance(40 * 24 * time.Hour)
	if f := figures(); f.Partial || f.Increase != strconv.Itoa(increase) {
		t.Errorf("after the readings are gone: %+v, want %d", f, increase)
	}
	days := w.series(SeriesIn{Metric: "pulses", From: utc("2026-04-20T00:00"), To: utc("2026-04-21T00:00"), Resolution: Daily})
	if f := days.Points[0].Figures; f.Partial || f.Increase != strconv.Itoa(increase) {
		t.Errorf("the day: %+v", f)
	}
}
