package counterseries

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// Run summarizes a sequence of points in order. The zero value is empty.
//
// From one point to the next, a counter grows by the difference, or, if the next is lower, by the
// whole next value, because the counter was reset in between. A state lasts until the next point.
//
// Then is associative, so the runs of adjacent buckets combine into that of the whole, except that
// with more than 32 states it depends on the buckets which states count as the rest. Runs must not
// overlap in time.
type Run struct {
	N           int64 // number of points
	First, Last Point
	Increase    decimalsum.Decimal
	Resets      int64
	Lasted      []StateDuration // sorted by name; states between First and Last
}

// StateDuration is the duration of a state.
type StateDuration struct {
	Name string
	MS   int64
}

// maxStates limits the states of a run; others are counted as RestName.
const (
	maxStates = 32
	// RestName stands for the states beyond the first 31 by name.
	RestName = "(other)"
)

// RunOf returns the run of sorted points.
func RunOf(points []Point) (r Run) {
	for i := range points {
		r = r.next(points[i])
	}
	r.bound()
	return r
}

// RunOfAny returns the run of unsorted points, which may contain duplicates.
func RunOfAny(points []Point) Run {
	slices.SortFunc(points, compare)
	return RunOf(slices.CompactFunc(points, func(a, b Point) bool { return compare(a, b) == 0 }))
}

func (r Run) next(p Point) Run {
	if r.N == 0 {
		return Run{N: 1, First: p, Last: p}
	}
	r.step(p)
	r.N, r.Last = r.N+1, p
	return r
}

// step advances from the last point to the next.
func (r *Run) step(to Point) {
	switch {
	case r.Last.Name != "":
		r.last(r.Last.Name, to.At-r.Last.At)
	case to.Number.Cmp(&r.Last.Number) < 0:
		r.Increase, r.Resets = r.Increase.Plus(to.Number), r.Resets+1
	default:
		r.Increase = r.Increase.Plus(to.Number.Minus(r.Last.Number))
	}
}

func (r *Run) last(name string, ms int64) {
	i, found := slices.BinarySearchFunc(r.Lasted, name, func(l StateDuration, name string) int { return strings.Compare(l.Name, name) })
	if found {
		r.Lasted[i].MS += ms
	} else if ms > 0 {
		r.Lasted = slices.Insert(r.Lasted, i, StateDuration{name, ms})
	}
}

// Then returns the run of r followed by next.
func (r Run) Then(next Run) Run {
	switch {
	case r.N == 0:
		return next
	case next.N == 0:
		return r
	}
	r.Lasted = slices.Clone(r.Lasted)
	r.step(next.First)
	r.Increase, r.Resets = r.Increase.Plus(next.Increase), r.Resets+next.Resets
	for _, l := range next.Lasted {
		r.last(l.Name, l.MS)
	}
	r.N, r.Last = r.N+next.N, next.Last
	r.bound()
	return r
}

// Until extends the last state to a time, in epoch milliseconds.
func (r Run) Until(at int64) Run {
	if r.N > 0 && r.Last.Name != "" && at > r.Last.At {
		r.Lasted = slices.Clone(r.Lasted)
		r.last(r.Last.Name, at-r.Last.At)
	}
	return r
}

// bound combines the states beyond maxStates.
func (r *Run) bound() {
	if len(r.Lasted) <= maxStates {
		return
	}
	rest := int64(0)
	kept := r.Lasted[:0]
	for _, l := range r.Lasted {
		if len(kept) < maxStates-1 && l.Name != RestName {
			kept = append(kept, l)
		} else {
			rest += l.MS
		}
	}
	r.Lasted = kept
	r.last(RestName, rest)
}

// Append appends the encoding of the run.
func (r *Run) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(r.N))
	if r.N == 0 {
		return b
	}
	b = r.Last.Append(r.First.Append(b))
	b = binary.AppendUvarint(r.Increase.Append(b), uint64(r.Resets))
	b = binary.AppendUvarint(b, uint64(len(r.Lasted)))
	for _, l := range r.Lasted {
		b = binary.AppendUvarint(b, uint64(len(l.Name)))
		b = binary.AppendVarint(append(b, l.Name...), l.MS)
	}
	return b
}

// ReadRun decodes a run.
func ReadRun(in *varint.Reader) (r Run) {
	if r.N = int64(in.Uint()); r.N == 0 {
		return r
	}
	r.First, r.Last = ReadPoint(in), ReadPoint(in)
	r.Increase, r.Resets = decimalsum.Read(in), int64(in.Uint())
	n := in.Count()
	if n > maxStates+1 {
		in.Fail()
		return Run{}
	}
	for range n {
		name := string(in.Bytes(in.Uint()))
		r.Lasted = append(r.Lasted, StateDuration{name, in.Int()})
	}
	return r
}
