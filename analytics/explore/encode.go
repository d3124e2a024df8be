package explore

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/varint"
)

// errColumns is returned for an encoding that columns cannot be read from.
var errColumns = errors.New("explore: malformed columns")

// encoder appends the encoding of columns, of the same form as decoder reads. Numbers are varints;
// times and other numbers that grow are stored as differences; codes of texts take their width:
//
//	visits, events, events read
//	of visits: visitor, first event, seconds, bounced, user, hour, dimensions, conversions
//	of events: time, hour, name, path, revenue, engaged time, properties
//	scroll depths
//
//	column = number of texts | texts | code of each row, 1, 2 or 4 bytes
//
// The width of the codes follows from the number of texts. A column that a later version adds needs
// a new fileFormat: files of another format are made again, so there is nothing to convert.
type encoder struct{ b []byte }

// appendColumns appends the encoding of a day's columns.
func appendColumns(b []byte, d *columns) []byte {
	e := encoder{b}
	e.uint(len(d.visitor))
	e.uint(len(d.at))
	e.uint(d.read)
	e.growing(d.visitor)
	e.growing(d.first)
	e.ints(d.seconds)
	e.bools(d.bounced)
	e.uint(len(d.user))
	for _, n := range d.user {
		e.b = binary.LittleEndian.AppendUint64(e.b, n)
	}
	e.column(&d.started)
	e.uint(len(visits.Dimensions))
	for _, of := range visits.Dimensions {
		e.text(string(of.Name))
		e.column(d.one[of.Name])
	}
	e.uint(len(d.goals.count))
	e.growing(d.goals.first) // none without conversions
	e.column(&d.goals.goal)
	e.ints(d.goals.count)
	e.column(&d.goals.revenue)
	e.events(d)
	return e.b
}

func (e *encoder) events(d *columns) {
	e.times(d.at)
	for _, c := range []*column{&d.hour, &d.name, &d.path, &d.revenue} {
		e.column(c)
	}
	e.uint(len(d.engaged))
	e.ints(d.engaged)
	properties := 0
	if n := len(d.properties.first); n > 0 {
		properties = int(d.properties.first[n-1])
	}
	e.uint(properties)
	e.growing(d.properties.first) // none without properties
	e.column(&d.properties.name)
	e.column(&d.properties.value)
	e.uint(len(d.scrolls))
	for _, s := range d.scrolls {
		e.uint(int(s.visit))
		e.uint(int(s.page))
		e.b = binary.AppendVarint(e.b, s.percent)
	}
}

func (e *encoder) uint(n int) { e.b = binary.AppendUvarint(e.b, uint64(n)) }

