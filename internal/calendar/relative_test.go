package calendar

import (
	"strings"
	"testing"
)

func TestRelative(t *testing.T) {
	const today = "2024-03-31" // a Sunday, in a leap year
	for name, want := range map[string]string{
		"today": "2024-03-31 2024-03-31", "day": "2024-03-31 2024-03-31", "yesterday": "2024-03-30 2024-03-30",
		"7d": "2024-03-25 2024-03-31", "1d": "2024-03-31 2024-03-31", "28d": "2024-03-04 2024-03-31", "90d": "2024-01-02 2024-03-31",
		"Last 7 days": "2024-03-25 2024-03-31", "last-30-days": "2024-03-02 2024-03-31", "last 1 day": "2024-03-31 2024-03-31",
		"this_week": "2024-03-25 2024-03-31", "week": "2024-03-25 2024-03-31", "last_week": "2024-03-18 2024-03-24", "LAST WEEK": "2024-03-18 2024-03-24",
		"this_month": "2024-03-01 2024-03-31", "last_month": "2024-02-01 2024-02-29", " month ": "2024-03-01 2024-03-31",
		"this_year": "2024-01-01 2024-03-31", "last_year": "2023-01-01 2023-12-31",
		"1mo": "2024-03-01 2024-03-31", "2mo": "2024-02-01 2024-03-31", "12mo": "2023-04-01 2024-03-31", "last 12 months": "2023-04-01 2024-03-31",
	} {
		from, to, err := Relative(name, today)
		if got := from + " " + to; err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	if from, to, err := Relative("last_week", "2024-04-01"); err != nil || from != "2024-03-25" || to != "2024-03-31" {
		t.Errorf("on a Monday: %s %s %v", from, to, err)
	}
	for _, bad := range []string{"", "0d", "-1d", "d", "7w", "99999d", "next_week", "7d7d", strings.Repeat("9", 1<<20) + "d", "last_", "\x00"} {
		if from, to, err := Relative(bad, today); err == nil || !strings.Contains(err.Error(), "last_week") || len(err.Error()) > 400 {
			t.Errorf("%.40q: %s %s %v", bad, from, to, err)
		}
	}
	if _, _, err := Relative("today", "2024-02-30"); err == nil {
		t.Error("a day that does not exist is accepted")
	}
}
