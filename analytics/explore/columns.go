package explore

import (
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
)

// columns are the visits of a day with their events, a column for each thing that is known of them. They take a small part
// of the memory that visits and facts take, and a question reads only the columns that it asks for. They know what
// happened, and not who it was: visitors are numbers. They do not change once they are made.
type columns struct {
	// Of each visit. Those of one visitor follow each other.
	visitor []uint32 // number of its visitor
	seconds []int64
	bounced []bool
	started column // name of the hour
	one     map[analytics.Dimension]*column
	goals   goalColumns
	first   []uint32 // its first event; one more number than visits

	// Of each event, those of a visit in the order of time.
	at         []int64 // epoch milliseconds
	hour       column  // name of the hour
	name       column
	path       column
	revenue    column
	engaged    []int64 // milliseconds; nil: all 0
	silent     []bool  // by place in name: it measures a page, and is no part of the visit
	properties propertyColumns

	scrolls []scroll
	read    int // raw events that it is made of
	bytes   int
}

// goalColumns are the conversions of visits.
type goalColumns struct {
	first   []uint32 // of each visit; one more number than visits; nil: there are none
	goal    column
	count   []int64
	revenue column
}

// of are the first conversion of a visit, and the one after its last.
func (g *goalColumns) of(v int) (first, end int) {
	if g.first == nil {
		return 0, 0
	}
	return int(g.first[v]), int(g.first[v+1])
}

// propertyColumns are the properties of events.
type propertyColumns struct {
	first []uint32 // of each event; one more number than events; nil: there are none
	name  column
	value column
}

// scroll is how deep a visitor saw a page that day.
type scroll struct {
	visit   uint32 // that is said to have seen it
	page    uint32 // place in path
	percent int64
}

// events are the first event of a visit, and the one after its last.
func (d *columns) events(v int) (first, end int) { return int(d.first[v]), int(d.first[v+1]) }

// isSilent reports whether an event measures a page.
func (d *columns) isSilent(e int) bool { return d.silent[d.name.at(e)] }

func (d *columns) engagedOf(e int) int64 {
	if d.engaged == nil {
		return 0
	}
	return d.engaged[e]
}

// columnsMaker makes columns of visits.
type columnsMaker struct {
	columns
	hours             *calendar.HourNames
	one               []columnMaker // in the order of ofVisits
	started           columnMaker
	goal, worth       columnMaker
	hour, name        columnMaker
	path, revenue     columnMaker
	property, content columnMaker
}

// columnsOf makes columns of all visits of some visitors. Those of one visitor follow each other.
func columnsOf(all []*visit, hours *calendar.HourNames) *columns {
	m := &columnsMaker{hours: hours, one: make([]columnMaker, len(ofVisits))}
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
	m.seconds = append(m.seconds, v.Seconds())
	m.bounced = append(m.bounced, v.Bounced())
	m.started.add(m.hours.Of(v.StartHour()))
	for i := range ofVisits {
		m.one[i].add(ofVisits[i].value(v))
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

// addScrolls notes how deep pages were seen by the visitor of a visit, the first of the day. That visit is said to have
// seen a page which is the first that lists it, else the first of all.
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
	d.one = make(map[analytics.Dimension]*column, len(ofVisits))
	for i := range ofVisits {
		c := m.one[i].column()
		d.one[ofVisits[i].by] = &c
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
	d.silent = make([]bool, len(d.name.values))
	for i, name := range d.name.values {
		d.silent[i] = name == analytics.EngagementEvent || name == analytics.VitalsEvent
	}
	d.bytes = d.size()
	return &d
}

// size is about how many bytes the columns take.
func (d *columns) size() int {
	const itself, aScroll = 2048, 16
	n := itself + 4*(len(d.visitor)+len(d.first)+len(d.goals.first)+len(d.properties.first)) + len(d.bounced) +
		8*(len(d.seconds)+len(d.at)+len(d.engaged)+len(d.goals.count)) + aScroll*len(d.scrolls)
	for _, c := range []*column{&d.started, &d.goals.goal, &d.goals.revenue, &d.hour, &d.name, &d.path, &d.revenue, &d.properties.name, &d.properties.value} {
		n += c.size()
	}
	for _, c := range d.one {
		n += c.size()
	}
	return n
}