func (e *encoder) text(s string) {
	e.uint(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) ints(all []int64) {
	for _, n := range all {
		e.b = binary.AppendVarint(e.b, n)
	}
}

func (e *encoder) times(all []int64) {
	last := int64(0)
	for _, n := range all {
		e.b = binary.AppendVarint(e.b, n-last)
		last = n
	}
}

func (e *encoder) growing(all []uint32) {
	last := uint32(0)
	for _, n := range all {
		e.uint(int(n - last))
		last = n
	}
}

func (e *encoder) bools(all []bool) {
	for _, is := range all {
		n := byte(0)
		if is {
			n = 1
		}
		e.b = append(e.b, n)
	}
}

func (e *encoder) column(c *column) {
	texts := c.values
	if len(texts) > 0 {
		texts = texts[1:] // the first is always ""
	}
	e.uint(len(texts))
	for _, s := range texts {
		e.text(s)
	}
	e.b = append(e.b, c.narrow...)
	for _, n := range c.middle {
		e.b = binary.LittleEndian.AppendUint16(e.b, n)
	}
	for _, n := range c.wide {
		e.b = binary.LittleEndian.AppendUint32(e.b, n)
	}
}

// decoder reads what encoder wrote. A malformed encoding makes it fail.
type decoder struct{ varint.Reader }

// readColumns reads columns from an encoding, which may be damaged. The texts share its memory.
// Errors: errColumns.
func readColumns(b []byte) (*columns, error) {
	r := decoder{varint.NewReader(b)}
	d := &columns{one: make(map[analytics.Dimension]*column, len(visits.Dimensions))}
	n, events := r.Count(), r.Count()
	d.read = int(r.Uint())
	d.visitor = r.growing(n, uint64(n))
	d.first = r.growing(n+1, uint64(events))
	d.seconds = r.ints(n)
	d.bounced = r.bools(n)
	d.user = r.users(n)
	d.started = r.column(n)
	if r.Uint() != uint64(len(visits.Dimensions)) {
		r.Fail()
	}
	for _, of := range visits.Dimensions {
		if r.text() != string(of.Name) {
			r.Fail()
		}
		c := r.column(n)
		d.one[of.Name] = &c
	}
	goals := r.Count()
	if goals > 0 {
		d.goals.first = r.growing(n+1, uint64(goals))
	}
	d.goals.goal = r.column(goals)
	d.goals.count = r.ints(goals)
	d.goals.revenue = r.column(goals)
	r.events(d, n, events)
	if r.Failed() || r.More() || int(d.first[n]) != events {
		return nil, errColumns
	}
	d.bytes = d.size()
	return d, nil
}

func (r *decoder) events(d *columns, visits, events int) {
	d.at = r.times(events)
	for _, c := range []*column{&d.hour, &d.name, &d.path, &d.revenue} {
		*c = r.column(events)
	}
	switch n := r.Count(); n {
	case 0:
	case events:
		d.engaged = r.ints(events)
	default:
		r.Fail()
	}
	properties := r.Count()
	if properties > 0 {
		d.properties.first = r.growing(events+1, uint64(properties))
	}
	d.properties.name, d.properties.value = r.column(properties), r.column(properties)
	scrolls := r.Count()
	d.scrolls = make([]scroll, 0, scrolls)
	for range scrolls {
		s := scroll{uint32(r.Uint()), uint32(r.Uint()), r.Int()}
		if int(s.visit) >= visits || int(s.page) >= len(d.path.values) {
			r.Fail()
		}
		d.scrolls = append(d.scrolls, s)
	}
	d.silence()
}

func (r *decoder) text() string { return string(r.Bytes(r.Uint())) }

func (r *decoder) ints(n int) []int64 {
	all := make([]int64, n)
	r.Ints(all)
	return all
}

func (r *decoder) times(n int) []int64 {
	all := r.ints(n)
	for i := 1; i < len(all); i++ {
		all[i] += all[i-1]
	}
	return all
}

// growing reads n numbers that never decrease and never exceed a limit.
func (r *decoder) growing(n int, limit uint64) []uint32 {
	all := make([]uint32, n)
	last := uint64(0)
	for i := range all {
		if last += r.Uint(); last > limit {
			r.Fail()
			return all
		}
		all[i] = uint32(last)
	}
	return all
}

// users reads the users of n visits, or none.
func (r *decoder) users(n int) []uint64 {
	switch users := r.Count(); users {
	case 0:
		return nil
	case n:
		b := r.Bytes(8 * uint64(n))
		all := make([]uint64, len(b)/8)
		for i := range all {
			all[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return all
	default:
		r.Fail()
		return nil
	}
}

func (r *decoder) bools(n int) []bool {
	all := make([]bool, n)
	for i, b := range r.Bytes(uint64(n)) {
		all[i] = b == 1
	}
	return all
}

// column reads a column of n rows.
func (r *decoder) column(n int) (c column) {
	c.values = make([]string, 1, r.Count()+1)
	for range cap(c.values) - 1 {
		c.values = append(c.values, r.text())
	}
	most := 0
	switch texts := len(c.values); {
	case texts == 1:
	case texts <= narrowTexts:
		c.narrow = slices.Clone(r.Bytes(uint64(n)))
		for _, code := range c.narrow {
			most = max(most, int(code))
		}
	case texts <= middleTexts:
		b := r.Bytes(2 * uint64(n))
		c.middle = make([]uint16, len(b)/2)
		for i := range c.middle {
			c.middle[i] = binary.LittleEndian.Uint16(b[2*i:])
			most = max(most, int(c.middle[i]))
		}
	default:
		b := r.Bytes(4 * uint64(n))
		c.wide = make([]uint32, len(b)/4)
		for i := range c.wide {
			c.wide[i] = binary.LittleEndian.Uint32(b[4*i:])
			most = max(most, int(c.wide[i]))
		}
	}
	if most >= len(c.values) {
		r.Fail()
	}
	return c
}
