package alerts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/telemetry"
)

// Readings of one millisecond, most of them without a sequence number, have the same order
// everywhere, in whatever order they arrive. The last one in the list is the latest value and the
// last value of each aggregate and curve, and it decides whether there is an alert.
func TestOneOrder(t *testing.T) {
	seeds.Run(t, 8, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		in := crowded(random)
		var want string
		for range 2 {
			w := newWorld(t, nil)
			_, err := telemetry.UpdateFleet(w.Ctx, w.Table, "plant", func(f *telemetry.Fleet) error { f.TenMinutes = true; return nil })
			w.Must(err)
			r := w.rule(func(r *telemetry.Rule) { r.Clear, r.For, r.KeepFor = "", 0, 0 })
			random.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			for rest := in; len(rest) > 0; {
				n := 1 + random.IntN(min(len(rest), 6))
				w.ingest(slices.Concat(rest[:n], in[:random.IntN(3)])...)
				if rest = rest[n:]; random.IntN(3) == 0 {
					w.Drain()
				}
				if random.IntN(4) == 0 {
					_, err := telemetry.MoveReadings(w.Ctx, w.Table)
					w.Must(err)
				}
			}
			w.Drain()
			w.Advance(48 * time.Hour)
			_, err = telemetry.RollUp(w.Ctx, w.Table)
			w.Must(err)
			all, err := telemetry.ReadingsIn{DeviceID: "d1"}.Collect(w.Ctx, w.Table)
			w.Must(err)
			if got := names(all); want == "" {
				want = got
			} else if got != want {
				t.Fatalf("in another order of arrival the list is\n%s\nwas\n%s", got, want)
			}
			w.sameOrder(all)
			w.agree(r)
		}
	})
}

// crowded generates different readings within a few milliseconds.
func crowded(r *rand.Rand) (all []telemetry.Incoming) {
	for i := range 30 {
		one := temp(after(60*r.IntN(2)).Add(time.Duration(r.IntN(3))*time.Millisecond), fmt.Sprint(95+r.IntN(10), ".", 100+i))
		one.Values["door"] = telemetry.Text(fmt.Sprint("s", r.IntN(4)))
		if r.IntN(2) == 0 {
			one.Values["code"] = []telemetry.Value{telemetry.Text("7"), telemetry.Text("007"), telemetry.Bool(true)}[r.IntN(3)]
		}
		if r.IntN(3) == 0 {
			seq := r.Int64N(2)
			one.Seq, one.Session = &seq, fmt.Sprint("boot-", i)
		}
		all = append(all, one)
	}
	return all
}

func names(all []telemetry.Reading) (text string) {
	for i := range all {
		text += fmt.Sprintln(all[i].At.UnixMilli(), all[i].Disc)
	}
	return text
}

// sameOrder compares the items derived for d1 with its ordered readings.
func (w *world) sameOrder(all []telemetry.Reading) {
	w.Helper()
	status, err := telemetry.ReadStatus(w.Ctx, w.Table, "d1")
	w.Must(err)
	for _, metric := range []string{"temp", "door", "code"} {
		var points []telemetry.Point
		for _, r := range all {
			if v, there := r.Values[metric]; there {
				points = append(points, telemetry.Point{At: r.At, Value: v})
			}
		}
		if got, want := status.Values[metric], points[len(points)-1]; got.Value != want.Value || got.At != want.At.UnixMilli() {
			w.Errorf("the latest %s is %v, the last of the list %v", metric, got, want)
		}
		in := telemetry.SeriesIn{DeviceID: "d1", Metric: metric, From: after(-60), To: after(180), Resolution: telemetry.Raw}
		curve, err := telemetry.ReadSeries(w.Ctx, w.Table, in)
		w.Must(err)
		if !slices.Equal(curve.Points, points) {
			w.Errorf("the curve of %s is %v, the list %v", metric, curve.Points, points)
		}
		for period, width := range map[telemetry.Period]time.Duration{telemetry.TenMinutes: 10 * time.Minute, telemetry.Hourly: time.Hour, telemetry.Daily: 24 * time.Hour} {
			in.Resolution = period
			curve, err := telemetry.ReadSeries(w.Ctx, w.Table, in)
			w.Must(err)
			if len(curve.Points) == 0 {
				w.Errorf("%s has no %s buckets", metric, period)
			}
			for _, b := range curve.Points {
				of := slices.DeleteFunc(slices.Clone(points), func(p telemetry.Point) bool { return !p.At.Truncate(width).Equal(b.At) })
				first, last := of[0].Value, of[len(of)-1].Value
				if f := b.Figures; f.First != first.String() || f.Last != last.String() || f.Kind == telemetry.State && b.Value != last {
					w.Errorf("%s %s of %s goes from %s to %s and is %#v, the list from %#v to %#v", period, b.At, metric, f.First, f.Last, b.Value, first, last)
				}
			}
		}
	}
	found, err := telemetry.Verify(w.Ctx, w.Table, w.Worker, "d1", after(-60), after(180))
	if w.Must(err); found.Count > 0 {
		w.Errorf("%d aggregates are not what readings make: %+v", found.Count, found.List)
	}
}
