package counterseries

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/order"
)

// drawPoints generates points of a counter or a state: with resets, repeated times and repeated
// readings.
func drawPoints(r *rand.Rand, n int) []Point {
	points := make([]Point, n)
	state := r.IntN(2) == 0
	at, count := int64(1_700_000_000_000), int64(r.IntN(1000))
	for i := range points {
		at += int64(r.IntN(3)) * int64(r.IntN(10_000))
		count += int64(r.IntN(50))
		if r.IntN(20) == 0 {
			count = int64(r.IntN(10))
		}
		points[i] = Point{Position: order.Position{At: at}, Number: decimalsum.Of(count)}
		if state {
			points[i] = Point{Position: order.Position{At: at, Tie: r.Uint32N(3)}, Name: strconv.Itoa(r.IntN(5)), Form: Form(r.IntN(3))}
		}
		if i > 0 && r.IntN(10) == 0 {
			points[i] = points[i-1]
		}
	}
	return points
}

// A track depends only on the set of its points, not on how they are ordered, grouped and merged,
// or encoded and decoded in between.
func TestOrderAndGroupingMakeNoDifference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	over := 0
	for range 200 {
		points := drawPoints(r, r.IntN(1000))
		var plain Track
		for _, p := range points {
			plain.Add(p)
		}
		r.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		var merged Track
		for len(points) > 0 {
			var part Track
			n := 1 + r.IntN(len(points))
			for _, p := range points[:n] {
				part.Add(p)
			}
			points = points[n:]
			in := varint.NewReader(part.Append(nil))
			if part = Read(&in); in.Failed() || in.More() {
				t.Fatal("an encoding is not read back")
			}
			if r.IntN(2) == 0 {
				merged, part = part, merged
			}
			merged.Merge(&part)
		}
		if a, b := plain.Append(nil), merged.Append(nil); !bytes.Equal(a, b) {
			t.Fatalf("%x\n%x", a, b)
		}
		if plain.Over() {
			over++
		}
	}
	if over == 0 || over == 200 {
		t.Errorf("%d of 200 tracks are over", over)
	}
}

// A run matches a simple walk over the sorted points, and the runs of neighboring parts combine to
// that of the whole.
func TestRun(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		points := drawPoints(r, 1+r.IntN(60))
		slices.SortFunc(points, compare)
		points = slices.Compact(points)
		whole := RunOf(points)
		increase, resets, lasted := int64(0), int64(0), map[string]int64{}
		for i, p := range points[1:] {
			before := points[i]
			a, b := int64(before.Number.Float()), int64(p.Number.Float())
			switch {
			case p.Name != "":
				lasted[before.Name] += p.At - before.At
			case b < a:
				increase, resets = increase+b, resets+1
			default:
				increase += b - a
			}
		}
		maps.DeleteFunc(lasted, func(_ string, ms int64) bool { return ms == 0 })
		got := map[string]int64{}
		for _, l := range whole.Lasted {
			got[l.Name] = l.MS
		}
		if whole.Increase.String() != strconv.FormatInt(increase, 10) || whole.Resets != resets || !maps.Equal(got, lasted) {
			t.Fatalf("run %+v, want %d, %d resets, %v", whole, increase, resets, lasted)
		}
		var parts Run
		for rest := points; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			part := RunOf(rest[:n])
			rest = rest[n:]
			in := varint.NewReader(part.Append(nil))
			if part = ReadRun(&in); in.Failed() || in.More() {
				t.Fatal("an encoding is not read back")
			}
			parts = parts.Then(part)
		}
		if !bytes.Equal(parts.Append(nil), whole.Append(nil)) {
			t.Fatalf("parts make %+v, the whole is %+v", parts, whole)
		}
	}
}

func TestUntil(t *testing.T) {
	r := RunOf([]Point{{Position: order.Position{At: 1000}, Name: "open"}, {Position: order.Position{At: 4000}, Name: "shut"}})
	before := r.Append(nil)
	got := r.Until(9000)
	if len(got.Lasted) != 2 || got.Lasted[0] != (StateDuration{"open", 3000}) || got.Lasted[1] != (StateDuration{"shut", 5000}) {
		t.Errorf("%+v", got.Lasted)
	}
	if !bytes.Equal(before, r.Append(nil)) {
		t.Error("the run itself was changed")
	}
}

func FuzzRead(f *testing.F) {
	var tr Track
	tr.Add(Point{Position: order.Position{At: 5}, Name: "a"})
	f.Add(tr.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := varint.NewReader(b)
		tr := Read(&in)
		tr.Run()
		ReadRun(&in)
	})
}
