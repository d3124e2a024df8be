// Package facets defines the values of dimensions under which events and visits are counted, and
// computes what a visitor's day, or a change of it, adds to and subtracts from hourly breakdowns.
package facets

import "github.com/onefold/onefold/analytics/internal/visits"

// Dimension is a property that statistics are broken down by.
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

	// VitalsOf is the prefix of the dimensions of web vitals: VitalsOf + Page counts vitals by
	// page.
	VitalsOf = "vitals:"
	// Property is the prefix of the dimensions of custom properties.
	Property = "prop:"
)

// OfVisits are the dimensions with one value per visit, in the order of ValuesOf.
var OfVisits = [...]Dimension{
	EntryPage, ExitPage, Referrer, Source, Channel,
	UTMSource, UTMMedium, UTMCampaign, UTMTerm, UTMContent,
	Country, Region, City, Browser, OS, Device, Screen, Language, Hostname,
}

// ValuesOf returns a visit's values of OfVisits.
func ValuesOf(v *visits.Visit) [len(OfVisits)]string {
	return [...]string{
		v.Entry.Path, v.Exit.Path, v.Referrer, v.Source.Name, v.Channel,
		v.UTM.Source, v.Medium, v.Campaign, v.Term, v.Content,
		v.Country, v.Region, v.City, v.Browser, v.OS, v.Device, v.Screen, v.Language, v.Host,
	}
}

// All are all dimensions except custom properties.
var All = append([]Dimension{Page, EventName, Goal, Outbound, Download, NotFound}, OfVisits[:]...)
