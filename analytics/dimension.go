package analytics

import (
	"github.com/onefold/onefold/analytics/internal/facets"
)

// Dimension is a property that statistics are broken down by.
type Dimension = facets.Dimension

// The dimensions. ByPage, ByEventName and those after it are counted from events, the others from
// visits, with each page view in its own hour, so that their totals agree.
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
	ByGoal        = facets.Goal     // goal ID; events are conversions, visits are those that reached it
	ByEventName   = facets.EventName
	ByOutbound    = facets.Outbound // URL in an OutboundEvent
	ByDownload    = facets.Download // URL in a DownloadEvent
	ByNotFound    = facets.NotFound // path of a NotFoundEvent's page
)

// Names of custom events with their own dimension. The first two have a URL in the property url.
const (
	OutboundEvent = "outbound"
	DownloadEvent = "download"
	NotFoundEvent = "404"

	urlProperty = "url"
)

// Dimensions are all dimensions except custom properties; for those see Site.Dimensions.
var Dimensions = facets.All

// Names for counts that belong to no value of a dimension.
const (
	None  = "(none)"  // page views and visits without a value
	Other = "(other)" // values that did not fit in a bounded breakdown, counted together
)
