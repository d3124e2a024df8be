package calendar

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func load(t *testing.T, zone string) Zone {
	t.Helper()
	z, err := LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return z
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
		// The clock goes half an hour back at 2:00: the hour from 1:00 and the half hour after it
		// are two buckets.
		{"Australia/Lord_Howe", "2026-04-05", 25, "2026-04-04T13:00:00Z", "2026-04-05T12:30:00Z"},
		{"Australia/Lord_Howe", "2026-10-04", 24, "2026-10-03T13:30:00Z", "2026-10-04T12:00:00Z"},
		// Midnight is skipped, and midnight occurs twice.
		{"Asia/Beirut", "2026-03-29", 23, "2026-03-28T22:00:00Z", "2026-03-29T20:00:00Z"},
		{"America/Havana", "2026-11-01", 25, "2026-11-01T04:00:00Z", "2026-11-02T04:00:00Z"},
		{"America/Santiago", "2026-09-06", 23, "2026-09-06T04:00:00Z", "2026-09-07T02:00:00Z"},
	} {
		hours, err := load(t, tc.zone).Hours(tc.day)
		if err != nil {
			t.Fatal(err)
		}
		if len(hours) != tc.hours || hours[0] != tc.first || hours[len(hours)-1] != tc.last {
			t.Errorf("%s %s: %d hours %s … %s, want %d hours %s … %s",
				tc.zone, tc.day, len(hours), hours[0], hours[len(hours)-1], tc.hours, tc.first, tc.last)
		}
	}
}

// Every instant is in exactly one hour, that hour is one of its day's, and days are contiguous.
func TestZonesPartitionTime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
		"America/St_Johns", "Asia/Beirut", "America/Havana", "America/Santiago", "Pacific/Chatham", "Africa/Casablanca", "Pacific/Apia"}
	for range 3_000 {
		z := load(t, zones[random.IntN(len(zones))])
		at := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(int64(30 * 365 * 24 * time.Hour))))
		day := z.Day(at)
		start, end, err := z.Bounds(day)
		if err != nil {
			t.Fatal(err)
		}
		if at.Before(start) || !at.Before(end) {
			t.Fatalf("%s: %s is not within its day %s (%s … %s)", z.location, at, day, start, end)
		}
		name := z.Hour(at)
		hours, err := z.Hours(day)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i, h := range hours {
			if h == name {
				found++
			}
			if i > 0 && hours[i-1] >= h {
				t.Fatalf("%s: hours of %s are not in order: %v", z.location, day, hours)
			}
		}
		if found != 1 {
			t.Fatalf("%s: hour %s of %s is %d times among %v", z.location, name, at, found, hours)
		}
		if hours[0] < start.Format(HourLayout) || hours[len(hours)-1] >= end.Format(HourLayout) {
			t.Fatalf("%s: hours %s … %s leave the range of day %s (%s … %s)", z.location, hours[0], hours[len(hours)-1], day, start, end)
		}
	}
}

func TestMonths(t *testing.T) {
	for _, tc := range [][3]string{{"2026-02", "2026-02-01", "2026-02-28"}, {"2028-02", "2028-02-01", "2028-02-29"}, {"2026-12", "2026-12-01", "2026-12-31"}} {
		if first, last := MonthBounds(tc[0]); first != tc[1] || last != tc[2] || MonthOf(last) != tc[0] {
			t.Errorf("month %s is %s … %s", tc[0], first, last)
		}
	}
	if got := ShiftDay("2026-12-31", 1); got != "2027-01-01" {
		t.Errorf("the day after 2026-12-31 is %s", got)
	}
}

func TestDayOf(t *testing.T) {
	for _, at := range []string{"1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2026-12-31T22:30:00Z"} {
		instant, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		ms := instant.UnixMilli()
		for _, zone := range []int{0, 60, -600, 330, 840} {
			if got, want := DayOf(ms, zone), time.UnixMilli(ms).UTC().Add(time.Duration(zone)*time.Minute).Format(DayLayout); got != want {
				t.Errorf("%s at %d: %s, want %s", at, zone, got, want)
			}
		}
	}
}

// An hour's name from the cache is the same as from the calendar, even after it was replaced.
func TestHourNames(t *testing.T) {
	var names HourNames
	z := load(t, "Asia/Kolkata")
	start := time.Date(2026, 5, 12, 0, 10, 0, 0, time.UTC)
	for _, n := range []int{0, 1, 64, 0, 65, 1, 64} {
		at := start.Add(time.Duration(n) * time.Hour)
		for range 2 {
			if got, want := names.Of(HourOf(at.UnixMilli(), z.Minutes(at))), z.Hour(at); got != want {
				t.Errorf("%s: %s, want %s", at, got, want)
			}
		}
	}
}

func TestSpans(t *testing.T) {
	runs := []Span{{"2026-01-15", "2026-01-31"}, {"2026-03-01", "2026-03-04"}, {"2026-03-06", "2026-04-09"}}
	var days []string
	for _, r := range runs {
		days = append(days, Days(r.From, r.To)...)
	}
	if got := Spans(days, 3); !slices.Equal(got, runs) {
		t.Errorf("spans of runs %v", got)
	}
	scattered := []string{"2026-01-01", "2026-01-03", "2026-02-01", "2026-02-10", "2026-04-01"}
	if got := Spans(scattered, 3); !slices.Equal(got, []Span{{"2026-01-01", "2026-01-03"}, {"2026-02-01", "2026-02-10"}, {"2026-04-01", "2026-04-01"}}) {
		t.Errorf("spans of scattered days %v", got)
	}
}

func TestLoadZoneRefuses(t *testing.T) {
	for _, name := range []string{"", "Local", "Mars/Olympus", "../etc/passwd"} {
		if _, err := LoadZone(name); err == nil {
			t.Errorf("%q is a zone", name)
		}
	}
}

func TestDaysEnd(t *testing.T) {
	for _, c := range []struct {
		from, to string
		n        int
	}{{"2026-02-27", "2026-03-01", 3}, {"2026-03-01", "2026-02-27", 0}, {"9999-12-30", "9999-12-31", 2}, {"x", "y", 1}} {
		if got := Days(c.from, c.to); len(got) != c.n {
			t.Errorf("Days(%s, %s): %v", c.from, c.to, got)
		}
	}
	for _, day := range []string{"9999-12-31", "1969-12-31", "0000-01-01", "2026-02-30", "2026-2-3", "", "10000-01-01"} {
		if _, err := ParseDay(day); err == nil {
			t.Errorf("ParseDay(%q) is accepted", day)
		}
	}
}
