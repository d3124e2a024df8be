package exports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics/internal/dimension"
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
			name, by = outboundEvent, dimension.Outbound
		case plausibleDownload:
			name, by = downloadEvent, dimension.Download
		case notFoundEvent:
			by, value = dimension.NotFound, at(record, "path")
		}
		cells := []cell{{EventTotals, ""}}
		cells = append(cells, cell{dimension.EventName, cmp.Or(named(dimension.EventName, name), rest)})
		if value = named(by, value); by != "" && value != "" {
			cells = append(cells, cell{by, value})
		}
		return cells
	}
}

// plausibleOrigins maps the columns of the sources table to dimensions.
var plausibleOrigins = map[string]Dimension{
	"source": dimension.Source, "referrer": dimension.Referrer, "utm_source": dimension.UTMSource, "utm_medium": dimension.UTMMedium, "utm_campaign": dimension.UTMCampaign, "utm_content": dimension.UTMContent, "utm_term": dimension.UTMTerm,
}

// plausibleSources counts by these columns, and by the source and channel derived from them.
func plausibleSources(column map[string]int) func([]string) []cell {
	values := slices.DeleteFunc(columnsOf(column, plausibleOrigins), func(v valueAt) bool { return v.dimension == dimension.Source })
	known := map[string]referral.Source{}
	return func(record []string) []cell {
		cells := appendCells(make([]cell, 0, 8), record, values)
		s := referral.Source{Name: strings.TrimSpace(record[column["source"]])}
		if missing[s.Name] {
			s.Name = ""
		}
		for _, c := range cells {
			switch c.dimension {
			case dimension.Referrer:
				s.Referrer = c.value
			case dimension.UTMSource:
				s.UTM.Source = c.value
			case dimension.UTMMedium:
				s.Medium = c.value
			case dimension.UTMCampaign:
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
			cells = append(cells, cell{dimension.Source, found.Name})
		}
		return append(cells, cell{dimension.Channel, found.Channel})
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
var plausibleRegions = map[string]Dimension{"country": dimension.Country, "region": dimension.Region, "city": dimension.City}

// plausiblePlaces counts by country, region and city. Plausible's exports identify cities by
// GeoNames ID.
func plausiblePlaces(column map[string]int) func([]string) []cell {
	values := slices.DeleteFunc(columnsOf(column, plausibleRegions), func(v valueAt) bool { return v.dimension == dimension.City })
	city, ok := column["city"]
	return func(record []string) []cell {
		cells := appendCells(make([]cell, 0, 3), record, values)
		if ok && record[city] != "" && record[city] != "0" {
			cells = append(cells, cell{dimension.City, clip("geonames:"+record[city], maxPlace)})
		}
		return cells
	}
}
