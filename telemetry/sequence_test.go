package telemetry

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/internal/seeds"
)

// numberedModel implements what the guide says about sequence numbers in the simplest way, as a
// list of what was stored.
type numberedModel struct{ stored []Incoming }

// became returns the outcome of a reading and the time under which it is stored.
func (m *numberedModel) became(in Incoming, now time.Time) (OutcomeStatus, time.Time) {
	if in.At.IsZero() {
		in.At = now
	}
	var first *Incoming
	for i := range m.stored {
		o := &m.stored[i]
		apart := in.At.Sub(o.At).Abs()
		same := fmt.Sprint(in.Values) == fmt.Sprint(o.Values)
		if o.DeviceID != in.DeviceID || (o.Seq == nil) != (in.Seq == nil) {
			continue
		}
		if in.Seq == nil {
			if apart == 0 && same {
				return Duplicate, in.At
			}
			continue
		}
		if *o.Seq != *in.Seq || o.Session != in.Session || apart > 10*time.Minute && (apart > 24*time.Hour || !same) {
			continue
		}
		if first == nil || apart < in.At.Sub(first.At).Abs() {
			first = o
		}
	}
	if first != nil {
		return Duplicate, first.At
	}
	m.stored = append(m.stored, in)
	return Stored, in.At
}

// Readings with sequence numbers are repeated with other times or none, in the same and other
// batches, by other servers and after a restart. Their counters restart and wrap around. The
// outcomes match the guide.
func TestSequenceNumbers(t *testing.T) {
	for seed := range seeds.Each(t, 12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { sequenceNumbers(t, seed) })
	}
}

func sequenceNumbers(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, "Europe/Berlin", utc("2026-04-20T14:00"))
	w.device("d2")
	servers := []*Collector{w.c, NewCollector(w.Table, CollectorOptions{})}
	var model numberedModel
	for range 30 {
		w.Advance([]time.Duration{0, time.Millisecond, time.Second, 3 * time.Minute, 11 * time.Minute, 5 * time.Hour}[r.IntN(6)])
		if r.IntN(5) == 0 {
			servers[r.IntN(2)] = NewCollector(w.Table, CollectorOptions{})
		}
		now := w.Now().UTC().Truncate(time.Millisecond)
		in := make([]Incoming, 1+r.IntN(3)*r.IntN(4))
		for i := range in {
			in[i] = drawNumbered(t, r, now)
		}
		outcomes, err := servers[r.IntN(2)].Ingest(w.Ctx, in)
		w.Must(err)
		for i, o := range outcomes {
			status, at := model.became(in[i], now)
			if o.Status == StoredLate {
				o.Status = Stored
			}
			if o.Status != status || !o.At.Equal(at) {
				t.Fatalf("%s at %s: %+v, want %s at %s", describeIncoming(&in[i]), now, o, status, at)
			}
		}
	}
	w.Drain()
	for _, id := range []string{"d1", "d2"} {
		var readings, counted int64
		for _, err := range (ReadingsIn{DeviceID: id, From: utc("2026-01-01T00:00"), To: utc("2027-01-01T00:00")}).All(w.Ctx, w.Table) {
			w.Must(err)
			readings++
		}
		for _, a := range w.aggregates(id, Hourly) {
			counted += a.Readings
		}
		want := int64(len(slices.DeleteFunc(slices.Clone(model.stored), func(in Incoming) bool { return in.DeviceID != id })))
		if readings != want || counted != want {
			t.Errorf("%s: %d readings, %d counted, want %d", id, readings, counted, want)
		}
	}
}

// drawNumbered draws from few numbers, times and values, so that they often collide.
func drawNumbered(t *testing.T, r *rand.Rand, now time.Time) Incoming {
	in := Incoming{DeviceID: []string{"d1", "d2"}[r.IntN(2)], Values: Values{"temp": num(t, fmt.Sprint(r.IntN(2)))}}
	if r.IntN(5) > 0 {
		seq := []int64{0, 1, 2, 65535, maxSeq - 1}[r.IntN(5)]
		in.Seq, in.Session = &seq, []string{"", "", "boot-2"}[r.IntN(3)]
	}
	if in.Seq == nil || r.IntN(3) > 0 {
		in.At = now.Add(-[]time.Duration{0, 1500 * time.Millisecond, 4 * time.Minute, 12 * time.Minute, 26 * time.Hour}[r.IntN(5)])
	}
	return in
}

func describeIncoming(in *Incoming) string {
	seq := int64(-1)
	if in.Seq != nil {
		seq = *in.Seq
	}
	return fmt.Sprintf("%s %d %q %s %v", in.DeviceID, seq, in.Session, in.At, in.Values)
}

