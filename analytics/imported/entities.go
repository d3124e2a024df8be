// Package imported stores daily counts that were exported from other analytics products. They are
// facts: nothing can recompute them. The counts of a day and dimension belong to one import, which
// counts from when it is completely stored until it is deleted. Package analytics/report adds them
// to its reports. The package knows nothing of events.
package imported

import (
	"time"

	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// ImportKey names an import of a site.
type ImportKey struct {
	SiteID   string `dynamodbav:"siteId" json:"-"`
	ImportID string `dynamodbav:"importId" json:"id"` // derived from the content of its files
}

// State is the progress of an import.
type State string

// The states. Only Done imports count.
const (
	Storing  State = "storing"
	Done     State = "done"
	Deleting State = "deleting"
)

// Import is a set of files that were imported together.
type Import struct {
	ImportKey
	State      State               `dynamodbav:"state" json:"state"`
	Format     exports.Format      `dynamodbav:"format" json:"format"`
	Files      []string            `dynamodbav:"files,omitempty" json:"files"`
	At         time.Time           `dynamodbav:"at" json:"at"`
	From       string              `dynamodbav:"from" json:"from"`   // first stored day
	To         string              `dynamodbav:"to" json:"to"`       // last stored day
	Until      string              `dynamodbav:"until" json:"until"` // first day not imported: the site has its own counts from it on, or the day was not over
	Dimensions []exports.Dimension `dynamodbav:"dimensions" json:"dimensions"`
	Rows       int64               `dynamodbav:"rows" json:"rows"`
	Malformed  int64               `dynamodbav:"malformed,omitempty" json:"malformed"`
	Visitors   int64               `dynamodbav:"visitors,omitempty" json:"visitors"` // sums over its days
	Visits     int64               `dynamodbav:"visits,omitempty" json:"visits"`
	PageViews  int64               `dynamodbav:"views,omitempty" json:"pageViews"`
	Events     int64               `dynamodbav:"events,omitempty" json:"events"`
}

// DayKey names the imported counts of a dimension on a day of a site, YYYY-MM-DD.
type DayKey struct {
	SiteID    string            `dynamodbav:"siteId"`
	Dimension exports.Dimension `dynamodbav:"dimension"`
	Day       string            `dynamodbav:"day"`
}

// Day holds an import's counts of a dimension on a day. The item records that the dimension was
// measured on that day, even if it has no counts: then no visit had a value. Visits without a value
// are not stored; reports compute them from the day's total.
type Day struct {
	DayKey
	ImportID string `dynamodbav:"import"`
	Counts
	ExpiresAt time.Time `dynamodbav:"-"` // stored as ttl
}

// MonthKey names an import's counts of a dimension in a month of a site, YYYY-MM.
type MonthKey struct {
	SiteID    string            `dynamodbav:"siteId"`
	Dimension exports.Dimension `dynamodbav:"dimension"`
	Month     string            `dynamodbav:"month"`
	ImportID  string            `dynamodbav:"importId"`
}

// Month is the sum of an import's days in a month.
type Month struct {
	MonthKey
	Days dayset `dynamodbav:"days,omitempty"` // days in the sum; 0: the item predates this attribute
	Counts
	ExpiresAt time.Time `dynamodbav:"-"` // stored as ttl; zero: never
}

// dayset is a set of days of a month, one bit each, the lowest for the first day.
type dayset uint32

// with returns the set with a day of the month added.
func (s dayset) with(day string) dayset {
	first, _ := calendar.MonthBounds(calendar.MonthOf(day))
	return s | 1<<calendar.DaysBetween(first, day)
}

// days returns the days in the sum. An item that predates the set has all days of its month.
func (m *Month) days() (days []string) {
	for i, day := range calendar.Days(calendar.MonthBounds(m.Month)) {
		if m.Days == 0 || m.Days&(1<<i) != 0 {
			days = append(days, day)
		}
	}
	return days
}

// Counts are the counts of a dimension's values, as in a breakdown. The totals of a day are in
// Other. The totals of a month are in Values, keyed by day, because a dimension may have been
// measured on some days only, and days expire before months.
type Counts struct {
	Visitors int64        `dynamodbav:"visitors,omitempty"` // only for exports.Totals; for several days the sum
	Values   tally.Values `dynamodbav:"values,omitempty"`
	Other    tally.Count  `dynamodbav:"other,omitempty"`
	Full     bool         `dynamodbav:"full,omitempty"`
}

// Sum returns the sum of all counts.
func (c *Counts) Sum() tally.Count { return c.Values.Sum().Plus(c.Other) }

// add adds the counts of a part, within the limits of a breakdown.
func (c *Counts) add(part *Counts) {
	c.Visitors += part.Visitors
	c.Other = c.Other.Plus(part.Other)
	tally.Bounded{Values: &c.Values, Other: &c.Other, Full: &c.Full}.Merge(part.Values)
}

const (
	sitePK   = "SITE#{siteId}"
	maxBytes = 128 << 10 // of an item: 64 KB of names, plus their counts
)

// Imports holds the imports.
var Imports = table.Define[Import, ImportKey]("analytics.import", table.Def[Import]{
	PK: sitePK, SK: "IMPORT#{importId}",
	Doc: "An import of daily counts of another analytics product.",
})

// Days holds the imported counts of days.
var Days = table.Define[Day, DayKey]("analytics.imported", table.Def[Day]{
	PK: sitePK, SK: "IMPORTED#day#{dimension}#{day}",
	Expires:  func(d *Day) time.Time { return d.ExpiresAt },
	MaxBytes: maxBytes,
	Doc:      "Imported counts of one day, by the values of one dimension.",
})

// Months holds the imported counts of months.
var Months = table.Define[Month, MonthKey]("analytics.imported.month", table.Def[Month]{
	PK: sitePK, SK: "IMPORTED#month#{dimension}#{month}#{importId}",
	Expires:  func(m *Month) time.Time { return m.ExpiresAt },
	MaxBytes: maxBytes,
	Doc:      "Imported counts of one month, by the values of one dimension.",
})

// SiteIn names a site.
type SiteIn struct {
	SiteID string `dynamodbav:"siteId"`
}

// ImportsOfSite queries the imports of a site, by ID.
var ImportsOfSite = table.NewQuery(Imports, table.QueryDef[SiteIn]{
	ID: "W20", Question: "the imports of a site",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 500},
})

