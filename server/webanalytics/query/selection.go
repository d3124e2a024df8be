package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/internal/calendar"
)

// Selection is the part of a question that selects what is counted.
type Selection struct {
	DateRange DateRange `json:"date_range" doc:"Days in the site's time zone."`
	Filters   []Filter  `json:"filters,omitempty" maxItems:"20" doc:"A visit must match all filters, and is counted as a whole. Filtered counts are made from raw events, which are kept for a limited time." example:"[[\"is\",\"country\",[\"DE\",\"AT\"]]]"`
}

// DateRange is a named range, or a first and last day.
type DateRange struct {
	Name string
	Days [2]string // used without a name
}

const (
	maxRangeName = 32
	maxDay       = 10
	dayPattern   = `^\d{4}-\d{2}-\d{2}$`
)

// Schema describes both forms.
func (DateRange) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "A name, or the first and last day. Names are all, " + calendar.RelativeNames + ". Weeks begin on Monday. Ranges that contain today end today.",
		Examples:    []any{"last_week", []any{"2026-05-01", "2026-05-31"}},
		OneOf: []*huma.Schema{
			{Type: huma.TypeString, MaxLength: new(maxRangeName)},
			{Type: huma.TypeArray, MinItems: new(2), MaxItems: new(2), Items: &huma.Schema{Type: huma.TypeString, MaxLength: new(maxDay), Pattern: dayPattern}},
		},
	}
}

// UnmarshalJSON decodes either form.
func (r *DateRange) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &r.Name) == nil {
		return nil
	}
	var days []string
	if err := json.Unmarshal(text, &days); err != nil || len(days) != len(r.Days) {
		return fmt.Errorf(`a range is a name such as "last_week", or two days: ["2026-05-01", "2026-05-31"]`)
	}
	*r = DateRange{Days: [2]string(days)}
	return nil
}

// all is the range of all days with counts.
const all = "all"

// Of returns the days of the range.
func (r *DateRange) Of(site *Site) (from, to string, err error) {
	switch {
	case strings.EqualFold(r.Name, all):
		return cmp.Or(site.First, site.Today), site.Today, nil
	case r.Name != "":
		from, to, err = calendar.Relative(r.Name, site.Today)
	default:
		from, to = r.Days[0], r.Days[1]
		if _, err = calendar.ParseDay(from); err == nil {
			_, err = calendar.ParseDay(to)
		}
		if err == nil && from > to {
			err = fmt.Errorf("the range ends before it begins: %s to %s", from, to)
		}
	}
	if err != nil {
		return "", "", errorf("bad_range", "%s", err)
	}
	return from, to, nil
}

// Filter is [operator, dimension, [value, ...]].
type Filter struct {
	Op        string
	Dimension string
	Values    []string
}

const (
	maxFilterText   = 512
	maxFilterValues = 100
)

// Schema describes the three elements.
func (Filter) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString, MaxLength: new(maxFilterText)}
	return &huma.Schema{
		Type: huma.TypeArray, MinItems: new(3), MaxItems: new(3),
		Description: "[operator, dimension, values]. The operator is is, is_not, contains, contains_not or matches (* matches text without a slash, ** any text). Dimensions are those of queries, and segment, whose values name segments. The value (none) stands for no value.",
		Items: &huma.Schema{AnyOf: []*huma.Schema{
			text, {Type: huma.TypeArray, MinItems: new(1), MaxItems: new(maxFilterValues), Items: text},
		}},
		Examples: []any{[]any{"is", "utm_campaign", []any{"spring"}}},
	}
}

// UnmarshalJSON decodes the three elements.
func (f *Filter) UnmarshalJSON(text []byte) error {
	parts := []json.RawMessage{}
	if err := json.Unmarshal(text, &parts); err == nil && len(parts) == 3 &&
		json.Unmarshal(parts[0], &f.Op) == nil && json.Unmarshal(parts[1], &f.Dimension) == nil && json.Unmarshal(parts[2], &f.Values) == nil {
		return nil
	}
	return fmt.Errorf(`a filter is [operator, dimension, [value, ...]], such as ["is", "country", ["DE"]]`)
}

// filters translates filters for reports. Errors: explore.ErrQuestion, and those of site.Apply.
func (s *Selection) filters(site *Site) ([]explore.Filter, error) {
	list := make([]explore.Filter, len(s.Filters))
	for i, f := range s.Filters {
		list[i] = explore.Filter{Dimension: dimensionOf(f.Dimension), Op: explore.Op(f.Op), Values: f.Values}
	}
	if err := explore.CheckFilters(list); err != nil {
		return nil, err
	}
	return site.Apply(list)
}

// dimensionOf returns the dimension of a name. The prefixes of Plausible's API are accepted:
// visit:source is source, event:props:plan is prop:plan.
func dimensionOf(name string) analytics.Dimension {
	if name == "event:name" {
		return analytics.ByEventName
	}
	for _, prefix := range []string{"visit:", "event:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = rest
		}
	}
	if rest, ok := strings.CutPrefix(name, "props:"); ok {
		name = property + rest
	}
	return analytics.Dimension(name)
}

// Comparisons select the range that a range is compared with.
type Comparisons struct {
	Mode           string     `json:"mode" enum:"previous_period,year_over_year,custom,everything" doc:"previous_period: the days before. year_over_year: the same days a year earlier. custom: date_range. everything: the same days without the filters, such as a segment and all visits."`
	MatchDayOfWeek *bool      `json:"match_day_of_week,omitempty" doc:"Shift by whole weeks, so that Mondays are compared with Mondays: previous_period is the latest range that does not overlap, year_over_year is 52 weeks earlier. Otherwise, shift by the length of the range, or by a calendar year. Default: true. Months are always compared by date."`
	DateRange      *DateRange `json:"date_range,omitempty" doc:"The range to compare with, if mode is custom."`
}

// Of returns the days to compare a range with.
func (c *Comparisons) Of(site *Site, from, to string, period analytics.Period) (first, last string, err error) {
	switch {
	case c.Mode == "custom" && c.DateRange == nil:
		return "", "", errorf("bad_comparison", "the mode custom needs a date_range to compare with")
	case c.Mode == Everything && c.DateRange == nil:
		return from, to, nil
	case c.Mode == "custom":
		return c.DateRange.Of(site)
	case c.DateRange != nil:
		return "", "", errorf("bad_comparison", "only the mode custom has a date_range; omit it, or set mode to custom")
	}
	as := Comparison{Compare: "previous", Align: "weekday"}
	if c.Mode == "year_over_year" {
		as.Compare = "year"
	}
	if c.MatchDayOfWeek != nil && !*c.MatchDayOfWeek {
		as.Align = "date"
	}
	first, last, _ = as.Days(from, to, period)
	return first, last, nil
}
