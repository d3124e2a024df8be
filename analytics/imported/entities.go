// Package imported keeps the daily counts that other analytics exported, beside what is folded from events. They are facts:
// nothing can recompute them. A day's counts of a dimension belong to one import, and an import counts from when all of it is
// stored until it is deleted. Package analytics adds them to its reports; what stores and deletes them is used by server
// and cmd. It knows nothing of events.
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
	ImportID string `dynamodbav:"importId" json:"id"` // of its files' content
}

// State is how far an import is.
type State string

// The states. What is being stored or deleted does not count.
const (
	Storing  State = "storing"
	Done     State = "done"
	Deleting State = "deleting"
)

// Import is what was brought in at once.
type Import struct {
	ImportKey
	State      State               `dynamodbav:"state" json:"state"`
	Format     exports.Format      `dynamodbav:"format" json:"format"`
	Files      []string            `dynamodbav:"files,omitempty" json:"files"`
	At         time.Time           `dynamodbav:"at" json:"at"`
	From       string              `dynamodbav:"from" json:"from"`   // first day that is stored
	To         string              `dynamodbav:"to" json:"to"`       // last day that is stored
	Until      string              `dynamodbav:"until" json:"until"` // the site had its own counts from this day on, or the day was not over
	Dimensions []exports.Dimension `dynamodbav:"dimensions" json:"dimensions"`
	Rows       int64               `dynamodbav:"rows" json:"rows"`
	Malformed  int64               `dynamodbav:"malformed,omitempty" json:"malformed"`
	Visitors   int64               `dynamodbav:"visitors,omitempty" json:"visitors"` // sums of its days
	Visits     int64               `dynamodbav:"visits,omitempty" json:"visits"`
	PageViews  int64               `dynamodbav:"views,omitempty" json:"pageViews"`
	Events     int64               `dynamodbav:"events,omitempty" json:"events"`
}

// DayKey names the imported counts of a dimension in a day of a site, YYYY-MM-DD.
type DayKey struct {
	SiteID    string            `dynamodbav:"siteId"`
	Dimension exports.Dimension `dynamodbav:"dimension"`
	Day       string            `dynamodbav:"day"`
}

// Day is what an import counts of a dimension in a day. The item says that the dimension was measured that day, even if it has no
// counts: then no visit had a value. Visits without a value are not stored. Reports subtract those with one from the day's total.
type Day struct {
	DayKey
	ImportID string `dynamodbav:"import"`
	Counts
	ExpiresAt time.Time `dynamodbav:"-"` // stored as ttl
}

// MonthKey names what an import counts of a dimension in a month of a site, YYYY-MM.
type MonthKey struct {
	SiteID    string            `dynamodbav:"siteId"`
	Dimension exports.Dimension `dynamodbav:"dimension"`
	Month     string            `dynamodbav:"month"`
	ImportID  string            `dynamodbav:"importId"`
}

// Month is the sum of an import's days of a month.
type Month struct {
	MonthKey
	Days dayset `dynamodbav:"days,omitempty"` // the days of the sum; 0: the item is older than this attribute
	Counts
	ExpiresAt time.Time `dynamodbav:"-"` // stored as ttl; zero: never
}

// dayset is a set of days of a month: one bit for each, the lowest for the first.
type dayset uint32

// with adds a day of the month.
func (s dayset) with(day string) dayset {
	first, _ := calendar.MonthBounds(calendar.MonthOf(day))
	return s | 1<<calendar.DaysBetween(first, day)
}

// days names the days of the sum. An item that is older than the set has them all.
func (m *Month) days() (days []string) {
	for i, day := range calendar.Days(calendar.MonthBounds(m.Month)) {
		if m.Days == 0 || m.Days&(1<<i) != 0 {
			days = append(days, day)
		}
	}
	return days
}

