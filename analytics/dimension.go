package analytics

import (
	"github.com/onefold/onefold/analytics/internal/dimension"
)

// Dimension is a property that statistics are broken down by.
type Dimension = dimension.Name

// DimensionDef declares a dimension: how it is named, stored and shown.
type DimensionDef = dimension.Def

// Traits are the texts of an event that describe its visitor and where the visitor came from. Each
// is a dimension; a visit has the traits of its first event.
type (
	Traits   = dimension.Traits
	Client   = dimension.Client   // the part about the device and the location
	Reported = dimension.Reported // the part that senders report with their events
)

// MaxClient is the maximum length in bytes of a text of a Client. Longer ones are cut.
const MaxClient = dimension.MaxClient

var (
	DimensionDefs = dimension.All       // declarations of Dimensions, in the same order
	TraitDefs     = dimension.TraitDefs // those of traits
	// DimensionMenu is the order of dimensions in the dashboard's filters, DimensionPanels are those
	// of its panels.
	DimensionMenu   = dimension.Menu
	DimensionPanels = dimension.Panels
)

// The dimensions. ByPage, ByEventName and those after it are counted from events, the others from
// visits, with each page view in its own hour, so that their totals agree.
const (
	ByPage        = dimension.Page
	ByEntryPage   = dimension.EntryPage
	ByExitPage    = dimension.ExitPage
	ByReferrer    = dimension.Referrer
	BySource      = dimension.Source
	ByChannel     = dimension.Channel
	ByUTMSource   = dimension.UTMSource
	ByUTMMedium   = dimension.UTMMedium
	ByUTMCampaign = dimension.UTMCampaign
	ByUTMTerm     = dimension.UTMTerm
	ByUTMContent  = dimension.UTMContent
	ByCountry     = dimension.Country
	ByRegion      = dimension.Region
	ByCity        = dimension.City
	ByBrowser     = dimension.Browser
	ByOS          = dimension.OS
	ByDevice      = dimension.Device
	ByScreen      = dimension.Screen
	ByLanguage    = dimension.Language
	ByHostname    = dimension.Hostname // of the visit's first event
	ByGoal        = dimension.Goal     // goal ID; events are conversions, visits are those that reached it
	ByEventName   = dimension.EventName
	ByOutbound    = dimension.Outbound // URL in an OutboundEvent
	ByDownload    = dimension.Download // URL in a DownloadEvent
	ByNotFound    = dimension.NotFound // path of a NotFoundEvent's page
)

// Names of custom events with their own dimension. The first two have a URL in the property url.
const (
	OutboundEvent = "outbound"
	DownloadEvent = "download"
	NotFoundEvent = "404"

	urlProperty = "url"
)

// Dimensions are all dimensions except custom properties; for those see Site.Dimensions.
var Dimensions = dimension.Names

// Names for counts that belong to no value of a dimension.
const (
	None  = "(none)"  // page views and visits without a value
	Other = "(other)" // values that did not fit in a bounded breakdown, counted together
)

// OfVisit reports whether a visit has exactly one value of a dimension, or none. It has several pages
// and events.
func OfVisit(d Dimension) bool { return dimension.OfVisit(d) }
