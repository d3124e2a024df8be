package telemetry

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/recorded"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/figures"
)

// oracle adds up the readings of one hour and metric as rational numbers. It shares no code with
// the folds.
type oracle struct {
	count        int64
	sum, squares *big.Rat
	values       []*big.Rat
	points       []oraclePoint
}

type oraclePoint struct {
	at   int64
	name string // name of the reading, which orders readings of the same time
	v    *big.Rat
}

func oracleOf(t testing.TB, zone string, in []Incoming, metric string) map[string]*oracle {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	hours := map[string]*oracle{}
	for _, r := range in {
		v, ok := r.Values[metric]
		seq := int64(-1)
		if r.Seq != nil {
			seq = *r.Seq
		}
		id := fmt.Sprint(r.At.UnixMilli(), seq, r.Nth, r.Values)
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		local := r.At.In(location)
		start := local.Add(-time.Duration(local.Minute())*time.Minute - time.Duration(local.Second())*time.Second - time.Duration(local.Nanosecond()))
		name := start.UTC().Format(time.RFC3339)
		o := hours[name]
		if o == nil {
			o = &oracle{sum: new(big.Rat), squares: new(big.Rat)}
			hours[name] = o
		}
		x, ok := new(big.Rat).SetString(v.String())
		if !ok {
			t.Fatalf("%s is no number", v)
		}
		o.count++
		o.sum.Add(o.sum, x)
		o.squares.Add(o.squares, new(big.Rat).Mul(x, x))
		o.values = append(o.values, x)
		o.points = append(o.points, oraclePoint{r.At.UnixMilli(), discOf(&r), x})
	}
	return hours
}

func rational(t testing.TB, s string) *big.Rat {
	t.Helper()
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return x
}

// compare checks that the figures of a gauge or counter match the oracle exactly.
func (o *oracle) compare(t testing.TB, f *Figures) {
	t.Helper()
	slices.SortFunc(o.values, (*big.Rat).Cmp)
	slices.SortFunc(o.points, func(a, b oraclePoint) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name))
	})
	equal := func(what, got string, want *big.Rat) {
		t.Helper()
		if rational(t, got).Cmp(want) != 0 {
			t.Errorf("%s of %s is %s, want %s", what, f.Metric, got, want.FloatString(20))
		}
	}
	n := new(big.Rat).SetInt64(o.count)
	if f.Count != o.count {
		t.Errorf("count is %d, want %d", f.Count, o.count)
	}
	equal("sum", f.Sum, o.sum)
	equal("min", f.Min, o.values[0])
	equal("max", f.Max, o.values[len(o.values)-1])
	equal("first", f.First, o.points[0].v)
	equal("last", f.Last, o.points[len(o.points)-1].v)
	mean := new(big.Rat).Quo(o.sum, n)
	if off := new(big.Rat).Sub(rational(t, f.Mean), mean); off.Abs(off).Cmp(big.NewRat(1, 1e15)) > 0 {
		t.Errorf("mean is %s, want %s", f.Mean, mean.FloatString(20))
	}
	variance := new(big.Rat).Sub(new(big.Rat).Quo(o.squares, n), new(big.Rat).Mul(mean, mean))
	deviation := rational(t, f.Deviation)
	if off := new(big.Rat).Sub(deviation.Mul(deviation, deviation), variance); off.Abs(off).Cmp(big.NewRat(1, 1e12)) > 0 {
		t.Errorf("deviation is %s, want the root of %s", f.Deviation, variance.FloatString(20))
	}
	if f.Kind == Gauge && f.Exact {
		equal("median", f.P50, o.values[(len(o.values)+1)/2-1])
	}
}

// figuresOfHours returns the stored figures of a metric, by hour.
func (w *world) figuresOfHours(id, metric string) map[string]Figures {
	w.Helper()
	all := map[string]Figures{}
	for _, a := range w.aggregates(id, Hourly) {
		for i := range a.Metrics {
			if a.Metrics[i].Name == metric {
				all[a.Start] = figures.Of(&a.Metrics[i])
			}
		}
	}
	return all
}

