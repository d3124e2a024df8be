package counterseries

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// Run is what a sequence of points in order makes. The zero value is that of none.
//
// A counter grows, from one point to the next, by the difference; or by the whole of the next where that is lower, for
// then it was reset in between. A state lasts until the next point.
//
// Then is associative, so runs of neighbouring buckets make that of the longer one; but which states are among the rest,
// where there are more than 32, depends on the buckets. Runs must not overlap in time.
type Run struct {
	N           int64 // points
	First, Last Point
	Increase    decimalsum.Decimal
	Resets      int64
	Lasted      []Lasted // by name: the states between First and Last
}

// Lasted says how long a state lasted.
type Lasted struct {
	Name string
	MS   int64
}

// maxStates bounds the names of a run; the rest is RestName.
const (
	maxStates = 32
	// RestName stands for states beyond the first 32, in the order of their names.
	RestName = "(other)"
)

// RunOf is the run of points in order.
func RunOf(points []Point) (r Run) {
	for i := range points {
		r = r.next(points[i])
	}
	r.bound()
	return r
}

// RunOfAny is the run of points in any order, some of which may be there twice.
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

// step goes from the last point to another.
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
	i, found := slices.BinarySearchFunc(r.Lasted, name, func(l Lasted, name string) int { return strings.Compare(l.Name, name) })
	if found {
		r.Lasted[i].MS += ms
	} else if ms > 0 {
		r.Lasted = slices.Insert(r.Lasted, i, Lasted{name, ms})
	}
}

// Then is the run of both, one after the other.
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

// Until lets the last state last until a time, in epoch milliseconds.
func (r Run) Until(at int64) Run {
	if r.N > 0 && r.Last.Name != "" && at > r.Last.At {
		r.Lasted = slices.Clone(r.Lasted)
		r.last(r.Last.Name, at-r.Last.At)
	}
	return r
}

// bound joins the states beyond maxStates.
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

// Append encodes the run.
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

// ReadRun takes a run off an encoding.
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
		r.Lasted = append(r.Lasted, Lasted{name, in.Int()})
	}
	return r
}
