package analytics

import (
	"math/rand/v2"
	"testing"
	"time"
)

func calendarIn(t *testing.T, zone string) calendar {
	t.Helper()
	c, err := newCalendar(zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHoursOfDay(t *testing.T) {
	for _, tc := range []struct {
		zone, day   string
		hours       int
		first, last string
	}{
		{"UTC", "2026-05-12", 24, "2026-05-12T00:00:00Z", "2026-05-12T23:00:00Z"},
		{"Europe/Berlin", "2026-03-29", 23, "2026-03-28T23:00:00Z", "2026-03-29T21:00:00Z"},
		{"Europe/Berlin", "2026-10-25", 25, "2026-10-24T22:00:00Z", "2026-10-25T22:00:00Z"},
		{"Asia/Kolkata", "2026-05-12", 24, "2026-05-11T18:30:00Z", "2026-05-12T17:30:00Z"},
		{"Asia/Kathmandu", "2026-05-12", 24, "2026-05-11T18:15:00Z", "2026-05-12T17:15:00Z"},
		{"America/St_Johns", "2026-11-01", 25, "2026-11-01T02:30:00Z", "2026-11-02T02:30:00Z"},
		// The clock goes half an hour back at 2:00: the hour from 1:00 and the half hour after it are two buckets.
		{"Australia/Lord_Howe", "2026-04-05", 25, "2026-04-04T13:00:00Z", "2026-04-05T12:30:00Z"},
		{"Australia/Lord_Howe", "2026-10-04", 24, "2026-10-03T13:30:00Z", "2026-10-04T12:00:00Z"},
		// Midnight is skipped, and midnight comes twice.
		{"Asia/Beirut", "2026-03-29", 23, "2026-03-28T22:00:00Z", "2026-03-29T20:00:00Z"},
		{"America/Havana", "2026-11-01", 25, "2026-11-01T04:00:00Z", "2026-11-02T04:00:00Z"},
		{"America/Santiago", "2026-09-06", 23, "2026-09-06T04:00:00Z", "2026-09-07T02:00:00Z"},
	} {
		hours, err := calendarIn(t, tc.zone).hours(tc.day)
		if err != nil {
			t.Fatal(err)
		}
		if len(hours) != tc.hours || hours[0] != tc.first || hours[len(hours)-1] != tc.last {
			t.Errorf("%s %s: %d hours %s … %s, want %d hours %s … %s",
				tc.zone, tc.day, len(hours), hours[0], hours[len(hours)-1], tc.hours, tc.first, tc.last)
		}
	}
}

// Every instant is in exactly one hour, that hour is one of its day's, and days follow each other without a gap.
func TestCalendarPartitionsTime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
		"America/St_Johns", "Asia/Beirut", "America/Havana", "America/Santiago", "Pacific/Chatham", "Africa/Casablanca", "Pacific/Apia"}
	for range 3_000 {
		c := calendarIn(t, zones[random.IntN(len(zones))])
		at := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(int64(30 * 365 * 24 * time.Hour))))
		day := c.day(at)
		start, end, err := c.bounds(day)
		if err != nil {
			t.Fatal(err)
		}
		if at.Before(start) || !at.Before(end) {
			t.Fatalf("%s: %s is not within its day %s (%s … %s)", c.zone, at, day, start, end)
		}
		_, offset := at.In(c.zone).Zone()
		name := hourStart(at, offset).Format(hourLayout)
		hours, err := c.hours(day)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i, h := range hours {
			if h == name {
				found++
			}
			if i > 0 && hours[i-1] >= h {
				t.Fatalf("%s: hours of %s are not in order: %v", c.zone, day, hours)
			}
		}
		if found != 1 {
			t.Fatalf("%s: hour %s of %s is %d times among %v", c.zone, name, at, found, hours)
		}
		if hours[0] < start.Format(hourLayout) || hours[len(hours)-1] >= end.Format(hourLayout) {
			t.Fatalf("%s: hours %s … %s leave the range of day %s (%s … %s)", c.zone, hours[0], hours[len(hours)-1], day, start, end)
		}
	}
}

func TestMonths(t *testing.T) {
	for _, tc := range [][3]string{{"2026-02", "2026-02-01", "2026-02-28"}, {"2028-02", "2028-02-01", "2028-02-29"}, {"2026-12", "2026-12-01", "2026-12-31"}} {
		if first, last := monthBounds(tc[0]); first != tc[1] || last != tc[2] || monthOf(last) != tc[0] {
			t.Errorf("month %s is %s … %s", tc[0], first, last)
		}
	}
	if got := shiftDay("2026-12-31", 1); got != "2027-01-01" {
		t.Errorf("the day after 2026-12-31 is %s", got)
	}
}