func compareHours(t *testing.T, got map[string]Figures, want map[string]*oracle) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d hours, want %d", len(got), len(want))
	}
	for start, o := range want {
		f, there := got[start]
		if !there {
			t.Errorf("hour %s is missing", start)
			continue
		}
		o.compare(t, &f)
	}
}

// One reading that arrives late, after the end of its hour, makes the counts 60 and 61, not 1.
func TestLateReadingAfterItsHour(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:58"))
	late := send(utc("2026-04-20T14:59"), Values{"temp": num(t, "60")})
	for i := range 59 {
		w.ingest(send(utc("2026-04-20T14:00").Add(time.Duration(i)*time.Minute), Values{"temp": num(t, strconv.Itoa(i))}))
	}
	w.Drain()
	w.Set(utc("2026-04-20T15:55"))
	for i := range 61 {
		w.ingest(send(utc("2026-04-20T15:00").Add(time.Duration(i)*59*time.Second), Values{"temp": num(t, strconv.Itoa(i))}))
	}
	w.Set(utc("2026-04-20T15:00").Add(30 * time.Second))
	w.ingest(late)
	w.ingest(late)
	w.Drain()
	var counts []int64
	for _, a := range w.aggregates("d1", Hourly) {
		counts = append(counts, a.Readings)
	}
	if !slices.Equal(counts, []int64{60, 61}) {
		t.Errorf("hours have %v readings", counts)
	}
}

// drawReadings generates two days of three metrics: a gauge, a counter with resets, and a state.
func drawReadings(t testing.TB, r *rand.Rand, from time.Time, n int) []Incoming {
	in := make([]Incoming, n)
	at, pulses := from, int64(100)
	numbered := r.IntN(3) // one in this many readings has a number, from the second on; 0 means none
	for i := range in {
		step := time.Duration(1+r.IntN(600)) * time.Second / 2
		if r.IntN(4) == 0 {
			step = time.Millisecond * time.Duration(r.IntN(2)) // two readings in the same or adjacent milliseconds
		}
		at = at.Add(step)
		if pulses += int64(r.IntN(30)); r.IntN(40) == 0 {
			pulses = int64(r.IntN(5))
		}
		in[i] = send(at, Values{
			"temp": num(t, fmt.Sprintf("%d.%03d", r.IntN(60)-20, r.IntN(1000))), "pulses": num(t, strconv.FormatInt(pulses, 10)),
			"door": Text([]string{"open", "shut", "ajar"}[r.IntN(3)]),
		})
		if numbered > 0 && r.IntN(numbered) == 0 {
			seq := int64(i)
			in[i].Seq = &seq
		}
	}
	return in
}

// derived returns everything that folds and the rollup derive for a device, without arrival times.
func (w *world) derived(id string) []Aggregate {
	w.Helper()
	var all []Aggregate
	for _, p := range []Period{TenMinutes, Hourly} {
		for _, a := range w.aggregates(id, p) {
			a.Latest, a.RawUntil, a.Late, a.ExpiresAt = 0, 0, 0, time.Time{}
			all = append(all, a)
		}
	}
	return all
}

