// Package dimension declares the dimensions of statistics, each once. Ingest, the encodings of
// events and visits, breakdowns, filters, exports, the warehouse and the dashboard derive from All.
package dimension

import "slices"

// Name names a dimension in the API, in exports and in the warehouse.
type Name string

// The names that other code refers to. See the constants of package analytics for what each counts.
const (
	Page        Name = "page"
	EntryPage   Name = "entry_page"
	ExitPage    Name = "exit_page"
	Referrer    Name = "referrer"
	Source      Name = "source"
	Channel     Name = "channel"
	UTMSource   Name = "utm_source"
	UTMMedium   Name = "utm_medium"
	UTMCampaign Name = "utm_campaign"
	UTMTerm     Name = "utm_term"
	UTMContent  Name = "utm_content"
	Country     Name = "country"
	Region      Name = "region"
	City        Name = "city"
	Browser     Name = "browser"
	OS          Name = "os"
	Device      Name = "device"
	Screen      Name = "screen"
	Language    Name = "language"
	Hostname    Name = "hostname"
	EventName   Name = "event"
	Goal        Name = "goal"
	Outbound    Name = "outbound"
	Download    Name = "download"
	NotFound    Name = "not_found"

	// VitalsOf is the prefix of the dimensions of web vitals: VitalsOf + Page counts vitals by
	// page.
	VitalsOf = "vitals:"
	// Property is the prefix of the dimensions of custom properties.
	Property = "prop:"
)

// Def declares a dimension. The fields from Of on belong to traits.
type Def struct {
	Name
	Label string // in the dashboard
	Tab   string // in a panel of the dashboard; "" if no panel has it

	Of      func(*Traits) *string // the text in a trait; nil: not a trait
	Column  byte                  // number in blocks of events, see docs/format/events.md; never reuse one
	Meaning string                // of the column in the warehouse

	Sent    func(*Reported) *string // the text as a sender reports it; nil: the server finds it out
	MaxSent int                     // in characters, as in the tag of Reported
}

// All declares the dimensions in the order in which help texts and error messages list them. The
// order of traits and hostname is that of their texts in stored visits, so add new ones at the end.
var All = []Def{
	{Name: Page, Label: "Page", Tab: "Pages"},
	{Name: EventName, Label: "Event", Tab: "Events"},
	{Name: Goal, Label: "Goal", Tab: "Goals"},
	{Name: Outbound, Label: "Outbound link", Tab: "Outbound"},
	{Name: Download, Label: "Download", Tab: "Downloads"},
	{Name: NotFound, Label: "Not found", Tab: "Not found"},
	{Name: EntryPage, Label: "Entry page", Tab: "Entry"},
	{Name: ExitPage, Label: "Exit page", Tab: "Exit"},
	{Name: Referrer, Label: "Referrer", Tab: "Referrers", Of: func(t *Traits) *string { return &t.Referrer }, Column: 12, Meaning: "referring URL"},
	{Name: Source, Label: "Source", Tab: "Sources", Of: func(t *Traits) *string { return &t.Source.Name }, Column: 13, Meaning: "source of the visit, such as a website or app"},
	{Name: Channel, Label: "Channel", Tab: "Channels", Of: func(t *Traits) *string { return &t.Channel }, Column: 14, Meaning: "marketing channel of the source"},
	{Name: UTMSource, Label: "UTM source", Of: func(t *Traits) *string { return &t.UTM.Source }, Column: 15, Meaning: "utm_source of the campaign"},
	{Name: UTMMedium, Label: "UTM medium", Of: func(t *Traits) *string { return &t.Medium }, Column: 16, Meaning: "utm_medium of the campaign"},
	{Name: UTMCampaign, Label: "Campaign", Tab: "Campaigns", Of: func(t *Traits) *string { return &t.Campaign }, Column: 17, Meaning: "utm_campaign of the campaign"},
	{Name: UTMTerm, Label: "UTM term", Of: func(t *Traits) *string { return &t.Term }, Column: 18, Meaning: "utm_term of the campaign"},
	{Name: UTMContent, Label: "UTM content", Of: func(t *Traits) *string { return &t.Content }, Column: 19, Meaning: "utm_content of the campaign"},
	{Name: Country, Label: "Country", Tab: "Countries", Of: func(t *Traits) *string { return &t.Country }, Column: 20, Meaning: "country of the visitor, ISO 3166-1 alpha-2"},
	{Name: Region, Label: "Region", Tab: "Regions", Of: func(t *Traits) *string { return &t.Region }, Column: 21, Meaning: "region of the visitor"},
	{Name: City, Label: "City", Tab: "Cities", Of: func(t *Traits) *string { return &t.City }, Column: 22, Meaning: "city of the visitor"},
	{Name: Browser, Label: "Browser", Tab: "Browsers", Of: func(t *Traits) *string { return &t.Browser }, Column: 23, Meaning: "browser of the visitor"},
	{Name: OS, Label: "Operating system", Tab: "Operating systems", Of: func(t *Traits) *string { return &t.OS }, Column: 24, Meaning: "operating system"},
	{Name: Device, Label: "Device", Tab: "Device types", Of: func(t *Traits) *string { return &t.Device }, Column: 25, Meaning: "device type"},
	{
		Name: Screen, Label: "Screen", Tab: "Screens", Of: func(t *Traits) *string { return &t.Screen }, Column: 26, Meaning: "screen size, width x height",
		Sent: func(r *Reported) *string { return &r.Screen }, MaxSent: 20,
	},
	{
		Name: Language, Label: "Language", Tab: "Languages", Of: func(t *Traits) *string { return &t.Language }, Column: 27, Meaning: "language of the browser",
		Sent: func(r *Reported) *string { return &r.Language }, MaxSent: 35,
	},
	{Name: Hostname, Label: "Hostname"},
}

// OfVisit reports whether a visit has exactly one value of a dimension. It has several pages and
// events.
func OfVisit(d Name) bool {
	return d == EntryPage || d == ExitPage || d == Hostname || slices.ContainsFunc(TraitDefs, func(t Def) bool { return t.Name == d })
}

// Panel is a panel of a site's page in the dashboard: its tabs, in order.
type Panel struct {
	Name, Title string
	Tabs        []Name
}

// Panels are the dashboard's panels, in order. The last one also has the custom properties.
var Panels = []Panel{
	{"pages", "Pages", []Name{Page, EntryPage, ExitPage}},
	{"sources", "Sources", []Name{Source, Channel, UTMCampaign, Referrer}},
	{"places", "Places", []Name{Country, Region, City, Language}},
	{"devices", "Devices", []Name{Browser, OS, Device, Screen}},
	{"behaviour", "Behaviour", []Name{EventName, Goal, Outbound, Download, NotFound}},
}

// Menu is the order in which the dashboard offers dimensions to filter by.
var Menu = []Name{
	Page, EntryPage, ExitPage, Hostname, Channel, Source, Referrer, UTMCampaign, UTMSource, UTMMedium, UTMContent, UTMTerm,
	Country, Region, City, Device, Browser, OS, Screen, Language, Goal, EventName, Outbound, Download, NotFound,
}

// Names are the names of All.
var Names = func() (names []Name) {
	for i := range All {
		names = append(names, All[i].Name)
	}
	return names
}()

// TraitDefs are the declarations of traits.
var TraitDefs = func() (traits []Def) {
	for _, d := range All {
		if d.Of != nil {
			traits = append(traits, d)
		}
	}
	return traits
}()
