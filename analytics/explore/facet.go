package explore

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/analytics"
)

// Property is what the dimensions of custom properties begin with: prop:plan.
const Property = "prop:"

// facet is how a dimension's values are read off a visit: of each of its events, of the goals that it reached, or one.
type facet struct {
	of      func(f *fact) string  // an event's value; "" is none
	goals   bool                  // a visit has the goals that it reached
	one     func(v *visit) string // a visit's only value
	scrolls bool                  // values are pages, of which is known how deep they were seen
}

// values gives a visit's values until it is told to stop; "" is none.
func (f *facet) values(v *visit, yield func(value string) bool) {
	switch {
	case f.goals:
		for i := range v.Goals {
			if n, _ := v.Goals[i].Worth(); n > 0 && !yield(v.Goals[i].Goal) {
				return
			}
		}
	case f.of != nil:
		for i := range v.facts {
			if e := &v.facts[i]; !e.silent && !yield(f.of(e)) {
				return
			}
		}
	default:
		yield(f.one(v))
	}
}

// urlProperty is where outbound and download events name an address.
const urlProperty = "url"

// facetOf finds a dimension's facet.
func facetOf(d analytics.Dimension) (facet, bool) {
	if name, ok := strings.CutPrefix(string(d), Property); ok {
		return facet{of: func(f *fact) string { return f.props[name] }}, name != ""
	}
	named := func(event string, of func(f *fact) string) facet {
		return facet{of: func(f *fact) string {
			if f.name != event {
				return ""
			}
			return of(f)
		}}
	}
	address := func(f *fact) string { return f.props[urlProperty] }
	path := func(f *fact) string { return f.path }
	switch d {
	case analytics.ByPage:
		page := named("", path)
		page.scrolls = true
		return page, true
	case analytics.ByEventName:
		return facet{of: func(f *fact) string { return f.name }}, true
	case analytics.ByOutbound:
		return named(analytics.OutboundEvent, address), true
	case analytics.ByDownload:
		return named(analytics.DownloadEvent, address), true
	case analytics.ByNotFound:
		return named(analytics.NotFoundEvent, path), true
	case analytics.ByGoal:
		return facet{goals: true}, true
	}
	one := visitValue(d)
	return facet{one: one}, one != nil
}

// visitValue reads a dimension of which a visit has one value; nil for others.
func visitValue(d analytics.Dimension) func(v *visit) string {
	if of := placeValue(d); of != nil {
		return of
	}
	switch d {
	case analytics.ByEntryPage:
		return func(v *visit) string { return v.Entry.Path }
	case analytics.ByExitPage:
		return func(v *visit) string { return v.Exit.Path }
	case analytics.ByReferrer:
		return func(v *visit) string { return v.Referrer }
	case analytics.BySource:
		return func(v *visit) string { return v.Source.Name }
	case analytics.ByChannel:
		return func(v *visit) string { return v.Channel }
	case analytics.ByUTMSource:
		return func(v *visit) string { return v.UTM.Source }
	case analytics.ByUTMMedium:
		return func(v *visit) string { return v.Medium }
	case analytics.ByUTMCampaign:
		return func(v *visit) string { return v.Campaign }
	case analytics.ByUTMTerm:
		return func(v *visit) string { return v.Term }
	case analytics.ByUTMContent:
		return func(v *visit) string { return v.Content }
	case analytics.ByHostname:
		return func(v *visit) string { return v.Host }
	}
	return nil
}

// placeValue is visitValue for what a visit's client says.
func placeValue(d analytics.Dimension) func(v *visit) string {
	switch d {
	case analytics.ByCountry:
		return func(v *visit) string { return v.Country }
	case analytics.ByRegion:
		return func(v *visit) string { return v.Region }
	case analytics.ByCity:
		return func(v *visit) string { return v.City }
	case analytics.ByBrowser:
		return func(v *visit) string { return v.Browser }
	case analytics.ByOS:
		return func(v *visit) string { return v.OS }
	case analytics.ByDevice:
		return func(v *visit) string { return v.Device }
	case analytics.ByScreen:
		return func(v *visit) string { return v.Screen }
	case analytics.ByLanguage:
		return func(v *visit) string { return v.Language }
	}
	return nil
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