// Counts are those of a dimension's values, as a breakdown keeps them. The totals of a day are in Other. The totals of a month are
// in Values, by day, because a dimension may have been measured on some days of the month, and days expire before months.
type Counts struct {
	Visitors int64        `dynamodbav:"visitors,omitempty"` // of exports.Totals; of several days: the sum of the days
	Values   tally.Values `dynamodbav:"values,omitempty"`
	Other    tally.Count  `dynamodbav:"other,omitempty"`
	Full     bool         `dynamodbav:"full,omitempty"`
}

// Sum is all of it.
func (c *Counts) Sum() tally.Count { return c.Values.Sum().Plus(c.Other) }

// add adds the counts of a part, and keeps as many values as a breakdown does.
func (c *Counts) add(part *Counts) {
	c.Visitors += part.Visitors
	c.Other = c.Other.Plus(part.Other)
	tally.Bounded{Values: &c.Values, Other: &c.Other, Full: &c.Full}.Merge(part.Values)
}

const (
	sitePK   = "SITE#{siteId}"
	maxBytes = 128 << 10 // of an item: 64 KB of names and their counts
)

// Imports are what was brought in.
var Imports = table.Define[Import, ImportKey]("analytics.import", table.Def[Import]{
	PK: sitePK, SK: "IMPORT#{importId}",
	Doc: "Daily counts of other analytics that were imported at once.",
})

// Days are the imported counts of days.
var Days = table.Define[Day, DayKey]("analytics.imported", table.Def[Day]{
	PK: sitePK, SK: "IMPORTED#day#{dimension}#{day}",
	Expires:  func(d *Day) time.Time { return d.ExpiresAt },
	MaxBytes: maxBytes,
	Doc:      "What other analytics counted in one day, by the values of one dimension.",
})

// Months are the imported counts of months.
var Months = table.Define[Month, MonthKey]("analytics.imported.month", table.Def[Month]{
	PK: sitePK, SK: "IMPORTED#month#{dimension}#{month}#{importId}",
	Expires:  func(m *Month) time.Time { return m.ExpiresAt },
	MaxBytes: maxBytes,
	Doc:      "What other analytics counted in one month, by the values of one dimension.",
})

// SiteIn names a site.
type SiteIn struct {
	SiteID string `dynamodbav:"siteId"`
}

// ImportsOfSite are the imports of a site, by id.
var ImportsOfSite = table.NewQuery(Imports, table.QueryDef[SiteIn]{
	ID: "W20", Question: "the imports of a site",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 500},
})

// DaysIn asks for the days in [From, To) of a dimension.
type DaysIn struct {
	SiteID    string            `dynamodbav:"siteId"`
	Dimension exports.Dimension `dynamodbav:"dimension"`
	From      string            `dynamodbav:"from"`
	To        string            `dynamodbav:"to"`
}

// DaysByTime are the imported counts of a dimension by day.
var DaysByTime = table.NewQuery(Days, table.QueryDef[DaysIn]{
	ID: "W21", Question: "the imported counts of a dimension by day",
	From: "IMPORTED#day#{dimension}#{from}", To: "IMPORTED#day#{dimension}#{to}",
	Load: table.Load{PerSecond: 0.1, Items: 31, ItemBytes: 2_000},
})

// MonthsIn asks for the months in [From, To) of a dimension.
type MonthsIn = DaysIn

// MonthsByTime are the imported counts of a dimension by month, of each import.
var MonthsByTime = table.NewQuery(Months, table.QueryDef[MonthsIn]{
	ID: "W22", Question: "the imported counts of a dimension by month",
	From: "IMPORTED#month#{dimension}#{from}", To: "IMPORTED#month#{dimension}#{to}",
	Load: table.Load{PerSecond: 0.1, Items: 12, ItemBytes: 10_000},
})

var stateOfImport = table.FieldOf(Imports, func(im *Import) *State { return &im.State })

var importOfDay = table.FieldOf(Days, func(d *Day) *string { return &d.ImportID })
