// Package calendar divides time into the hours, days and months of a time zone. Their names sort in
// the order of time, so that they can be parts of keys.
package calendar

import (
	"fmt"
	"time"
)

// Layouts of the starts of buckets.
const (
	HourLayout  = "2006-01-02T15:04:05Z" // in UTC
	DayLayout   = "2006-01-02"
	MonthLayout = "2006-01"
)

// Zone computes the buckets of one time zone. A day runs from its first instant to that of the next
// day, so it has 23 or 25 hours when the clocks change. An hour is a local clock hour: with an
// offset of 5 h 30 it starts at half past in UTC, and an hour that a clock change cuts short is a
// bucket of its own.
type Zone struct{ location *time.Location }

// LoadZone returns a zone by its IANA name, like Europe/Berlin. The error says what is wrong with
// the name.
func LoadZone(name string) (Zone, error) {
	if name == "" || name == "Local" { // would be another zone on another machine
		return Zone{}, fmt.Errorf("calendar: time zone %q: use an IANA name like Europe/Berlin", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return Zone{}, fmt.Errorf("calendar: time zone: %w", err)
	}
	return Zone{loc}, nil
}

// In returns a time in the zone.
func (z Zone) In(at time.Time) time.Time { return at.In(z.location) }

// Day returns the day of an instant in DayLayout.
func (z Zone) Day(at time.Time) string { return at.In(z.location).Format(DayLayout) }

// Start returns the first instant of a day, in UTC.
func (z Zone) Start(day string) (time.Time, error) {
	d, err := time.Parse(DayLayout, day)
	if err != nil {
		return time.Time{}, fmt.Errorf("calendar: day %q: want YYYY-MM-DD", day)
	}
	at := time.Date(d.Year(), d.Month(), d.Day(), 0, 0, 0, 0, z.location)
	if z.Day(at) < day { // midnight is skipped: the day starts when the clock was put forward
		_, at = at.ZoneBounds()
	}
	if changed, _ := at.ZoneBounds(); !changed.IsZero() { // midnight occurs twice: the day starts with the first
		_, before := changed.Add(-time.Second).Zone()
		if first := d.Add(-time.Duration(before) * time.Second); first.Before(changed) {
			at = first
		}
	}
	return at.UTC(), nil
}

// Bounds returns the first instant of a day and that of the next.
func (z Zone) Bounds(day string) (start, end time.Time, err error) {
	if start, err = z.Start(day); err != nil {
		return
	}
	end, err = z.Start(ShiftDay(day, 1))
	return
}

// Hours lists the hours of a day in order, in HourLayout.
func (z Zone) Hours(day string) ([]string, error) {
	start, end, err := z.Bounds(day)
	if err != nil {
		return nil, err
	}
	var names []string
	for at := start; at.Before(end); {
		local := at.In(z.location)
		_, offset := local.Zone()
		hour := hourStart(at, offset)
		if name := hour.Format(HourLayout); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		next := hour.Add(time.Hour)
		if _, change := local.ZoneBounds(); !change.IsZero() && change.After(at) && change.Before(next) {
			next = change
		}
		at = next
	}
	return names, nil
}

// Hour returns the hour of an instant in HourLayout.
func (z Zone) Hour(at time.Time) string { return hourStart(at, z.offset(at)).Format(HourLayout) }

// HourBounds returns when the hour that contains an instant begins and ends, in UTC. It is shorter if
// a clock change cuts it.
func (z Zone) HourBounds(at time.Time) (start, end time.Time) {
	name := z.Hour(at)
	start = hourStart(at, z.offset(at)).UTC()
	end = start.Add(time.Hour)
	from, to := at.In(z.location).ZoneBounds()
	if from.After(start) && z.Hour(from.Add(-time.Nanosecond)) != name {
		start = from.UTC()
	}
	if !to.IsZero() && to.Before(end) && z.Hour(to) != name {
		end = to.UTC()
	}
	return start, end
}

// Minutes returns the zone's offset from UTC at an instant, in minutes.
func (z Zone) Minutes(at time.Time) int { return z.offset(at) / 60 }

// offset returns the zone's offset from UTC at an instant, in seconds.
func (z Zone) offset(at time.Time) int {
	_, seconds := at.In(z.location).Zone()
	return seconds
}

// HourRange returns the half-open range of the hours of the days first to last, both inclusive.
func (z Zone) HourRange(first, last string) (from, to string, err error) {
	start, err := z.Start(first)
	if err != nil {
		return "", "", err
	}
	_, end, err := z.Bounds(last)
	return start.Format(HourLayout), end.Format(HourLayout), err
}
