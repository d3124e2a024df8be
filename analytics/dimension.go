package analytics

import "strings"

// Dimension is one way to break statistics down.
type Dimension string

// The dimensions. Page and event name are counted from events; the others from visits, whose page views are counted
// in the hour in which they happened, so that every dimension adds up to the same totals.
const (
	ByPage        Dimension = "page"
	ByEntryPage   Dimension = "entry_page"
	ByExitPage    Dimension = "exit_page"
	ByReferrer    Dimension = "referrer"
	BySource      Dimension = "source"
	ByChannel     Dimension = "channel"
	ByUTMSource   Dimension = "utm_source"
	ByUTMMedium   Dimension = "utm_medium"
	ByUTMCampaign Dimension = "utm_campaign"
	ByUTMTerm     Dimension = "utm_term"
	ByUTMContent  Dimension = "utm_content"
	ByCountry     Dimension = "country"
	ByRegion      Dimension = "region"
	ByCity        Dimension = "city"
	ByBrowser     Dimension = "browser"
	ByOS          Dimension = "os"
	ByDevice      Dimension = "device"
	ByScreen      Dimension = "screen"
	ByLanguage    Dimension = "language"
	ByEventName   Dimension = "event"
)

// Dimensions are all of them.
var Dimensions = append([]Dimension{ByPage, ByEventName}, visitDimensions[:]...)

// dimensionList names all dimensions, for people.
func dimensionList() string {
	names := make([]string, len(Dimensions))
	for i, d := range Dimensions {
		names[i] = string(d)
	}
	return strings.Join(names, ", ")
}
