package alerts

import (
	"time"

	"github.com/onefold/onefold/internal/calendar"
)

// hour is an hour of a site's clock.
type hour struct{ start, end time.Time }

// name returns the name of the hour's bucket.
func (h hour) name(zone calendar.Zone) string { return zone.Hour(h.start) }

// startOfHour returns the start of the hour that contains an instant.
func startOfHour(zone calendar.Zone, at time.Time) time.Time {
	start, err := time.Parse(calendar.HourLayout, zone.Hour(at))
	if err != nil { // not for names of hours
		return at.UTC().Truncate(time.Hour)
	}
	return start
}

// nextHour returns the start of the hour after one that starts at an instant.
func nextHour(zone calendar.Zone, start time.Time) time.Time {
	if next := startOfHour(zone, start.Add(time.Hour)); next.After(start) {
		return next
	}
	return start.Add(time.Hour) // a clock change repeats half an hour
}

// hoursUntil returns the hours from an instant that have ended at another.
func hoursUntil(zone calendar.Zone, from, until time.Time) (all []hour) {
	for start := startOfHour(zone, from); ; {
		end := nextHour(zone, start)
		if end.After(until) {
			return all
		}
		if end.After(from) {
			all = append(all, hour{start, end})
		}
		start = end
	}
}

// weeksBefore returns the hour at the same time of the site's clock, weeks before.
func (h hour) weeksBefore(zone calendar.Zone, weeks int) hour {
	local := zone.In(h.start)
	at := time.Date(local.Year(), local.Month(), local.Day()-7*weeks, local.Hour(), local.Minute(), 0, 0, local.Location())
	start := startOfHour(zone, at)
	return hour{start, nextHour(zone, start)}
}

// window returns the first of n hours that end with this one.
func (h hour) window(zone calendar.Zone, n int) hour {
	start := startOfHour(zone, h.end.Add(-time.Duration(n)*time.Hour))
	return hour{start, h.end}
}
