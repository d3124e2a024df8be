// Package counterseries keeps the points of counters and states, for which the order of readings matters:
// how much a counter has grown despite resets, and how long each state lasted.
package counterseries

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/order"
)

// A Point is a value of a reading: Number for gauges and counters, Name for states.
type Point struct {
	order.Position
	Number decimalsum.Decimal
	Name   string
	Form   Form // type of Name
}

// Form is the type in which a state was sent. Its numbers are part of the stored format.
type Form byte

// The forms.
const (
	Text Form = iota
	Number
	Truth
)

// Counted returns the point as counters order it. If sequence numbers do not order the readings of
// a millisecond, counters order them by value: their order is arbitrary, and a decrease would be
// mistaken for a reset.
func (p Point) Counted() Point {
	p.Tie = 0
	return p
}

// compare orders points by place, then by value.
func compare(a, b Point) int {
	return cmp.Or(a.Position.Compare(b.Position), a.Number.Cmp(&b.Number), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Form, b.Form))
}

// Before reports whether a comes before b.
func Before(a, b Point) bool { return compare(a, b) < 0 }

// maxPoints limits a track: a reading every five seconds for an hour.
const maxPoints = 720

// Track is the set of points in one bucket. The zero value is empty.
//
// The growth of a counter is a sum over adjacent readings, and a late reading separates two that
// were adjacent. So no summary shorter than the points can be merged in any order. The set of
// points can, as a union.
//
// Invariant: while there are at most maxPoints distinct points, a track is their set. After that it
// is Over and keeps none; users must read the readings. Both depend only on the added points, in
// any order and grouping.
type Track struct {
	points []Point // sorted
	over   bool
}

// Over reports whether there were too many points to keep.
func (t *Track) Over() bool { return t.over }

// GiveUp makes the track Over, because its points are not known.
func (t *Track) GiveUp() { t.points, t.over = nil, true }

// Add adds a point.
func (t *Track) Add(p Point) {
	if t.over {
		return
	}
	n := len(t.points)
	if n == 0 || compare(t.points[n-1], p) < 0 {
		t.points = append(t.points, p)
	} else if i, found := slices.BinarySearchFunc(t.points, p, compare); !found {
		t.points = slices.Insert(t.points, i, p)
	}
	t.bound()
}

// maxPointBytes is the size of the largest point, a text.
const maxPointBytes = 4 + 2 + 6 + tieBytes + 128

// Fit gives up the points if they need more than the given number of bytes. If tracks are merged,
// none may have been fitted to fewer bytes than the result will be.
func (t *Track) Fit(bytes int) {
	if len(t.points)*maxPointBytes <= bytes {
		return
	}
	size := 0
	var b []byte
	for _, p := range t.points {
		b = p.appendValue(b[:0])
		size += 4 + len(b) // a fixed 4 bytes for the time, so that the size only grows with the set
	}
	if size > bytes {
		t.GiveUp()
	}
}

// bound gives up the points if there are too many.
func (t *Track) bound() {
	if len(t.points) > maxPoints {
		t.points, t.over = nil, true
	}
}

// Merge adds all points of another track.
func (t *Track) Merge(o *Track) {
	if t.over || o.over {
		t.points, t.over = nil, true
		return
	}
	if n := len(t.points); n > 0 && len(o.points) > 0 && compare(t.points[n-1], o.points[0]) >= 0 {
		t.points = union(t.points, o.points)
	} else {
		t.points = append(t.points, o.points...)
	}
	t.bound()
}

func union(a, b []Point) []Point {
	all := make([]Point, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := compare(a[0], b[0]); {
		case c < 0:
			all, a = append(all, a[0]), a[1:]
		case c > 0:
			all, b = append(all, b[0]), b[1:]
		default:
			all, a, b = append(all, a[0]), a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// Run returns the run of the points.
func (t *Track) Run() Run { return RunOf(t.points) }

// Append appends the encoding: whether the track is over, then its points, with delta-encoded
// times.
func (t *Track) Append(b []byte) []byte {
	if t.over {
		return append(b, 1)
	}
	b = binary.AppendUvarint(append(b, 0), uint64(len(t.points)))
	at := int64(0)
	for _, p := range t.points {
		b = binary.AppendVarint(b, p.At-at)
		b = p.appendValue(b)
		at = p.At
	}
	return b
}

// Append appends the encoding of the point.
func (p Point) Append(b []byte) []byte { return p.appendValue(binary.AppendVarint(b, p.At)) }

// ReadPoint decodes a point.
func ReadPoint(r *varint.Reader) (p Point) {
	p.At = r.Int()
	readValue(r, &p)
	return p
}

// The head of a value: which parts of its place follow, its form, and the length of its name.
const (
	hasNth    = 1 << 0
	hasTie    = 1 << 1
	formShift = 2
	formMask  = 3
	nameShift = 4
	tieBytes  = 4
)

func (p Point) appendValue(b []byte) []byte {
	head := uint64(len(p.Name))<<nameShift | uint64(p.Form)<<formShift
	if p.Nth != 0 {
		head |= hasNth
	}
	if p.Tie != 0 {
		head |= hasTie
	}
	b = binary.AppendUvarint(b, head)
	if p.Nth != 0 {
		b = binary.AppendUvarint(b, uint64(p.Nth))
	}
	if p.Tie != 0 {
		b = binary.BigEndian.AppendUint32(b, p.Tie)
	}
	b = append(b, p.Name...)
	if p.Name == "" {
		b = p.Number.Append(b)
	}
	return b
}

func readValue(r *varint.Reader, p *Point) {
	head := r.Uint()
	if head&hasNth != 0 {
		p.Nth = int64(r.Uint())
	}
	if head&hasTie != 0 {
		if b := r.Bytes(tieBytes); len(b) == tieBytes {
			p.Tie = binary.BigEndian.Uint32(b)
		}
	}
	if p.Form = Form(head >> formShift & formMask); p.Form > Truth {
		r.Fail()
	}
	if p.Name = string(r.Bytes(head >> nameShift)); p.Name == "" {
		p.Number = decimalsum.Read(r)
	}
}

// Read decodes a track.
func Read(r *varint.Reader) (t Track) {
	switch r.Uint() {
	case 0:
	case 1:
		t.over = true
		return t
	default:
		r.Fail()
		return t
	}
	n := r.Count()
	if n > maxPoints {
		r.Fail()
		return t
	}
	if n == 0 {
		return t
	}
	t.points = make([]Point, n)
	at := int64(0)
	for i := range t.points {
		at += r.Int()
		t.points[i].At = at
		readValue(r, &t.points[i])
	}
	return t
}
