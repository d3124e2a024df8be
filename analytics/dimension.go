package analytics

import (
	"github.com/onefold/onefold/analytics/internal/facets"
)

// Dimension is one way to break statistics down.
type Dimension = facets.Dimension

// The dimensions. Page, event name and those that follow it are counted from events; goal and the others from visits,
// whose page views are counted in the hour in which they happened, so that each adds up to the same totals.
const (
	ByPage        = facets.Page
	ByEntryPage   = facets.EntryPage
	ByExitPage    = facets.ExitPage
	ByReferrer    = facets.Referrer
	BySource      = facets.Source
	ByChannel     = facets.Channel
	ByUTMSource   = facets.UTMSource
	ByUTMMedium   = facets.UTMMedium
	ByUTMCampaign = facets.UTMCampaign
	ByUTMTerm     = facets.UTMTerm
	ByUTMContent  = facets.UTMContent
	ByCountry     = facets.Country
	ByRegion      = facets.Region
	ByCity        = facets.City
	ByBrowser     = facets.Browser
	ByOS          = facets.OS
	ByDevice      = facets.Device
	ByScreen      = facets.Screen
	ByLanguage    = facets.Language
	ByHostname    = facets.Hostname // of the visit's first event
	ByGoal        = facets.Goal     // id of the goal; events are conversions, visits those that reached it
	ByEventName   = facets.EventName
	ByOutbound    = facets.Outbound // address that an OutboundEvent names
	ByDownload    = facets.Download // address that a DownloadEvent names
	ByNotFound    = facets.NotFound // path of a NotFoundEvent's page
)

// Names of custom events that have a dimension of their own. The first two name an address in their property url.
const (
	OutboundEvent = "outbound"
	DownloadEvent = "download"
	NotFoundEvent = "404"

	urlProperty = "url"
)

// Dimensions are all of them but those of custom properties, for which see Site.Dimensions.
var Dimensions = facets.All

// What counts under no value of a dimension.
const (
	None  = "(none)"  // page views and visits without a value
	Other = "(other)" // values that found no place in a bounded breakdown, counted together
)
