package query

import (
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
)

// Comparison is what a range is compared with.
type Comparison struct {
	Compare string `query:"compare" enum:"none,previous,year,everything" default:"none" doc:"Compare with the days before, with the same days a year earlier, or with everything: the same days without the filters."`
	Align   string `query:"align" enum:"weekday,date" default:"weekday" doc:"weekday: shift by whole weeks, so that Mondays are compared with Mondays: previous is the latest range that does not overlap, year is 52 weeks earlier. date: shift by the length of the range, or by a calendar year. Buckets of months are always aligned by date."`
}

// Everything compares filtered visits with all visits of the same days.
const Everything = "everything"

const (
	week        = 7         // days
	yearOfWeeks = 52 * week // days
)

// Days returns the first and last day that a range is compared with, and how the two ranges are
// aligned: by weekday or by date. If a day is invalid, both are returned unchanged.
func (c Comparison) Days(from, to string, period analytics.Period) (first, last, align string) {
	f, err := calendar.ParseDay(from)
	l, err2 := calendar.ParseDay(to)
	if err != nil || err2 != nil {
		return from, to, c.Align
	}
	length := calendar.DaysBetween(from, to) + 1
	switch byMonth := period == analytics.Month; {
	case byMonth && c.Compare == "previous" && f.Day() == 1:
		months := 12*(l.Year()-f.Year()) + int(l.Month()-f.Month()) + 1
		return monthsEarlier(f, months), endMonthsEarlier(l, months), "date"
	case c.Compare == "year" && byMonth:
		return monthsEarlier(f, 12), endMonthsEarlier(l, 12), "date"
	case c.Compare == "year" && c.Align == "date":
		return monthsEarlier(f, 12), monthsEarlier(l, 12), "date"
	case c.Compare == "year":
		length = wholes(length, yearOfWeeks)
	case c.Align == "weekday" && !byMonth:
		length = wholes(length, week)
	default:
		return calendar.ShiftDay(from, -length), calendar.ShiftDay(to, -length), "date"
	}
	return calendar.ShiftDay(from, -length), calendar.ShiftDay(to, -length), "weekday"
}

// wholes rounds n up to a multiple of unit.
func wholes(n, unit int) int { return (n + unit - 1) / unit * unit }

// monthsEarlier returns the same day of an earlier month, or that month's last day if it is shorter.
func monthsEarlier(day time.Time, months int) string {
	first := time.Date(day.Year(), day.Month()-time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(day.Day(), last.Day())-1).Format(time.DateOnly)
}

// endMonthsEarlier is monthsEarlier for the last day of a range of months. The end of a month becomes
// that of the earlier one, which may be longer.
func endMonthsEarlier(day time.Time, months int) string {
	if tomorrow := day.AddDate(0, 0, 1); tomorrow.Day() == 1 {
		return calendar.ShiftDay(monthsEarlier(tomorrow, months), -1)
	}
	return monthsEarlier(day, months)
}
