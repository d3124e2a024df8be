package telemetry

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/seeds"
)

// A series appends the same JSON as encoding/json makes, whatever it contains.
func TestSeriesAppendJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(seeds.One(t), 0))
	for range 2000 {
		s := randomSeries(r)
		want, errWant := appendReflected([]byte("x"), s)
		got, errGot := s.AppendJSON([]byte("x"))
		if fmt.Sprint(errWant != nil) != fmt.Sprint(errGot != nil) || errWant == nil && string(got) != string(want) {
			t.Fatalf("%#v:\n%s (%v)\nwant\n%s (%v)", s, got, errGot, want, errWant)
		}
	}
}

// randomText has characters that JSON or HTML escape, and invalid ones.
func randomText(r *rand.Rand) (s string) {
	for range r.IntN(6) {
		s += []string{"a", "<", "&", ">", `"`, `\`, "\n", "\x00", "\x7f", "\u2028", "é", "\xff", "🌡"}[r.IntN(13)]
	}
	return s
}

func randomSeries(r *rand.Rand) Series {
	s := Series{DeviceID: randomText(r), Metric: randomText(r), Resolution: Raw, Thinned: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		s.Kind = Counter
	}
	if r.IntN(8) > 0 {
		s.Points = []Point{}
		for range r.IntN(5) {
			s.Points = append(s.Points, randomPoint(r))
		}
	}
	return s
}

func randomPoint(r *rand.Rand) Point {
	p := Point{At: time.UnixMilli(r.Int64N(8e12) - 4e12), Filled: r.IntN(3) == 0}
	switch r.IntN(4) {
	case 0:
		p.At = p.At.UTC()
		if r.IntN(2) == 0 { // of one day, with parts of seconds
			p.At = time.Unix(r.Int64N(secondsOfDay)-r.Int64N(2)*secondsOfDay, []int64{0, 1e8, 1e6, 1, r.Int64N(1e9)}[r.IntN(5)]).UTC()
		}
	case 1:
		p.At = p.At.Add(time.Duration(r.IntN(1e9))).In(time.FixedZone("", r.IntN(100_000)-50_000))
	case 2:
		if r.IntN(50) == 0 {
			p.At = time.Date(9_998+r.IntN(4), 12, 31, 23, 59, 0, 0, time.UTC) // an error after the year 9999
		}
	}
	switch r.IntN(4) {
	case 0:
		p.Value = Text(randomText(r))
	case 1:
		p.Value = Bool(r.IntN(2) == 0)
	case 2:
		v, err := Number(strconv.FormatFloat((r.Float64()-0.5)*[]float64{1, 1e3, 1e12, 1e-9}[r.IntN(4)], 'g', 1+r.IntN(15), 64))
		if err == nil {
			p.Value = v
		}
	}
	if r.IntN(4) == 0 {
		p.Coverage = r.Float64()
	}
	if r.IntN(4) == 0 {
		p.Figures = &Figures{Metric: randomText(r), Kind: State, Count: r.Int64(), Lasted: map[string]float64{randomText(r): r.ExpFloat64()}}
	}
	return p
}
