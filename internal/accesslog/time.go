package accesslog

import (
	"bytes"
	"fmt"
)

// timeLen is the length of "02/Jan/2006:15:04:05 -0700".
const timeLen = 26

// cutTime removes everything up to the bracketed time from rest: the identity and the user, which
// may contain spaces and brackets, then the time, returned in seconds since 1970.
func cutTime(rest []byte) (seconds int64, after []byte, err error) {
	reason := ""
	for {
		i := bytes.IndexByte(rest, '[')
		if i < 0 {
			if reason == "" {
				reason = "it has no [time]"
			}
			return 0, nil, malformed(reason)
		}
		rest = rest[i+1:]
		if len(rest) > timeLen && rest[timeLen] == ']' {
			if seconds, ok := parseTime(rest[:timeLen]); ok {
				return seconds, rest[timeLen+1:], nil
			}
		}
		if reason == "" {
			reason = fmt.Sprintf("the time %.26q is not like 02/Jan/2006:15:04:05 -0700", rest)
		}
	}
}

// parseTime parses 26 bytes like "02/Jan/2006:15:04:05 -0700", from 1970 to 9999, into seconds
// since 1970. It does what time.Parse does at a tenth of its cost, and treats second 60 as the
// first of the next minute.
func parseTime(b []byte) (int64, bool) {
	if b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' || b[17] != ':' || b[20] != ' ' {
		return 0, false
	}
	month := monthOf(b[3], b[4], b[5])
	day, ok1 := twoDigits(b[0:])
	century, ok2 := twoDigits(b[7:])
	year, ok3 := twoDigits(b[9:])
	hour, ok4 := twoDigits(b[12:])
	minute, ok5 := twoDigits(b[15:])
	second, ok6 := twoDigits(b[18:])
	zoneHour, ok7 := twoDigits(b[22:])
	zoneMinute, ok8 := twoDigits(b[24:])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && ok8) {
		return 0, false
	}
	year += century * 100
	if month == 0 || day < 1 || day > daysIn(month, year) || year < 1970 ||
		hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59 {
		return 0, false
	}
	zone := int64(zoneHour)*3600 + int64(zoneMinute)*60
	switch b[21] {
	case '+':
	case '-':
		zone = -zone
	default:
		return 0, false
	}
	seconds := daysSince1970(year, month, day)*86400 + int64(hour)*3600 + int64(minute)*60 + int64(second) - zone
	return seconds, seconds >= 0
}

func twoDigits(b []byte) (int, bool) {
	return int(b[0]-'0')*10 + int(b[1]-'0'), isDigit(b[0]) && isDigit(b[1])
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// monthOf returns 1 to 12, or 0.
func monthOf(a, b, c byte) int {
	for i := 0; i < len(months); i += 3 {
		if months[i] == a && months[i+1] == b && months[i+2] == c {
			return i/3 + 1
		}
	}
	return 0
}

func daysIn(month, year int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}

// daysSince1970 counts days in the Gregorian calendar. Years start in March, so that the leap day
// is the last day (E. M. Reingold and N. Dershowitz, "Calendrical Calculations").
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	const march1st1970 = 719468 // days from 1 March of year 0 to 1 January 1970
	return int64(year)*365 + int64(year/4) - int64(year/100) + int64(year/400) +
		int64((153*(month-3)+2)/5) + int64(day) - 1 - march1st1970
}
