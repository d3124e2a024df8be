package exports

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/analytics/internal/dimension"
)

// Format is the product that a table was exported from.
type Format string

// The formats.
const (
	Plausible Format = "plausible"
	GA4       Format = "ga4"
)

// layout describes how to read the rows of a table.
type layout struct {
	format  Format
	table   string // name for people
	width   int    // minimum number of columns
	day     int    // column of the day
	nth     string // first day, if days are given as numbers
	metrics map[int]metric
	cells   func(record []string) []cell // values that a row counts
	ignored []string                     // names of unused columns

	measures  dimensions // measured by each row, even without a value
	omitsNone bool       // visits without a value have no row
	addresses []bool     // by column: it has pages, links or referrers
}

// layoutOf identifies a table by its column names and the comments above it. It returns nil if it
// is not a table of daily counts, and an error if it looks like one but cannot be used.
func layoutOf(header, comments []string) (*layout, error) {
	if l := plausibleLayout(header); l != nil {
		return l, nil
	}
	return ga4Layout(header, comments)
}

// facts calls v with the day of a row and each of its facts.
func (l *layout) facts(record []string, v visitor) error {
	if len(record) < l.width {
		return &rowError{fmt.Sprintf("%d columns: want %d", len(record), l.width)}
	}
	at, err := l.dayOf(record[l.day])
	if err != nil {
		return &rowError{err.Error()}
	}
	var m measures
	for i, what := range l.metrics {
		if err := m.read(what, record[i]); err != nil {
			return &rowError{err.Error()}
		}
	}
	n, err := m.numbers()
	if err != nil {
		return &rowError{err.Error()}
	}
	v.day(at)
	cells := l.cells(record)
	if n.engagedMS != 0 && l.measures.has(dimension.Page) {
		cells = append(cells, cell{PageTotals, ""})
	}
	for _, c := range cells {
		f := Fact{Day: at, Dimension: c.dimension, Value: c.value}
		if f.Visitors, f.Count = keep(c.dimension, &n); c.value == rest && !ofDay(c.dimension) {
			f.Value, f.Rest = "", true
		}
		if err := v.fact(f); err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) dayOf(text string) (string, error) {
	if l.nth != "" {
		return nthDay(l.nth, text)
	}
	return day(text)
}

// rowError describes a malformed row. The other rows of its table are still read.
type rowError struct{ text string }

func (e *rowError) Error() string { return e.text }

// plausibleTable is one table of Plausible's export, see https://plausible.io/docs/csv-import.
type plausibleTable struct {
	name       string
	needs      []string // columns that identify it, besides date
	dimensions map[string]Dimension
	metrics    map[string]metric
	cells      func(column map[string]int) func(record []string) []cell // nil: those of dimensions
	omitsNone  bool
}

var ofVisits = map[string]metric{"visits": visits, "visit_duration": seconds, "bounces": bounces, "pageviews": pageViews}

// plausibleTables lists the tables in the order of detection, the one without dimensions last.
var plausibleTables = []plausibleTable{
	{name: "imported_entry_pages", needs: []string{"entry_page", "entrances"}, dimensions: map[string]Dimension{"entry_page": dimension.EntryPage},
		metrics: map[string]metric{"entrances": visits, "visit_duration": seconds, "bounces": bounces, "pageviews": pageViews}},
	{name: "imported_exit_pages", needs: []string{"exit_page", "exits"}, dimensions: map[string]Dimension{"exit_page": dimension.ExitPage},
		metrics: map[string]metric{"exits": visits, "visit_duration": seconds, "bounces": bounces, "pageviews": pageViews}},
	{name: "imported_custom_events", needs: []string{"name", "events"}, metrics: map[string]metric{"events": events}, cells: plausibleEvents},
	{name: "imported_sources", needs: []string{"source", "visits"}, dimensions: plausibleOrigins, metrics: ofVisits, cells: plausibleSources},
	{name: "imported_pages", needs: []string{"page", "pageviews"}, dimensions: map[string]Dimension{"page": dimension.Page},
		metrics: map[string]metric{"visits": visits, "pageviews": pageViews, "total_scroll_depth": scrollSum, "total_scroll_depth_visits": scrolls, "total_time_on_page": engagedSeconds}},
	{name: "imported_locations", needs: []string{"country", "visits"}, dimensions: plausibleRegions, metrics: ofVisits, cells: plausiblePlaces, omitsNone: true},
	{name: "imported_devices", needs: []string{"device", "visits"}, dimensions: map[string]Dimension{"device": dimension.Device}, metrics: ofVisits},
	{name: "imported_browsers", needs: []string{"browser", "visits"}, dimensions: map[string]Dimension{"browser": dimension.Browser}, metrics: ofVisits},
	{name: "imported_operating_systems", needs: []string{"operating_system", "visits"}, dimensions: map[string]Dimension{"operating_system": dimension.OS}, metrics: ofVisits},
	{name: "imported_visitors", needs: []string{"visitors", "pageviews", "visits"},
		metrics: map[string]metric{"visitors": visitors, "visits": visits, "visit_duration": seconds, "bounces": bounces, "pageviews": pageViews}},
}

// known lists Plausible's columns that are not reported as ignored: they are read, or have no
// counterpart here.
var known = map[string]bool{
	"date": true, "visitors": true, "source": true, "referrer": true, "utm_source": true, "utm_medium": true, "utm_campaign": true, "utm_content": true, "utm_term": true,
	"country": true, "region": true, "city": true, "name": true, "link_url": true, "path": true,
}

func plausibleLayout(header []string) *layout {
	column := map[string]int{}
	for i, name := range header {
		column[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for i := range plausibleTables {
		if t := &plausibleTables[i]; t.fits(column) {
			return t.layout(column)
		}
	}
	return nil
}

func (t *plausibleTable) fits(column map[string]int) bool {
	for _, name := range append([]string{"date", "visitors"}, t.needs...) {
		if _, ok := column[name]; !ok {
			return false
		}
	}
	return true
}

func (t *plausibleTable) layout(column map[string]int) *layout {
	l := &layout{format: Plausible, table: t.name, width: len(column), day: column["date"], metrics: map[int]metric{}, omitsNone: t.omitsNone}
	var values []valueAt
	for name, i := range column {
		if what, ok := t.metrics[name]; ok {
			l.metrics[i] = what
		} else if d, ok := t.dimensions[name]; ok {
			values = append(values, valueAt{i, d})
			l.measures = l.measures.with(d)
		} else if !known[name] {
			l.ignored = append(l.ignored, name)
		}
	}
	switch {
	case t.cells != nil:
		l.cells = t.cells(column)
	case values == nil:
		l.cells = func([]string) []cell { return []cell{{Totals, ""}} }
	default:
		l.cells = func(record []string) []cell { return appendCells(nil, record, values) }
	}
	return l
}

// valueAt is a column with the values of a dimension.
type valueAt struct {
	column    int
	dimension Dimension
}

// appendCells appends the values of columns. It skips missing values.
func appendCells(cells []cell, record []string, values []valueAt) []cell {
	for _, v := range values {
		if value := named(v.dimension, record[v.column]); value != "" {
			cells = append(cells, cell{v.dimension, value})
		}
	}
	return cells
}

// columnsOf returns the existing columns among the given dimensions.
func columnsOf(column map[string]int, dimensions map[string]Dimension) (values []valueAt) {
	for name, d := range dimensions {
		if i, ok := column[name]; ok {
			values = append(values, valueAt{i, d})
		}
	}
	return values
}
