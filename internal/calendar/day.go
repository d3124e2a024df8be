package calendar

import (
	"fmt"
	"slices"
	"time"
)

// Days lists the days of a range, both ends inclusive.
func Days(from, to string) []string {
	names := make([]string, max(DaysBetween(from, to)+1, 0))
	for i := range names {
		names[i] = ShiftDay(from, i)
	}
	return names
}

// The first and last valid day. Every valid day has neighbours that are written the same way.
const (
	firstDay = "1970-01-01"
	lastDay  = "9998-12-31"
)

// ParseDay parses a day, YYYY-MM-DD, from 1970 to 9998.
func ParseDay(day string) (time.Time, error) {
	d, err := time.Parse(DayLayout, day)
	if err != nil || day < firstDay || day > lastDay {
		return time.Time{}, fmt.Errorf("day %q: want YYYY-MM-DD, from %s to %s", day, firstDay, lastDay)
	}
	return d, nil
}

// ShiftDay returns the day n days after a valid day. Other strings are returned unchanged.
func ShiftDay(day string, n int) string {
	d, err := time.Parse(DayLayout, day)
	if err != nil {
		return day
	}
	return d.AddDate(0, 0, n).Format(DayLayout)
}

// DaysBetween returns the number of days from one valid day to another.
func DaysBetween(from, to string) int {
	a, errA := time.Parse(DayLayout, from)
	b, errB := time.Parse(DayLayout, to)
	if errA != nil || errB != nil {
		return 0
	}
	return int(b.Sub(a) / (24 * time.Hour))
}

// MonthOf returns the month of a valid day.
func MonthOf(day string) string { return day[:len(MonthLayout)] }

// MonthBounds returns the first and the last day of a valid month.
func MonthBounds(month string) (first, last string) {
	first = month + "-01"
	d, err := time.Parse(DayLayout, first)
	if err != nil {
		return first, first
	}
	return first, d.AddDate(0, 1, -1).Format(DayLayout)
}

// MonthAfter returns the month after a valid month.
func MonthAfter(month string) string {
	_, last := MonthBounds(month)
	return MonthOf(ShiftDay(last, 1))
}

// MonthsOf lists the months of days, which must be sorted.
func MonthsOf(days []string) []string {
	var months []string
	for _, d := range days {
		if m := MonthOf(d); len(months) == 0 || months[len(months)-1] != m {
			months = append(months, m)
		}
	}
	return months
}

// Span is a range of days or months, both inclusive.
type Span struct{ From, To string }

// Spans covers sorted days with at most most ranges, split at the widest gaps.
func Spans(days []string, most int) []Span {
	var out []Span
	for _, d := range days {
		if n := len(out); n > 0 && ShiftDay(out[n-1].To, 1) == d {
			out[n-1].To = d
			continue
		}
		out = append(out, Span{d, d})
	}
	for len(out) > most {
		out = joinNearest(out)
	}
	return out
}

func joinNearest(s []Span) []Span {
	best, least := 1, 0
	for i := 1; i < len(s); i++ {
		if gap := DaysBetween(s[i-1].To, s[i].From); i == 1 || gap < least {
			best, least = i, gap
		}
	}
	s[best-1].To = s[best].To
	return slices.Delete(s, best, best+1)
}
