// Package facets says under which values of which dimensions events and visits are counted, and how: what a visitor's day
// adds to the breakdowns of hours, and what a change of it adds or takes off again. It is a part of analytics, and used by
// nobody else.
package facets

import "github.com/onefold/onefold/analytics/internal/visits"

// Dimension is one way to break statistics down.
type Dimension string

// The dimensions. See the constants of package analytics for what each counts.
const (
	Page        Dimension = "page"
	EntryPage   Dimension = "entry_page"
	ExitPage    Dimension = "exit_page"
	Referrer    Dimension = "referrer"
	Source      Dimension = "source"
	Channel     Dimension = "channel"
	UTMSource   Dimension = "utm_source"
	UTMMedium   Dimension = "utm_medium"
	UTMCampaign Dimension = "utm_campaign"
	UTMTerm     Dimension = "utm_term"
	UTMContent  Dimension = "utm_content"
	Country     Dimension = "country"
	Region      Dimension = "region"
	City        Dimension = "city"
	Browser     Dimension = "browser"
	OS          Dimension = "os"
	Device      Dimension = "device"
	Screen      Dimension = "screen"
	Language    Dimension = "language"
	Hostname    Dimension = "hostname"
	EventName   Dimension = "event"
	Goal        Dimension = "goal"
	Outbound    Dimension = "outbound"
	Download    Dimension = "download"
	NotFound    Dimension = "not_found"

	// VitalsOf is what dimensions of web vitals begin with: what of vitals events is counted beside the dimension itself.
	VitalsOf = "vitals:"
	// Property is what dimensions of custom properties begin with.
	Property = "prop:"
)

// OfVisits are the dimensions of which a visit has one value each, in the order of ValuesOf.
var OfVisits = [...]Dimension{
	EntryPage, ExitPage, Referrer, Source, Channel,
	UTMSource, UTMMedium, UTMCampaign, UTMTerm, UTMContent,
	Country, Region, City, Browser, OS, Device, Screen, Language, Hostname,
}

// ValuesOf are a visit's values of OfVisits.
func ValuesOf(v *visits.Visit) [len(OfVisits)]string {
	return [...]string{
		v.Entry.Path, v.Exit.Path, v.Referrer, v.Source.Name, v.Channel,
		v.UTM.Source, v.Medium, v.Campaign, v.Term, v.Content,
		v.Country, v.Region, v.City, v.Browser, v.OS, v.Device, v.Screen, v.Language, v.Host,
	}
}

// All are all dimensions but those of custom properties.
var All = append([]Dimension{Page, EventName, Goal, Outbound, Download, NotFound}, OfVisits[:]...)
