package analytics

import (
	"fmt"
	"time"
)

// How the start of a bucket is written.
const (
	hourLayout  = "2006-01-02T15:04:05Z" // in UTC
	dayLayout   = "2006-01-02"
	monthLayout = "2006-01"
)

// calendar knows the buckets of one time zone. A day runs from its first instant to the next day's, so it has 23 or 25
// hours where the clock is changed. An hour is a local clock hour: with an offset of 5 h 30 it starts at half past in
// UTC, and one that the clock's change cuts short is a bucket of its own.
type calendar struct{ zone *time.Location }

func newCalendar(zone string) (calendar, error) {
	if zone == "" || zone == "Local" { // which would mean another zone on another machine
		return calendar{}, fmt.Errorf("analytics: time zone %q: use an IANA name like Europe/Berlin", zone)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return calendar{}, fmt.Errorf("analytics: time zone: %w", err)
	}
	return calendar{loc}, nil
}

// day names the day of an instant.
func (c calendar) day(at time.Time) string { return at.In(c.zone).Format(dayLayout) }

// start is the first instant of a day.
func (c calendar) start(day string) (time.Time, error) {
	d, err := time.Parse(dayLayout, day)
	if err != nil {
		return time.Time{}, fmt.Errorf("analytics: day %q: want YYYY-MM-DD", day)
	}
	at := time.Date(d.Year(), d.Month(), d.Day(), 0, 0, 0, 0, c.zone)
	if c.day(at) < day { // midnight is skipped: the day starts where the clock was put forward
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

// bounds are the first instant of a day and that of the next.
func (c calendar) bounds(day string) (start, end time.Time, err error) {
	if start, err = c.start(day); err != nil {
		return
	}
	end, err = c.start(shiftDay(day, 1))
	return
}

// hours names the hours of a day, in order.
func (c calendar) hours(day string) ([]string, error) {
	start, end, err := c.bounds(day)
	if err != nil {
		return nil, err
	}
	var names []string
	for at := start; at.Before(end); {
		local := at.In(c.zone)
		_, offset := local.Zone()
		hour := hourStart(at, offset)
		if name := hour.Format(hourLayout); len(names) == 0 || names[len(names)-1] != name {
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

// hourStart is the start of the clock hour of an instant, at an offset from UTC in seconds.
func hourStart(at time.Time, offset int) time.Time {
	local := at.Unix() + int64(offset)
	into := local % 3600
	if into < 0 {
		into += 3600
	}
	return time.Unix(at.Unix()-into, 0).UTC()
}

// days names the days from one to another, both inclusive.
func (c calendar) days(from, to string) []string {
	var names []string
	for day := from; day <= to; day = shiftDay(day, 1) {
		names = append(names, day)
	}
	return names
}

// shiftDay is the day n days after a valid day; other strings are returned as they are.
func shiftDay(day string, n int) string {
	d, err := time.Parse(dayLayout, day)
	if err != nil {
		return day
	}
	return d.AddDate(0, 0, n).Format(dayLayout)
}

// monthOf names the month of a valid day.
func monthOf(day string) string { return day[:len(monthLayout)] }

// monthBounds are the first day of a valid month and its last.
func monthBounds(month string) (first, last string) {
	first = month + "-01"
	d, err := time.Parse(dayLayout, first)
	if err != nil {
		return first, first
	}
	return first, d.AddDate(0, 1, -1).Format(dayLayout)
}

// monthAfter is the month after a valid month.
func monthAfter(month string) string {
	_, last := monthBounds(month)
	return monthOf(shiftDay(last, 1))
}

// monthsOf names the months of days, which are in order.
func monthsOf(days []string) []string {
	var months []string
	for _, d := range days {
		if m := monthOf(d); len(months) == 0 || months[len(months)-1] != m {
			months = append(months, m)
		}
	}
	return months
}

// hourRange is the half-open range of the names of the hours of days.
func (c calendar) hourRange(s span) (from, to string, err error) {
	start, _, err := c.bounds(s.from)
	if err != nil {
		return "", "", err
	}
	_, end, err := c.bounds(s.to)
	return start.Format(hourLayout), end.Format(hourLayout), err
}

// daysBetween is how many days lie from one valid day to another.
func daysBetween(from, to string) int {
	a, errA := time.Parse(dayLayout, from)
	b, errB := time.Parse(dayLayout, to)
	if errA != nil || errB != nil {
		return 0
	}
	return int(b.Sub(a) / (24 * time.Hour))
}
