package explore

import (
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
)

// columns holds the visits of a day with their events, one column per property. They take much less
// memory than visits and facts, and a question reads only the columns that it needs. Visitors are
// numbers, so columns do not identify them. columns are immutable once built.
type columns struct {
	// By visit. The visits of a visitor are adjacent.
	visitor []uint32 // number of the visitor
	seconds []int64
	bounced []bool
	started column // start of the hour
	one     map[analytics.Dimension]*column
	goals   goalColumns
	first   []uint32 // index of its first event; one more entry than visits
	user    []uint64 // hash of its user, 0 without one; nil: no visit has one

	// By event. The events of a visit are adjacent, in order of time.
	at         []int64 // epoch milliseconds
	hour       column  // start of the hour
	name       column
	path       column
	revenue    column
	engaged    []int64 // milliseconds; nil: all 0
	silent     []bool  // by index in name.values: measures a page, not part of the visit
	properties propertyColumns

	scrolls []scroll
	read    int // raw events behind the columns
	bytes   int
}

// goalColumns holds the conversions of visits.
type goalColumns struct {
	first   []uint32 // by visit; one more entry than visits; nil: no conversions
	goal    column
	count   []int64
	revenue column
}

// of returns the range of a visit's conversions.
func (g *goalColumns) of(v int) (first, end int) {
	if g.first == nil {
		return 0, 0
	}
	return int(g.first[v]), int(g.first[v+1])
}

// propertyColumns holds the properties of events.
type propertyColumns struct {
	first []uint32 // by event; one more entry than events; nil: no properties
	name  column
	value column
}

// scroll is the maximum scroll depth of a page in a visitor's day.
type scroll struct {
	visit   uint32 // visit to which the page is attributed
	page    uint32 // index in path.values
	percent int64
}

// userOf returns the number of a visit's user, or 0.
func (d *columns) userOf(v int) uint64 {
	if d.user == nil {
		return 0
	}
	return d.user[v]
}

// events returns the range of a visit's events.
func (d *columns) events(v int) (first, end int) { return int(d.first[v]), int(d.first[v+1]) }

// isSilent reports whether an event measures a page.
func (d *columns) isSilent(e int) bool { return d.silent[d.name.at(e)] }

func (d *columns) engagedOf(e int) int64 {
	if d.engaged == nil {
		return 0
	}
	return d.engaged[e]
}

// columnsMaker builds columns from visits.
type columnsMaker struct {
	columns
	hours             *calendar.HourNames
	users             *userKey
	one               []columnMaker // in the order of visits.Dimensions
	started           columnMaker
	goal, worth       columnMaker
	hour, name        columnMaker
	path, revenue     columnMaker
	property, content columnMaker
}

// columnsOf builds the columns of visits. The visits of a visitor must be adjacent.
func columnsOf(all []*visit, hours *calendar.HourNames, users *userKey) *columns {
	m := &columnsMaker{hours: hours, users: users, one: make([]columnMaker, len(visits.Dimensions))}
	visitor := uint32(0)
	for i, v := range all {
		if i > 0 && all[i-1].who != v.who {
			visitor++
		}
		m.visitor = append(m.visitor, visitor)
		m.addVisit(v)
		if i == 0 || all[i-1].who != v.who {
			m.addScrolls(v, uint32(i))
		}
	}
	return m.finish()
}

func (m *columnsMaker) addVisit(v *visit) {
	m.user = append(m.user, m.users.hash(v.UserID))
	m.seconds = append(m.seconds, v.Seconds())
	m.bounced = append(m.bounced, v.Bounced())
	m.started.add(m.hours.Of(v.StartHour()))
	for i, d := range visits.Dimensions {
		m.one[i].add(*d.Of(v.Visit))
	}
	m.addGoals(v.Goals)
	m.first = append(m.first, uint32(len(m.at)))
	for i := range v.facts {
		m.addFact(&v.facts[i])
	}
}

// addGoals adds the conversions of a visit.
func (m *columnsMaker) addGoals(of visits.Conversions) {
	m.goals.first = append(m.goals.first, uint32(len(m.goals.count)))
	for i := range of {
		if n, revenue := of[i].Worth(); n > 0 {
			m.goal.add(of[i].Goal)
			m.goals.count = append(m.goals.count, n)
			m.worth.add(revenue)
		}
	}
}

func (m *columnsMaker) addFact(f *fact) {
	m.at = append(m.at, f.at)
	m.hour.add(m.hours.Of(f.hour))
	m.name.add(f.name)
	m.path.add(f.path)
	m.revenue.add(f.revenue)
	m.engaged = append(m.engaged, f.engagedMS)
	m.properties.first = append(m.properties.first, uint32(len(m.property.codes)))
	for name, value := range f.props {
		m.property.add(name)
		m.content.add(value)
	}
}

// addScrolls adds the scroll depths of a visitor, whose first visit of the day is v. A page is
// attributed to the first visit that lists it, or else to the first visit.
func (m *columnsMaker) addScrolls(v *visit, number uint32) {
	if v.who == nil {
		return
	}
	for _, s := range v.who.Scrolls {
		place := slices.IndexFunc(v.who.Visits, func(v visits.Visit) bool {
			_, found := slices.BinarySearch(v.Pages, s.Page)
			return found
		})
		m.scrolls = append(m.scrolls, scroll{number + uint32(max(place, 0)), m.path.place(s.Page), s.Percent})
	}
}

func (m *columnsMaker) finish() *columns {
	d := m.columns
	d.first = append(d.first, uint32(len(d.at)))
	d.started = m.started.column()
	d.one = make(map[analytics.Dimension]*column, len(visits.Dimensions))
	for i, of := range visits.Dimensions {
		c := m.one[i].column()
		d.one[of.Name] = &c
	}
	d.goals.first = append(d.goals.first, uint32(len(d.goals.count)))
	d.goals.goal, d.goals.revenue = m.goal.column(), m.worth.column()
	d.hour, d.name, d.path, d.revenue = m.hour.column(), m.name.column(), m.path.column(), m.revenue.column()
	d.properties.first = append(d.properties.first, uint32(len(m.property.codes)))
	d.properties.name, d.properties.value = m.property.column(), m.content.column()
	if len(d.goals.count) == 0 {
		d.goals.first = nil
	}
	if len(m.property.codes) == 0 {
		d.properties.first = nil
	}
	if !slices.ContainsFunc(d.engaged, func(ms int64) bool { return ms != 0 }) {
		d.engaged = nil
	}
	if !slices.ContainsFunc(d.user, func(who uint64) bool { return who != 0 }) {
		d.user = nil
	}
	d.silence()
	d.bytes = d.size()
	return &d
}

// silence derives silent.
func (d *columns) silence() {
	d.silent = make([]bool, len(d.name.values))
	for i, name := range d.name.values {
		d.silent[i] = name == analytics.EngagementEvent || name == analytics.VitalsEvent
	}
}

// size returns the approximate memory size in bytes.
func (d *columns) size() int {
	const itself, aScroll = 2048, 16
	n := itself + 4*(len(d.visitor)+len(d.first)+len(d.goals.first)+len(d.properties.first)) + len(d.bounced) +
		8*(len(d.seconds)+len(d.user)+len(d.at)+len(d.engaged)+len(d.goals.count)) + aScroll*len(d.scrolls)
	for _, c := range []*column{&d.started, &d.goals.goal, &d.goals.revenue, &d.hour, &d.name, &d.path, &d.revenue, &d.properties.name, &d.properties.value} {
		n += c.size()
	}
	for _, c := range d.one {
		n += c.size()
	}
	return n
}
