// Package bucket holds the state of telemetry's aggregates: for each metric, what the readings of
// one device in one bucket of time add up to.
package bucket

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/internal/varint"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/order"
	"github.com/onefold/onefold/telemetry/internal/quantiles"
)

// Kind is the kind of a metric. Its numbers are part of the stored format.
type Kind byte

// The kinds.
const (
	Gauge Kind = iota
	Counter
	State
)

// Metric is the state of one metric. The zero value has no readings.
//
// Invariant: it is a function of the multiset of values and times that were added, in any order and
// grouping. Counts and exact sums are added; extremes are lattices; First and Last are the smallest
// and greatest point by place; Spread and Track have the same property.
type Metric struct {
	Name         string
	Kind         Kind
	Count        int64
	Sum, Squares decimalsum.Decimal  // for numbers
	Min, Max     decimalsum.Decimal  // for numbers
	First, Last  counterseries.Point // by place
	Spread       quantiles.Spread    // for gauges
	Track        counterseries.Track // for counters and states, in the finest buckets
	// Run summarizes a counter or state in a bucket made of finer ones, or in a bucket whose track
	// was too long, derived from its readings. It covers the first Known readings. Folds do not
	// change it.
	Run   *counterseries.Run
	Known int64
}

// Metrics are the metrics of one bucket, sorted by name and kind.
type Metrics []Metric

// At returns the state of a metric, and adds it if necessary.
func (m *Metrics) At(name string, kind Kind) *Metric {
	i, found := slices.BinarySearchFunc(*m, Metric{Name: name, Kind: kind}, compare)
	if !found {
		*m = slices.Insert(*m, i, Metric{Name: name, Kind: kind})
	}
	return &(*m)[i]
}

func compare(a, b Metric) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}

// Number adds a number.
func (m *Metric) Number(place order.Position, v decimalsum.Decimal) {
	if m.Count == 0 || v.Cmp(&m.Min) < 0 {
		m.Min = v
	}
	if m.Count == 0 || v.Cmp(&m.Max) > 0 {
		m.Max = v
	}
	m.Sum, m.Squares = m.Sum.Plus(v), m.Squares.Plus(v.Times(v))
	m.point(counterseries.Point{Position: place, Number: v})
	if m.Kind == Gauge {
		m.Spread.Add(v)
	}
}

// Named adds a state.
func (m *Metric) Named(place order.Position, name string, form counterseries.Form) {
	m.point(counterseries.Point{Position: place, Name: name, Form: form})
}

func (m *Metric) point(p counterseries.Point) {
	if m.Count == 0 || counterseries.Before(p, m.First) {
		m.First = p
	}
	if m.Count == 0 || counterseries.Before(m.Last, p) {
		m.Last = p
	}
	m.Count++
	switch m.Kind {
	case Counter:
		m.Track.Add(p.Counted())
	case State:
		m.Track.Add(p)
	}
}

// Merge adds another bucket, and may share its memory afterwards.
func (m *Metrics) Merge(o Metrics) {
	if len(*m) == 0 {
		*m = o
		return
	}
	for i := range o {
		m.At(o[i].Name, o[i].Kind).merge(&o[i])
	}
}

func (m *Metric) merge(o *Metric) {
	m.Parts(o)
	m.Track.Merge(&o.Track)
}

// Parts adds another metric except its track and run, which depend on order.
func (m *Metric) Parts(o *Metric) {
	if o.Count == 0 {
		return
	}
	if m.Count == 0 || o.Min.Cmp(&m.Min) < 0 {
		m.Min = o.Min
	}
	if m.Count == 0 || o.Max.Cmp(&m.Max) > 0 {
		m.Max = o.Max
	}
	if m.Count == 0 || counterseries.Before(o.First, m.First) {
		m.First = o.First
	}
	if m.Count == 0 || counterseries.Before(m.Last, o.Last) {
		m.Last = o.Last
	}
	m.Sum, m.Squares = m.Sum.Plus(o.Sum), m.Squares.Plus(o.Squares)
	m.Count += o.Count
	m.Spread.Merge(&o.Spread)
}

// Whole returns the run of a counter or state. ok is false if it can only be derived from readings.
func (m *Metric) Whole() (r counterseries.Run, ok bool) {
	switch {
	case m.Run != nil && m.Known == m.Count:
		return *m.Run, true
	case m.Track.Over():
		return r, false
	}
	return m.Track.Run(), true
}

