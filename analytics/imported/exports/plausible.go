package exports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics/internal/facets"
	"github.com/onefold/onefold/internal/referral"
)

// Names of events with a dimension of their own.
const (
	outboundEvent = "outbound"
	downloadEvent = "download"
	notFoundEvent = "404"
)

// Names of events in Plausible's exports.
const (
	plausibleOutbound   = "Outbound Link: Click"
	plausibleDownload   = "File Download"
	plausibleView       = "pageview"
	plausibleEngagement = "engagement" // measures a page; exported by some versions
)

// plausibleEvents counts events by name, and some of them by URL or page.
func plausibleEvents(column map[string]int) func([]string) []cell {
	at := func(record []string, name string) string {
		if i, ok := column[name]; ok {
			return record[i]
		}
		return ""
	}
	return func(record []string) []cell {
		name := at(record, "name")
		var by Dimension
		value := at(record, "link_url")
		switch name {
		case plausibleView, plausibleEngagement:
			return nil
		case plausibleOutbound:
			name, by = outboundEvent, facets.Outbound
		case plausibleDownload:
			name, by = downloadEvent, facets.Download
		case notFoundEvent:
			by, value = facets.NotFound, at(record, "path")
		}
		cells := []cell{{EventTotals, ""}}
		cells = append(cells, cell{facets.EventName, cmp.Or(named(facets.EventName, name), rest)})
		if value = named(by, value); by != "" && value != "" {
			cells = append(cells, cell{by, value})
		}
		return cells
	}
}

// plausibleOrigins maps the columns of the sources table to dimensions.
var plausibleOrigins = map[string]Dimension{
	"source": facets.Source, "referrer": facets.Referrer, "utm_source": facets.UTMSource, "utm_medium": facets.UTMMedium, "utm_campaign": facets.UTMCampaign, "utm_content": facets.UTMContent, "utm_term": facets.UTMTerm,
}

// plausibleSources counts by these columns, and by the source and channel derived from them.
func plausibleSources(column map[string]int) func([]string) []cell {
	values := slices.DeleteFunc(columnsOf(column, plausibleOrigins), func(v valueAt) bool { return v.dimension == facets.Source })
	known := map[string]referral.Source{}
	return func(record []string) []cell {
		cells := appendCells(make([]cell, 0, 8), record, values)
		s := referral.Source{Name: strings.TrimSpace(record[column["source"]])}
		if missing[s.Name] {
			s.Name = ""
		}
		for _, c := range cells {
			switch c.dimension {
			case facets.Referrer:
				s.Referrer = c.value
			case facets.UTMSource:
				s.UTM.Source = c.value
			case facets.UTMMedium:
				s.Medium = c.value
			case facets.UTMCampaign:
				s.Campaign = c.value
			}
		}
		key := strings.Join([]string{s.Name, s.Referrer, s.UTM.Source, s.Medium, s.Campaign}, "\x00")
		found, ok := known[key]
		if !ok {
			found = plausibleOrigin(s)
			if len(known) < 10_000 {
				known[key] = found
			}
		}
		if found.Name != "" {
			cells = append(cells, cell{facets.Source, found.Name})
		}
		return append(cells, cell{facets.Channel, found.Channel})
	}
}

// plausibleOrigin returns the source under onefold's name, and its channel.
func plausibleOrigin(s referral.Source) referral.Source {
	ask := s
	switch {
	case s.Name != "" && s.UTM.Source == "" && s.Referrer == "" && strings.Contains(s.Name, "."):
		ask.Referrer = s.Name
	case s.Name != "" && s.UTM.Source == "" && s.Referrer == "":
		ask.UTM.Source = s.Name
	}
	found := origin(ask)
	if found.Name == "" {
		found.Name = clip(s.Name, referral.MaxText)
	}
	return found
}

// plausibleRegions maps the columns of the locations table to dimensions.
var plausibleRegions = map[string]Dimension{"country": facets.Country, "region": facets.Region, "city": facets.City}

// plausiblePlaces counts by country, region and city. Plausible's exports identify cities by
// GeoNames ID.
func plausiblePlaces(column map[string]int) func([]string) []cell {
	values := slices.DeleteFunc(columnsOf(column, plausibleRegions), func(v valueAt) bool { return v.dimension == facets.City })
	city, ok := column["city"]
	return func(record []string) []cell {
		cells := appendCells(make([]cell, 0, 3), record, values)
		if ok && record[city] != "" && record[city] != "0" {
			cells = append(cells, cell{facets.City, clip("geonames:"+record[city], maxPlace)})
		}
		return cells
	}
}
