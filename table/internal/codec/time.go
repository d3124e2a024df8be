package codec

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MSLayout is the layout of timestamps. They are always UTC and have a fixed width, so that text
// order is time order. A format that omits trailing zeros would sort 14:00:00.500Z before
// 14:00:00Z, and ranges would miss their first second.
const MSLayout = "2006-01-02T15:04:05.000Z"

// TimeLayouts are the formats for time variables in templates. Each has a fixed width.
var TimeLayouts = map[string]string{
	"ms":     MSLayout,
	"s":      "2006-01-02T15:04:05Z",
	"minute": "2006-01-02T15:04Z",
	"hour":   "2006-01-02T15Z",
	"day":    "2006-01-02",
	"month":  "2006-01",
}

// FormatMS formats a time as in keys and attributes: UTC, milliseconds, fixed width.
func FormatMS(t time.Time) string {
	return string(AppendMS(make([]byte, 0, len(MSLayout)), t))
}

// AppendMS is equivalent to t.UTC().AppendFormat(dst, MSLayout), but several times faster. Years
// outside 0 to 9999 do not fit; callers must check with YearFits.
func AppendMS(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	ms := t.Nanosecond() / 1e6
	return append(dst,
		digit(year/1000), digit(year/100), digit(year/10), digit(year), '-',
		digit(int(month)/10), digit(int(month)), '-',
		digit(day/10), digit(day), 'T',
		digit(hour/10), digit(hour), ':',
		digit(minute/10), digit(minute), ':',
		digit(second/10), digit(second), '.',
		digit(ms/100), digit(ms/10), digit(ms), 'Z')
}

func digit(n int) byte { return byte('0' + n%10) }

// YearFits reports whether a year has at most four digits.
func YearFits(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// ParseTime parses RFC 3339 text. The fixed-width form has a fast path.
func ParseTime(s string) (time.Time, error) {
	if t, ok := ParseMS(s); ok {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not an RFC 3339 time", s)
	}
	return t.UTC(), nil
}

// ParseMS parses the fixed-width form. It rejects days 29 to 31, which do not exist in all months.
func ParseMS(s string) (time.Time, bool) {
	if len(s) != len(MSLayout) || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != '.' || s[23] != 'Z' {
		return time.Time{}, false
	}
	year, ok1 := digits(s[0:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	hour, ok4 := digits(s[11:13])
	minute, ok5 := digits(s[14:16])
	second, ok6 := digits(s[17:19])
	ms, ok7 := digits(s[20:23])
	plausible := month >= 1 && month <= 12 && day >= 1 && day <= 28 && hour < 24 && minute < 60 && second < 60
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && plausible) {
		return time.Time{}, false // also for days 29 to 31, which the general parser checks
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, ms*1e6, time.UTC), true
}

func digits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// EncodeTime encodes a time in the fixed-width form, for the parts of an item that the SDK encodes.
func EncodeTime(t time.Time) (types.AttributeValue, error) {
	if !YearFits(t) {
		return nil, fmt.Errorf("time %v: the year has more than four digits", t)
	}
	return &types.AttributeValueMemberS{Value: FormatMS(t)}, nil
}
