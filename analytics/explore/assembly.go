package explore

import (
	"errors"
	"slices"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// errNotPlain means that an assembly cannot process a day: events are out of order, or a visitor's
// day has more session IDs than are kept apart.
var errNotPlain = errors.New("explore: no plain day")

// An assembly builds the columns of a day directly from its events, in order of ID. It keeps
// neither the events nor the visits that the folds would build, which would take much longer. The
// result equals columnsOf for the visits of a builder. Because events are in order, a visit simply
// continues until nothing happens for visits.Gap, or groups the events with one session ID.
type assembly struct {
	columnsMaker
	people  map[personKey]int32 // index in persons
	persons []personOfDay
	visits  []visitOfDay
	values  []uint32 // values of visits.Dimensions, for each visit in turn
	events  []eventOfDay
	props   []propertyOfEvent
	own     columnMaker
	recent  lastHour
	lastID  string
}

// personKey names a visitor's day; see analytics.VisitorKey.
type personKey struct {
	shard int
	id    string
	day   int64 // in the site's zone, counted from 1970
}

// personOfDay is the day of one visitor. Lists are linked by indexes into the assembly's slices;
// none ends them.
type personOfDay struct {
	firstVisit, lastVisit int32
	firstEvent, lastEvent int32
	lastPlain             int32 // latest visit without a session ID
	owns                  int   // number of visits with a session ID
	scrolls               visits.Depths
}

const none = -1

// visitOfDay is one visit.
type visitOfDay struct {
	next          int32
	start, end    int64 // epoch milliseconds
	hour          int64 // hour of its first event, epoch seconds
	views, events int64 // page views and custom events
	entry, exit   uint32
	own           uint32
	user          uint64 // hash of its user
	goals         visits.Conversions
}

// eventOfDay is one event. Texts are indexes into their columns.
type eventOfDay struct {
	next                      int32
	silent                    bool
	at, engaged               int64
	own                       uint32
	hour, name, path, revenue uint32
	props, propsEnd           uint32
}

type propertyOfEvent struct{ name, value uint32 }

// lastHour caches the hour of the previous event.
type lastHour struct {
	from    int64 // epoch milliseconds
	minutes int   // zone offset
	hour    int64 // epoch seconds
	place   uint32
}

func newAssembly(hours *calendar.HourNames, users *userKey) *assembly {
	return &assembly{columnsMaker: columnsMaker{hours: hours, users: users, one: make([]columnMaker, len(visits.Dimensions))}, people: map[personKey]int32{}}
}

// add adds an event. It ignores erased events and those that no fold can read. Errors: errNotPlain.
func (a *assembly) add(e *analytics.Event) error {
	if e.EventID <= a.lastID {
		return errNotPlain
	}
	a.lastID = e.EventID
	id, err := ulid.ParseStrict(e.EventID)
	if err != nil || e.Erased {
		return nil //nolint:nilerr // see above
	}
	isSilent := silent(e)
	if !isSilent && e.Revenue != "" {
		if _, err := decimal.Parse(e.Revenue); err != nil {
			return nil
		}
	}
	at := int64(id.Time())
	p := a.person(personKey{e.VisitorShard, e.VisitorID, dayNumber(at, e.ZoneMinutes)})
	hour := a.hourOf(at, e.ZoneMinutes)
	f := a.eventOf(e, at, isSilent)
	if isSilent {
		if e.Scroll != 0 && e.Path != "" {
			p.scrolls.Add(visits.Depth{Page: e.Path, Percent: int64(e.Scroll)})
		}
	} else if err := a.visit(p, e, &f, hour); err != nil {
		return err
	}
	link(&p.firstEvent, &p.lastEvent, int32(len(a.events)), func(last int32) *int32 { return &a.events[last].next })
	a.events = append(a.events, f)
	return nil
}

// person returns a visitor's day. The pointer is valid until the next call.
func (a *assembly) person(k personKey) *personOfDay {
	at, known := a.people[k]
	if !known {
		at = int32(len(a.persons))
		a.people[k] = at
		a.persons = append(a.persons, personOfDay{none, none, none, none, none, 0, nil})
	}
	return &a.persons[at]
}

// link appends an index to a linked list.
func link(first, last *int32, place int32, next func(last int32) *int32) {
	if *last == none {
		*first = place
	} else {
		*next(*last) = place
	}
	*last = place
}

// dayNumber returns the day of a time at a UTC offset in minutes, counted from 1970.
func dayNumber(ms int64, minutes int) int64 {
	const day = 24 * 60 * 60 * 1000
	local := ms + int64(minutes)*60_000
	if local < 0 {
		return (local+1)/day - 1
	}
	return local / day
}

// hourOf returns the hour of an event in epoch seconds, and caches its index in the column.
func (a *assembly) hourOf(at int64, minutes int) int64 {
	if h := &a.recent; h.from == 0 || at < h.from || at >= h.from+3_600_000 || minutes != h.minutes {
		hour := calendar.HourOf(at, minutes)
		a.recent = lastHour{hour * 1000, minutes, hour, a.hour.place(a.hours.Of(hour))}
	}
	return a.recent.hour
}

// eventOf returns the stored form of an event. Call hourOf first, for the event's hour.
func (a *assembly) eventOf(e *analytics.Event, at int64, isSilent bool) eventOfDay {
	f := eventOfDay{
		next: none, silent: isSilent, at: at, own: a.own.place(e.SessionID), hour: a.recent.place,
		name: a.name.place(e.Name), path: a.path.place(e.Path), revenue: a.revenue.place(e.Revenue), props: uint32(len(a.props)),
	}
	if isSilent {
		f.engaged = e.EngagedMS
	}
	for name, value := range e.Properties {
		a.props = append(a.props, propertyOfEvent{a.property.place(name), a.content.place(value)})
	}
	f.propsEnd = uint32(len(a.props))
	return f
}

// visit counts an event in its visit, which it may start. Errors: errNotPlain.
func (a *assembly) visit(p *personOfDay, e *analytics.Event, f *eventOfDay, hour int64) error {
	at := a.visitOf(p, f)
	if at == none {
		at = int32(len(a.visits))
		a.begin(p, e, f, hour)
	}
	if p.owns > visits.MaxOwn {
		return errNotPlain
	}
	v := &a.visits[at]
	v.end, v.hour = f.at, min(v.hour, hour)
	v.goals = v.goals.Plus(e.Goals)
	if e.UserID != "" {
		v.user = a.users.hash(e.UserID)
	}
	if e.Name != "" {
		v.events++
		return nil
	}
	if v.views == 0 {
		v.entry = f.path
	}
	v.exit = f.path
	v.views++
	return nil
}

// visitOf returns the visit of an event that is not a measurement; none if the event starts one.
func (a *assembly) visitOf(p *personOfDay, f *eventOfDay) int32 {
	if f.own == 0 {
		if p.lastPlain != none && f.at-a.visits[p.lastPlain].end < visits.Gap.Milliseconds() {
			return p.lastPlain
		}
		return none
	}
	at := p.firstVisit
	for at != none && a.visits[at].own != f.own {
		at = a.visits[at].next
	}
	return at
}

// begin starts a visit with its first event.
func (a *assembly) begin(p *personOfDay, e *analytics.Event, f *eventOfDay, hour int64) {
	place := int32(len(a.visits))
	link(&p.firstVisit, &p.lastVisit, place, func(last int32) *int32 { return &a.visits[last].next })
	if f.own == 0 {
		p.lastPlain = place
	} else {
		p.owns++
	}
	a.visits = append(a.visits, visitOfDay{next: none, start: f.at, hour: hour, own: f.own})
	v := &visits.Visit{Traits: e.Traits, Host: e.Host}
	for i, d := range visits.Dimensions {
		a.values = append(a.values, a.one[i].place(*d.Of(v)))
	}
}

// finish builds the columns.
func (a *assembly) finish() *columns {
	a.reserve()
	entry, exit := placeOfDimension(analytics.ByEntryPage), placeOfDimension(analytics.ByExitPage)
	texts := append([]string{""}, a.path.values...)
	for i := range a.visits {
		v, values := &a.visits[i], a.values[i*len(visits.Dimensions):]
		values[entry], values[exit] = a.one[entry].place(texts[v.entry]), a.one[exit].place(texts[v.exit])
	}
	visitor := uint32(0)
	for i := range a.persons {
		if p := &a.persons[i]; p.firstVisit != none {
			a.emit(p, visitor)
			visitor++
		}
	}
	return a.columnsMaker.finish()
}

func placeOfDimension(d analytics.Dimension) int {
	return slices.IndexFunc(visits.Dimensions, func(of visits.Dimension) bool { return of.Name == d })
}

// reserve allocates space for all visits and events.
func (a *assembly) reserve() {
	n, m := len(a.visits), len(a.events)
	a.visitor, a.seconds, a.bounced = make([]uint32, 0, n), make([]int64, 0, n), make([]bool, 0, n)
	a.user = make([]uint64, 0, n)
	a.first, a.at, a.engaged = make([]uint32, 0, n+1), make([]int64, 0, m), make([]int64, 0, m)
	a.goals.first, a.properties.first = make([]uint32, 0, n+1), make([]uint32, 0, m+1)
	a.started.codes = make([]uint32, 0, n)
	for i := range a.one {
		a.one[i].codes = make([]uint32, 0, n)
	}
	for _, c := range []*columnMaker{&a.hour, &a.name, &a.path, &a.revenue} {
		c.codes = make([]uint32, 0, m)
	}
}
