package exports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/onefold/onefold/analytics/internal/dimension"
)

// Google's names of metrics and dimensions, in its API, user interface and Looker Studio, reduced
// to lower-case letters and digits:
// https://developers.google.com/analytics/devguides/reporting/data/v1/api-schema
var (
	ga4Metrics = map[string]metric{
		"totalusers": visitors, "activeusers": activeVisitors, "users": activeVisitors, "sessions": visits,
		"screenpageviews": pageViews, "pageviews": pageViews, "views": pageViews,
		"engagedsessions": engagedVisits, "bounces": bounces, "bouncerate": bounceRate, "engagementrate": engagementRate,
		"averagesessionduration": secondsPerVisit, "avgsessionduration": secondsPerVisit,
		"userengagementduration": engagedSeconds, "userengagement": engagedSeconds,
		"eventcount": events, "totalrevenue": revenue, "purchaserevenue": revenue,
	}
	ga4Dimensions = map[string]Dimension{
		"pagepath": dimension.Page, "pagepathplusquerystring": dimension.Page, "pagepathquerystring": dimension.Page, "pagepathandscreenclass": dimension.Page,
		"page": dimension.Page, "pagelocation": dimension.Page, "fullpageurl": dimension.Page,
		"landingpage": dimension.EntryPage, "landingpageplusquerystring": dimension.EntryPage, "landingpagequerystring": dimension.EntryPage,
		"sessionsource": dimension.Source, "source": dimension.Source, "sessionmedium": dimension.UTMMedium, "medium": dimension.UTMMedium,
		"sessioncampaign": dimension.UTMCampaign, "sessioncampaignname": dimension.UTMCampaign, "campaign": dimension.UTMCampaign, "campaignname": dimension.UTMCampaign,
		"sessionmanualterm": dimension.UTMTerm, "sessionmanualadcontent": dimension.UTMContent,
		"sessiondefaultchannelgroup": dimension.Channel, "sessiondefaultchannelgrouping": dimension.Channel, "sessionprimarychannelgroup": dimension.Channel,
		"sessionprimarychannelgroupdefaultchannelgroup": dimension.Channel, "defaultchannelgroup": dimension.Channel, "defaultchannelgrouping": dimension.Channel,
		"pagereferrer": dimension.Referrer, "country": dimension.Country, "countryid": dimension.Country, "region": dimension.Region, "city": dimension.City,
		"browser": dimension.Browser, "operatingsystem": dimension.OS, "devicecategory": dimension.Device, "screenresolution": dimension.Screen,
		"language": dimension.Language, "languagecode": dimension.Language, "hostname": dimension.Hostname, "eventname": dimension.EventName,
	}
	ga4Derived = map[string]bool{ // derived metrics, and metrics that are not imported
		"newusers": true, "returningusers": true, "keyevents": true, "conversions": true, "viewspersession": true, "viewsperactiveuser": true,
		"screenpageviewspersession": true, "screenpageviewsperuser": true, "engagedsessionsperactiveuser": true, "averageengagementtime": true,
		"averageengagementtimepersession": true, "averageengagementtimeperactiveuser": true, "eventcountperactiveuser": true, "eventcountperuser": true, "sessionsperactiveuser": true, "sessionsperuser": true,
		"eventspersession": true, "eventvalue": true, "sessionkeyeventrate": true, "userkeyeventrate": true, "property": true,
	}
	ga4Events   = map[string]string{"file_download": downloadEvent, "click": outboundEvent}
	ga4NoEvents = map[string]bool{ // events that Google generates itself
		"page_view": true, "session_start": true, "first_visit": true, "user_engagement": true, "scroll": true, "first_open": true, "screen_view": true,
	}
)

// plain normalizes a column name, to unify Google's different spellings.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// ga4Layout parses a header in the style of Google Analytics. It returns ErrFormat for a table
// without days, and for one with several dimensions, because its rows cannot be added up.
func ga4Layout(header, comments []string) (*layout, error) {
	l := &layout{format: GA4, day: -1, width: len(header), metrics: map[int]metric{}}
	var by []valueAt
	for i, name := range header {
		switch key := plain(name); {
		case key == "date" || key == "day" && l.day < 0:
			l.day = i
		case key == "nthday":
			if l.nth = startDate(comments); l.nth == "" {
				return nil, notTable("days are numbers, but no comment has the start date")
			}
			l.day = i
		case ga4Metrics[key] != noMetric:
			l.metrics[i] = ga4Metrics[key]
		case ga4Dimensions[key] != "":
			by = append(by, valueAt{i, ga4Dimensions[key]})
		case ga4Derived[key]:
			l.ignored = append(l.ignored, clip(name, shown))
		case key != "" && key != "totals":
			return nil, notTable("unknown column %q", clip(name, shown))
		}
	}
	switch {
	case l.day < 0:
		return nil, notTable("there is no date column")
	case len(by) > 1:
		return nil, notTable("columns %q and %q: export the date and one dimension per file", clip(header[by[0].column], shown), clip(header[by[1].column], shown))
	}
	l.width = 1 + slices.Max(append(slices.Collect(maps.Keys(l.metrics)), l.day))
	l.choose(by)
	if len(l.metrics) == 0 {
		return nil, notTable("no column has a supported metric")
	}
	return l, nil
}

// choose determines what the rows count, and drops metrics that mean something else in this table.
func (l *layout) choose(by []valueAt) {
	l.table = "totals"
	l.cells = func([]string) []cell { return []cell{{Totals, ""}} }
	counted := func(m metric) bool { return m != events }
	if len(by) > 0 {
		v := by[0]
		l.table, l.width = string(v.dimension), max(l.width, v.column+1)
		l.cells = func(record []string) []cell { return ga4Cells(record, v) }
		l.measures = l.measures.with(v.dimension)
		counted = func(m metric) bool { return m != events && m != visitors && m != activeVisitors }
		if v.dimension == dimension.EventName {
			counted = func(m metric) bool { return m == events }
		}
	}
	for i, m := range l.metrics {
		if !counted(m) {
			delete(l.metrics, i)
		}
	}
}

func ga4Cells(record []string, v valueAt) []cell {
	text := strings.TrimSpace(record[v.column])
	if v.dimension == dimension.EventName {
		if ga4NoEvents[text] {
			return nil
		}
		if name, ok := ga4Events[text]; ok {
			text = name
		}
		return []cell{{EventTotals, ""}, {v.dimension, cmp.Or(named(v.dimension, text), rest)}}
	}
	switch {
	case text == rest:
		return []cell{{v.dimension, rest}}
	case v.dimension == dimension.UTMMedium && (text == "organic" || text == "referral"), v.dimension == dimension.UTMCampaign && strings.HasPrefix(text, "("):
		return nil // Google's terms for visits without campaign parameters
	}
	return appendCells(nil, record, []valueAt{v})
}

// startDate returns the start date in the comments, such as "Start date: 20260501".
func startDate(comments []string) string {
	for _, c := range comments {
		name, value, ok := strings.Cut(c, ":")
		if ok && strings.EqualFold(strings.TrimSpace(name), "start date") {
			if d, err := day(value); err == nil {
				return d
			}
		}
	}
	return ""
}