// room is the approximate number of bytes for the sketches, tracks and runs of all metrics. Names,
// counts, sums and extremes come on top and are limited by themselves: a thousand metrics with
// names of 50 bytes and floating-point values take some 150 KB. Together they fit in DynamoDB's 400
// KB per item.
const room = 240 << 10

// Fit limits each metric to its share of the room: a larger sketch becomes coarser, a larger track
// is given up, a larger run is dropped. Call it before metrics are stored or compared. Since the
// number of metrics only grows and a share only shrinks, the result is a function of the readings,
// no matter when Fit was called in between.
func (m Metrics) Fit() {
	for i := range m {
		m[i].fit(room / len(m))
	}
}

func (m *Metric) fit(share int) {
	m.Spread.Fit(share)
	m.Track.Fit(share)
	if m.Run != nil && len(m.Run.Append(nil)) > share {
		m.Run, m.Known = nil, 0
		m.Track.GiveUp()
	}
}

// Settle sets the run that was derived from the readings.
func (m *Metric) Settle(r counterseries.Run) {
	m.Run, m.Known = &r, m.Count
}

// format is the first byte of an encoding.
const format = 3

// ErrEncoding is returned when a stored bucket cannot be decoded.
var ErrEncoding = errors.New("bucket: malformed encoding")

// Append appends the encoding of the metrics; see docs/format/telemetry.md.
func (m Metrics) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, format), uint64(len(m)))
	for i := range m {
		b = m[i].append(b)
	}
	return b
}

func (m *Metric) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(m.Name)))
	b = append(append(b, m.Name...), byte(m.Kind))
	b = binary.AppendUvarint(b, uint64(m.Count))
	if m.Kind != State {
		b = m.Max.Append(m.Min.Append(m.Squares.Append(m.Sum.Append(b))))
	}
	b = m.Last.Append(m.First.Append(b))
	if m.Kind == Gauge {
		return m.Spread.Append(b)
	}
	b = m.Track.Append(b)
	if m.Run == nil {
		return append(b, 0)
	}
	return m.Run.Append(binary.AppendUvarint(b, uint64(m.Known)))
}

// Decode decodes what Append encoded. Errors: ErrEncoding.
func Decode(b []byte) (Metrics, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[0] != format {
		return nil, fmt.Errorf("%w: format %d", ErrEncoding, b[0])
	}
	r := varint.NewReader(b[1:])
	n := r.Count()
	m := make(Metrics, 0, n)
	for range n {
		m = append(m, read(&r))
	}
	if r.Failed() || r.More() || !slices.IsSortedFunc(m, compare) {
		return nil, ErrEncoding
	}
	return m, nil
}

func read(r *varint.Reader) (m Metric) {
	m.Name, m.Kind = string(r.Bytes(r.Uint())), readKind(r)
	m.read(r, true)
	return m
}

func readKind(r *varint.Reader) Kind {
	kind := Kind(r.Uint())
	if kind > State {
		r.Fail()
	}
	return kind
}

// read decodes what follows the kind. Without spread, percentiles are left out.
func (m *Metric) read(r *varint.Reader, spread bool) {
	m.Count = int64(r.Uint())
	if m.Kind != State {
		m.Sum, m.Squares, m.Min, m.Max = decimalsum.Read(r), decimalsum.Read(r), decimalsum.Read(r), decimalsum.Read(r)
	}
	m.First, m.Last = counterseries.ReadPoint(r), counterseries.ReadPoint(r)
	switch {
	case m.Kind == Gauge && spread:
		m.Spread = quantiles.Read(r)
		return
	case m.Kind == Gauge:
		quantiles.Skip(r)
		return
	}
	m.Track = counterseries.Read(r)
	if m.Known = int64(r.Uint()); m.Known > 0 {
		run := counterseries.ReadRun(r)
		m.Run = &run
	}
}

// MarshalDynamoDBAttributeValue encodes the metrics as one binary value.
func (m Metrics) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberB{Value: m.Append(make([]byte, 0, 256*len(m)+2))}, nil
}

// UnmarshalDynamoDBAttributeValue decodes the metrics. Errors: ErrEncoding.
func (m *Metrics) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	b, ok := av.(*types.AttributeValueMemberB)
	if !ok {
		return fmt.Errorf("%w: it is a %T", ErrEncoding, av)
	}
	read, err := Decode(b.Value)
	*m = read
	return err
}