// Whatever devices and networks do with a series, its aggregates match those of the undisturbed
// series exactly.
func TestPerturbations(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	start := utc("2026-04-18T00:00")
	for name, perturb := range map[string]func(*world, *rand.Rand, []Incoming){
		"shuffled": func(w *world, r *rand.Rand, in []Incoming) {
			r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			w.inPieces(r, in)
		},
		"newest first": func(w *world, r *rand.Rand, in []Incoming) {
			slices.Reverse(in)
			w.inPieces(r, in)
		},
		"each twice, and again after an hour and after 25": func(w *world, r *rand.Rand, in []Incoming) {
			w.inPieces(r, in)
			w.inPieces(r, in)
			for _, later := range []time.Duration{time.Hour, 25 * time.Hour} {
				w.Advance(later)
				w.inPieces(r, in)
			}
		},
		"with rejected ones between": func(w *world, r *rand.Rand, in []Incoming) {
			for _, good := range in {
				bad := good
				switch r.IntN(4) {
				case 0:
					bad.At = time.Unix(int64(r.IntN(1000)), 0)
				case 1:
					bad.Values = Values{"temp": Text("NaN")}
				case 2:
					bad.Units = map[string]string{"temp": "F"}
				case 3:
					bad.At = good.At.Add(-100 * 24 * time.Hour)
				}
				if o := w.ingest(bad, good); o[0].Status != Rejected {
					w.Errorf("%+v: %+v", bad, o[0])
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			clean := drawReadings(t, r, start, 700)
			one := newWorld(t, "Europe/Berlin", start.Add(50*time.Hour))
			one.ingest(clean...)
			one.Drain()
			want := one.derived("d1")
			compareHours(t, one.figuresOfHours("d1", "temp"), oracleOf(t, "Europe/Berlin", clean, "temp"))
			compareHours(t, one.figuresOfHours("d1", "pulses"), oracleOf(t, "Europe/Berlin", clean, "pulses"))

			other := newWorld(t, "Europe/Berlin", start.Add(50*time.Hour))
			perturb(other, r, slices.Clone(clean))
			other.Drain()
			if got := other.derived("d1"); !reflect.DeepEqual(encoded(t, got), encoded(t, want)) {
				t.Errorf("aggregates differ from those of the clean series")
			}
		})
	}
}

// inPieces sends readings in batches, and sometimes runs or restarts the folds.
func (w *world) inPieces(r *rand.Rand, in []Incoming) {
	w.Helper()
	for len(in) > 0 {
		n := min(1+r.IntN(90), len(in))
		w.ingest(in[:n]...)
		in = in[n:]
		if r.IntN(3) == 0 {
			w.Drain()
		}
		if r.IntN(6) == 0 {
			w.Restart()
		}
	}
}

func encoded(t testing.TB, all []Aggregate) []table.Item {
	t.Helper()
	var items []table.Item
	for i := range all {
		it, err := Aggregates.Encode(&all[i])
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

// machineTemperature reads the real series. Identical rows get sequence numbers.
func machineTemperature(t testing.TB) (in []Incoming) {
	t.Helper()
	for _, r := range recorded.Temperatures(t) {
		in = append(in, Incoming{DeviceID: "machine", At: r.At, Nth: r.Nth, Imported: true, Values: Values{"celsius": num(t, r.Value)}})
	}
	return in
}

// A real series has repeated timestamps. Every row is kept, and the aggregates match an oracle, in
// whatever order the series is imported, and also when it is imported again.
func TestMachineTemperature(t *testing.T) {
	in := machineTemperature(t)
	at := map[time.Time]int{}
	for _, r := range in {
		at[r.At]++
	}
	if len(in) != 22_695 || len(in)-len(at) != 12 {
		t.Fatalf("%d rows, %d repeated times", len(in), len(in)-len(at))
	}
	want := oracleOf(t, "America/New_York", in, "celsius")
	w := newWorld(t, "America/New_York", utc("2026-04-20T14:00"))
	w.device("machine", func(n *NewDevice) { n.ProfileID = "" })
	shuffled := slices.Clone(in)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(in), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for i, again := range [][]Incoming{shuffled, in} {
		became := map[OutcomeStatus]int{}
		for part := range slices.Chunk(again, 1000) {
			for _, o := range w.ingest(part...) {
				became[o.Status]++
			}
		}
		if !maps.Equal(became, map[OutcomeStatus]int{[]OutcomeStatus{Stored, Duplicate}[i]: len(in)}) {
			t.Errorf("import %d: %v", i, became)
		}
	}
	w.Drain()
	compareHours(t, w.figuresOfHours("machine", "celsius"), want)
	n := 0
	for _, err := range (ReadingsIn{DeviceID: "machine"}).All(w.Ctx, w.Table) {
		w.Must(err)
		n++
	}
	if n != len(in) {
		t.Errorf("%d readings are stored", n)
	}
}