// DaysIn selects the days in [From, To) of a dimension.
type DaysIn struct {
	SiteID    string            `dynamodbav:"siteId"`
	Dimension exports.Dimension `dynamodbav:"dimension"`
	From      string            `dynamodbav:"from"`
	To        string            `dynamodbav:"to"`
}

// DaysByTime queries the imported counts of a dimension by day.
var DaysByTime = table.NewQuery(Days, table.QueryDef[DaysIn]{
	ID: "W21", Question: "the imported counts of a dimension by day",
	From: "IMPORTED#day#{dimension}#{from}", To: "IMPORTED#day#{dimension}#{to}",
	Load: table.Load{PerSecond: 0.1, Items: 31, ItemBytes: 2_000},
})

// MonthsIn selects the months in [From, To) of a dimension.
type MonthsIn = DaysIn

// MonthsByTime queries the imported counts of a dimension by month and import.
var MonthsByTime = table.NewQuery(Months, table.QueryDef[MonthsIn]{
	ID: "W22", Question: "the imported counts of a dimension by month",
	From: "IMPORTED#month#{dimension}#{from}", To: "IMPORTED#month#{dimension}#{to}",
	Load: table.Load{PerSecond: 0.1, Items: 12, ItemBytes: 10_000},
})

var stateOfImport = table.FieldOf(Imports, func(im *Import) *State { return &im.State })

var importOfDay = table.FieldOf(Days, func(d *Day) *string { return &d.ImportID })
