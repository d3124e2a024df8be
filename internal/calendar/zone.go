// Package calendar divides time into the hours, days and months of a time zone, and names them so that the order of the
// names is the order of time: keys of a table are made of them. It imports nothing of the project; whoever counts by
// hour, day or month may use it.
package calendar

import (
	"fmt"
	"time"
)

// How the start of a bucket is written.
const (
	HourLayout  = "2006-01-02T15:04:05Z" // in UTC
	DayLayout   = "2006-01-02"
	MonthLayout = "2006-01"
)

// Zone knows the buckets of one time zone. A day runs from its first instant to the next day's, so it has 23 or 25
// hours where the clock is changed. An hour is a local clock hour: with an offset of 5 h 30 it starts at half past in
// UTC, and one that the clock's change cuts short is a bucket of its own.
type Zone struct{ location *time.Location }

// LoadZone finds a zone by its IANA name, like Europe/Berlin. The error says what is wrong with the name.
func LoadZone(name string) (Zone, error) {
	if name == "" || name == "Local" { // which would mean another zone on another machine
		return Zone{}, fmt.Errorf("calendar: time zone %q: use an IANA name like Europe/Berlin", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return Zone{}, fmt.Errorf("calendar: time zone: %w", err)
	}
	return Zone{loc}, nil
}

// Day names the day of an instant, as DayLayout does.
func (z Zone) Day(at time.Time) string { return at.In(z.location).Format(DayLayout) }

// Start is the first instant of a day, in UTC.
func (z Zone) Start(day string) (time.Time, error) {
	d, err := time.Parse(DayLayout, day)
	if err != nil {
		return time.Time{}, fmt.Errorf("calendar: day %q: want YYYY-MM-DD", day)
	}
	at := time.Date(d.Year(), d.Month(), d.Day(), 0, 0, 0, 0, z.location)
	if z.Day(at) < day { // midnight is skipped: the day starts where the clock was put forward
		_, at = at.ZoneBounds()
	}
	if changed, _ := at.ZoneBounds(); !changed.IsZero() { // midnight comes twice: the day starts with the first
		_, before := changed.Add(-time.Second).Zone()
		if first := d.Add(-time.Duration(before) * time.Second); first.Before(changed) {
			at = first
		}
	}
	return at.UTC(), nil
}

// Bounds are the first instant of a day and that of the next.
func (z Zone) Bounds(day string) (start, end time.Time, err error) {
	if start, err = z.Start(day); err != nil {
		return
	}
	end, err = z.Start(ShiftDay(day, 1))
	return
}

// Hours names the hours of a day, in order, as HourLayout does.
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

// Hour names the hour of an instant, as HourLayout does.
func (z Zone) Hour(at time.Time) string { return hourStart(at, z.offset(at)).Format(HourLayout) }

// Minutes is the zone's offset from UTC at an instant, in minutes.
func (z Zone) Minutes(at time.Time) int { return z.offset(at) / 60 }

// offset is the zone's offset from UTC at an instant, in seconds.
func (z Zone) offset(at time.Time) int {
	_, seconds := at.In(z.location).Zone()
	return seconds
}

// HourRange is the half-open range of the names of the hours of days, both of which are inclusive.
func (z Zone) HourRange(first, last string) (from, to string, err error) {
	start, err := z.Start(first)
	if err != nil {
		return "", "", err
	}
	_, end, err := z.Bounds(last)
	return start.Format(HourLayout), end.Format(HourLayout), err
}
