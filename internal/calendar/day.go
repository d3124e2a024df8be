package calendar

import (
	"slices"
	"time"
)

// Days names the days from one to another, both inclusive.
func Days(from, to string) []string {
	var names []string
	for day := from; day <= to; day = ShiftDay(day, 1) {
		names = append(names, day)
	}
	return names
}

// ShiftDay is the day n days after a valid day; other strings are returned as they are.
func ShiftDay(day string, n int) string {
	d, err := time.Parse(DayLayout, day)
	if err != nil {
		return day
	}
	return d.AddDate(0, 0, n).Format(DayLayout)
}

// DaysBetween is how many days lie from one valid day to another.
func DaysBetween(from, to string) int {
	a, errA := time.Parse(DayLayout, from)
	b, errB := time.Parse(DayLayout, to)
	if errA != nil || errB != nil {
		return 0
	}
	return int(b.Sub(a) / (24 * time.Hour))
}

// MonthOf names the month of a valid day.
func MonthOf(day string) string { return day[:len(MonthLayout)] }

// MonthBounds are the first day of a valid month and its last.
func MonthBounds(month string) (first, last string) {
	first = month + "-01"
	d, err := time.Parse(DayLayout, first)
	if err != nil {
		return first, first
	}
	return first, d.AddDate(0, 1, -1).Format(DayLayout)
}

// MonthAfter is the month after a valid month.
func MonthAfter(month string) string {
	_, last := MonthBounds(month)
	return MonthOf(ShiftDay(last, 1))
}

// MonthsOf names the months of days, which are in order.
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

// Spans covers days, which are in order, by at most a number of ranges: those between the widest gaps.
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
