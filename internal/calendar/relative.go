package calendar

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// RelativeNames lists the ranges that Relative knows, for help texts and error messages.
const RelativeNames = "today, yesterday, 7d, 28d, 30d, 90d or any number of days, this_week, last_week, this_month, last_month, this_year, last_year, 6mo, 12mo or any number of months"

// maxRelative is the maximum length of the name of a range, in bytes.
const maxRelative = 32

// Relative returns the first and last day of a named range, such as 7d, last_week or 12mo. It ignores
// case and accepts spaces and dashes for underscores: "Last 7 days" is 7d. Weeks begin on Monday.
// Ranges that contain today end today. 7d is today and the six days before; 12mo is the current month
// so far and the eleven months before.
func Relative(name, today string) (from, to string, err error) {
	now, err := ParseDay(today)
	if err != nil {
		return "", "", err
	}
	if len(name) <= maxRelative {
		plain := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
		if from, to, ok := named(plain, now); ok {
			return from.Format(DayLayout), to.Format(DayLayout), nil
		}
		if from, ok := counted(plain, now); ok {
			return from.Format(DayLayout), today, nil
		}
	} else {
		name = name[:maxRelative]
	}
	return "", "", fmt.Errorf("unknown range %q: use %s", name, RelativeNames)
}

// named returns the range of a word.
func named(word string, today time.Time) (from, to time.Time, ok bool) {
	week := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	month := today.AddDate(0, 0, 1-today.Day())
	year := month.AddDate(0, 1-int(month.Month()), 0)
	switch word {
	case "today", "day":
		return today, today, true
	case "yesterday":
		return today.AddDate(0, 0, -1), today.AddDate(0, 0, -1), true
	case "this_week", "week":
		return week, today, true
	case "last_week":
		return week.AddDate(0, 0, -7), week.AddDate(0, 0, -1), true
	case "this_month", "month":
		return month, today, true
	case "last_month":
		return month.AddDate(0, -1, 0), month.AddDate(0, 0, -1), true
	case "this_year", "year":
		return year, today, true
	case "last_year":
		return year.AddDate(-1, 0, 0), year.AddDate(0, 0, -1), true
	}
	return today, today, false
}

// lastOf matches a number of days or months that end today.
var lastOf = regexp.MustCompile(`^(?:last_)?([1-9][0-9]{0,3})_?(d|days?|mo|months?)$`)

// counted returns the first day of a number of days or months.
func counted(word string, today time.Time) (from time.Time, ok bool) {
	parts := lastOf.FindStringSubmatch(word)
	if parts == nil {
		return today, false
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return today, false
	}
	if parts[2][0] == 'd' {
		return today.AddDate(0, 0, 1-n), true
	}
	return today.AddDate(0, 1-n, 1-today.Day()), true
}
