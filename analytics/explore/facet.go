package explore

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/internal/dimension"
)

// Property is the prefix of dimensions of custom properties, such as prop:plan.
const Property = "prop:"

// facet is a dimension as seen by questions. A visit has one value of it, or the values of all its
// events, or the goals that it reached.
type facet struct {
	by     analytics.Dimension
	events bool // values belong to events
	goals  bool
}

// facetOf returns the facet of a dimension, and whether the dimension is valid.
func facetOf(d analytics.Dimension) (facet, bool) {
	if name, ok := strings.CutPrefix(string(d), Property); ok {
		return facet{by: d, events: true}, name != ""
	}
	switch d {
	case analytics.ByPage, analytics.ByEventName, analytics.ByOutbound, analytics.ByDownload, analytics.ByNotFound:
		return facet{by: d, events: true}, true
	case analytics.ByGoal:
		return facet{by: d, goals: true}, true
	}
	return facet{by: d}, dimension.OfVisit(d)
}

// ofVisit reports whether a visit has exactly one value.
func (f *facet) ofVisit() bool { return !f.events && !f.goals }

// facetColumn is a facet of one day.
type facetColumn struct {
	facet
	values []string        // the first means no value
	one    *column         // by visit
	of     func(e int) int // index in values of an event's value
	goal   *goalColumns
}

// urlProperty is the property with the URL of outbound and download events.
const urlProperty = "url"

// facet returns the values of a facet on the day.
func (d *columns) facet(f facet) facetColumn {
	c := facetColumn{facet: f}
	named := func(event string, of func(e int) int) func(e int) int {
		name := d.name.find(event)
		return func(e int) int {
			if d.name.at(e) != name {
				return 0
			}
			return of(e)
		}
	}
	switch f.by {
	case analytics.ByGoal:
		c.values, c.goal = d.goals.goal.values, &d.goals
	case analytics.ByPage:
		c.values, c.of = d.path.values, named("", d.path.at)
	case analytics.ByNotFound:
		c.values, c.of = d.path.values, named(analytics.NotFoundEvent, d.path.at)
	case analytics.ByEventName:
		c.values, c.of = d.name.values, d.name.at
	case analytics.ByOutbound:
		c.values, c.of = d.properties.value.values, named(analytics.OutboundEvent, d.properties.reader(urlProperty))
	case analytics.ByDownload:
		c.values, c.of = d.properties.value.values, named(analytics.DownloadEvent, d.properties.reader(urlProperty))
	default:
		if name, ok := strings.CutPrefix(string(f.by), Property); ok {
			c.values, c.of = d.properties.value.values, d.properties.reader(name)
		} else {
			c.one = d.one[f.by]
			c.values = c.one.values
		}
	}
	return c
}

// reader returns a function that reads the named property of an event.
func (p *propertyColumns) reader(name string) func(e int) int {
	wanted := p.name.find(name)
	if wanted < 0 || p.first == nil {
		return func(int) int { return 0 }
	}
	return func(e int) int {
		for i := p.first[e]; i < p.first[e+1]; i++ {
			if p.name.at(int(i)) == wanted {
				return p.value.at(int(i))
			}
		}
		return 0
	}
}

func unknownDimension(d analytics.Dimension) error {
	names := make([]string, 0, len(analytics.Dimensions))
	for _, known := range analytics.Dimensions {
		names = append(names, string(known))
	}
	if len(d) > maxValueBytes {
		d = d[:maxValueBytes]
	}
	return fmt.Errorf("%w: dimension %q: want one of %s, or %sNAME", ErrQuestion, d, strings.Join(names, ", "), Property)
}