// Two servers receive the same numbered readings at once, with different times: each is stored
// once.
func TestConcurrentSequenceNumbers(t *testing.T) {
	seed := seeds.One(t)
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	const numbers = 60
	var mu sync.Mutex
	at := map[int64]time.Time{}
	stored := 0
	var g errgroup.Group
	for n := range 6 {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		c := NewCollector(w.Table, CollectorOptions{})
		g.Go(func() error {
			for _, i := range r.Perm(numbers) {
				seq := int64(i)
				in := []Incoming{{DeviceID: "d1", Seq: &seq, At: w.Now().Add(-time.Duration(r.IntN(5000)) * time.Millisecond), Values: Values{"temp": num(t, "1")}}}
				o, err := c.Ingest(w.Ctx, in)
				if err != nil {
					return err
				}
				mu.Lock()
				if o[0].Status == Stored {
					stored++
				}
				if was, known := at[seq]; known && !was.Equal(o[0].At) {
					err = fmt.Errorf("number %d is stored at %s and at %s", seq, was, o[0].At)
				}
				at[seq] = o[0].At
				mu.Unlock()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	w.Must(g.Wait())
	w.Drain()
	var counted int64
	for _, a := range w.aggregates("d1", Hourly) {
		counted += a.Readings
	}
	if stored != numbers || counted != numbers {
		t.Errorf("%d of %d are called stored, %d are counted", stored, numbers, counted)
	}
}

// A server that stops after writing a number, but before its reading, loses neither: when the
// sender repeats the reading, it is stored once.
func TestSequenceNumberWithoutItsReading(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", utc("2026-04-20T14:00"))
	seq, sums := int64(7), Values{"temp": num(t, "1")}
	first := w.Now().UTC().Add(-2 * time.Minute)
	b := batch{outcomes: make([]Outcome, 1)}
	s, err := w.c.devices.get(w.Ctx, "d1")
	w.Must(err)
	b.take(0, s, &Incoming{DeviceID: "d1", At: first, Seq: &seq, Values: sums}, w.Now())
	w.Must(w.c.number(w.Ctx, b.readings)) // the number and nothing else
	w.Advance(time.Minute)
	for _, want := range []OutcomeStatus{Stored, Duplicate} {
		if o := w.ingest(Incoming{DeviceID: "d1", Seq: &seq, Values: sums})[0]; o.Status != want || !o.At.Equal(first) {
			t.Errorf("%+v, want %s at %s", o, want, first)
		}
	}
	key := ReadingKey{DeviceID: "d1", At: first, Disc: "000000000007"}
	if there, err := (ReadingsIn{DeviceID: "d1"}).Exists(w.Ctx, w.Table, []ReadingKey{key}); err != nil || !there[key] {
		t.Error(there, err)
	}
}

// A dry run reports readings that exist under another time, and an impossible number is rejected.
func TestSequenceNumbersOfImports(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	seq, negative := int64(7), int64(-1)
	in := func(seq *int64, at string) []Incoming {
		return []Incoming{{DeviceID: "d1", At: utc(at), Seq: seq, Values: Values{"temp": num(t, "1")}}}
	}
	for _, c := range []struct {
		seq  *int64
		at   string
		dry  bool
		want OutcomeStatus
	}{
		{&seq, "2019-04-20T14:00", true, Stored}, {&seq, "2019-04-20T14:00", false, Stored}, {&seq, "2019-04-20T14:02", true, Duplicate},
		{&seq, "2019-04-20T14:02", false, Duplicate}, {&seq, "2019-04-25T14:00", true, Stored}, {&seq, "2019-04-25T14:00", false, Stored},
		{&seq, "2019-04-25T20:00", false, Duplicate}, {&seq, "2019-04-20T14:00", false, Duplicate}, {&negative, "2019-04-25T20:00", false, Rejected},
	} {
		o, _, err := w.c.Import(w.Ctx, in(c.seq, c.at), ImportOptions{DryRun: c.dry})
		w.Must(err)
		if o[0].Status != c.want {
			t.Errorf("%d at %s (dry run %v): %+v, want %s", *c.seq, c.at, c.dry, o[0], c.want)
		}
	}
}

// Readings of one millisecond with sequence numbers are ordered by number, in whatever order they
// arrive: a counter that went from 30 to 10 was reset, and the one sent last is the latest.
func TestOneMillisecondByNumber(t *testing.T) {
	at := utc("2026-04-20T12:10")
	numbered := []string{"20", "30", "10", "25"}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		w := newWorld(t, "UTC", utc("2026-04-20T12:30"))
		for _, i := range order {
			in := send(at, Values{"temp": num(t, numbered[i]), "pulses": num(t, numbered[i]), "door": Text("s" + numbered[i])})
			seq := int64(i)
			in.Seq = &seq
			w.ingest(in)
			if order[0] == 2 {
				w.Drain()
			}
		}
		w.ingest(send(at, Values{"temp": num(t, "99")})) // it has no number, and so comes first
		w.Drain()
		hour := func(metric string) *Figures {
			return w.series(SeriesIn{Metric: metric, From: utc("2026-04-20T12:00"), To: utc("2026-04-20T13:00"), Resolution: Hourly}).Points[0].Figures
		}
		if f := hour("temp"); f.First != "99" || f.Last != "25" || f.Count != 5 {
			t.Errorf("%v: temp is %+v", order, f)
		}
		if f := hour("pulses"); f.First != "20" || f.Last != "25" || f.Increase != "35" || f.Resets != 1 {
			t.Errorf("%v: pulses are %+v", order, f)
		}
		if f := hour("door"); f.First != "s20" || f.Last != "s25" {
			t.Errorf("%v: door is %+v", order, f)
		}
		s, err := ReadStatus(w.Ctx, w.Table, "d1")
		w.Must(err)
		if got := s.Values["temp"].Value.String() + s.Values["door"].Value.String(); got != "25s25" {
			t.Errorf("%v: latest is %s", order, got)
		}
		var temps []string // in the order that alerts and lists use
		for r, err := range (ReadingsIn{DeviceID: "d1"}).All(w.Ctx, w.Table) {
			w.Must(err)
			temps = append(temps, r.Values["temp"].String())
		}
		if !slices.Equal(temps, []string{"99", "20", "30", "10", "25"}) {
			t.Errorf("%v: readings are in the order %v", order, temps)
		}
		w.verified()
	}
}
