package explore

import (
	"slices"

	"github.com/onefold/onefold/analytics/internal/visits"
)

// emit adds the visits of a person with their events.
func (a *assembly) emit(p *personOfDay, visitor uint32) {
	first := len(a.visitor)
	if p.owns > 0 {
		a.emitMixed(p, visitor)
	} else {
		a.emitPlain(p, visitor)
	}
	if len(p.scrolls) > 0 {
		a.emitScrolls(p, first)
	}
}

// emitPlain handles a person without session IDs. An event belongs to the last visit that started
// before it; a measurement before all visits belongs to the first.
func (a *assembly) emitPlain(p *personOfDay, visitor uint32) {
	at := p.firstVisit
	a.emitVisit(at, visitor)
	for i := p.firstEvent; i != none; i = a.events[i].next {
		f := &a.events[i]
		for next := a.visits[at].next; next != none && a.visits[next].start <= f.at; next = a.visits[at].next {
			at = next
			a.emitVisit(at, visitor)
		}
		a.emitEvent(f)
	}
}

// emitMixed handles a person with session IDs, whose visits may overlap.
func (a *assembly) emitMixed(p *personOfDay, visitor uint32) {
	var mine []int32
	of := map[int32][]*eventOfDay{}
	for at := p.firstVisit; at != none; at = a.visits[at].next {
		mine = append(mine, at)
	}
	for i := p.firstEvent; i != none; i = a.events[i].next {
		f := &a.events[i]
		at := a.visitAround(mine, f)
		of[at] = append(of[at], f)
	}
	for _, at := range mine {
		a.emitVisit(at, visitor)
		for _, f := range of[at] {
			a.emitEvent(f)
		}
	}
}

// visitAround is visitOf for the visits of an assembly.
func (a *assembly) visitAround(mine []int32, f *eventOfDay) int32 {
	other := int32(none)
	for _, at := range mine {
		v := &a.visits[at]
		switch {
		case f.own == v.own && (f.own != 0 || f.at >= v.start && f.at <= v.end):
			return at
		case f.silent && (other == none || v.start <= f.at):
			other = at
		}
	}
	return other
}

func (a *assembly) emitVisit(place int32, visitor uint32) {
	v := &a.visits[place]
	a.visitor = append(a.visitor, visitor)
	a.user = append(a.user, v.user)
	a.seconds = append(a.seconds, (v.end-v.start)/1000)
	a.bounced = append(a.bounced, v.events == 0 && v.views == 1)
	a.started.add(a.hours.Of(v.hour))
	n := len(visits.Dimensions)
	for i, value := range a.values[int(place)*n : (int(place)+1)*n] {
		a.one[i].codes = append(a.one[i].codes, value)
	}
	a.addGoals(v.goals)
	a.first = append(a.first, uint32(len(a.at)))
}

func (a *assembly) emitEvent(f *eventOfDay) {
	a.at, a.engaged = append(a.at, f.at), append(a.engaged, f.engaged)
	a.hour.codes, a.name.codes = append(a.hour.codes, f.hour), append(a.name.codes, f.name)
	a.path.codes, a.revenue.codes = append(a.path.codes, f.path), append(a.revenue.codes, f.revenue)
	a.properties.first = append(a.properties.first, uint32(len(a.property.codes)))
	for _, p := range a.props[f.props:f.propsEnd] {
		a.property.codes, a.content.codes = append(a.property.codes, p.name), append(a.content.codes, p.value)
	}
}

// emitScrolls adds the scroll depths of a person; see columnsMaker.addScrolls. The person's visits
// were already added, from index first on.
func (a *assembly) emitScrolls(p *personOfDay, first int) {
	listed := map[uint32]uint32{} // first visit of each page
	for v := first; v < len(a.visitor); v++ {
		end := len(a.at)
		if v+1 < len(a.first) {
			end = int(a.first[v+1])
		}
		for e := int(a.first[v]); e < end; e++ {
			page := a.path.codes[e]
			if _, before := listed[page]; !before && a.name.codes[e] == 0 && page != 0 {
				listed[page] = uint32(v)
			}
		}
	}
	a.boundPages(listed)
	for _, s := range p.scrolls {
		page := a.path.place(s.Page)
		visit, found := listed[page]
		if !found {
			visit = uint32(first)
		}
		a.scrolls = append(a.scrolls, scroll{visit, page, s.Percent})
	}
}

// boundPages keeps only the pages that visits list; see visits.List.
func (a *assembly) boundPages(listed map[uint32]uint32) {
	if len(listed) <= visits.MaxPages {
		return
	}
	texts := make([]string, 0, len(listed))
	for page := range listed {
		texts = append(texts, a.path.values[page-1])
	}
	slices.Sort(texts)
	for _, text := range texts[visits.MaxPages:] {
		delete(listed, a.path.place(text))
	}
}
