package calendar

import (
	"sync/atomic"
	"time"
)

// HourOf returns the start of the clock hour of an instant in epoch milliseconds, at an offset from
// UTC in minutes. The result is in epoch seconds.
func HourOf(ms int64, minutes int) int64 {
	return hourStart(time.UnixMilli(ms), minutes*60).Unix()
}

// DayOf formats the day of an instant in epoch milliseconds, at an offset from UTC in minutes, in
// DayLayout. Days beyond the year 9999 share the names of earlier ones.
func DayOf(ms int64, minutes int) string {
	year, month, day := time.UnixMilli(ms).UTC().Add(time.Duration(minutes) * time.Minute).Date()
	digit := func(n int) byte { return byte('0' + n%10) }
	return string([]byte{
		digit(year / 1000), digit(year / 100), digit(year / 10), digit(year), '-',
		digit(int(month) / 10), digit(int(month)), '-', digit(day / 10), digit(day),
	})
}

// hourStart returns the start of the clock hour of an instant, at an offset from UTC in seconds.
func hourStart(at time.Time, offset int) time.Time {
	local := at.Unix() + int64(offset)
	into := local % 3600
	if into < 0 {
		into += 3600
	}
	return time.Unix(at.Unix()-into, 0).UTC()
}

// HourNames caches formatted hours, for callers who format the same few again and again. The zero
// value is ready to use, and safe for concurrent use.
type HourNames struct {
	recent [64]atomic.Pointer[hourName] // by the last bits of the hour's number
}

type hourName struct {
	hour int64 // epoch seconds
	name string
}

// Of formats the hour that starts at a time in epoch seconds, in HourLayout.
func (h *HourNames) Of(hour int64) string {
	place := &h.recent[uint64(hour/3600)%uint64(len(h.recent))]
	if known := place.Load(); known != nil && known.hour == hour {
		return known.name
	}
	n := &hourName{hour, time.Unix(hour, 0).UTC().Format(HourLayout)}
	place.Store(n)
	return n.name
}
