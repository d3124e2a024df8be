package analytics

import (
	"errors"
	"testing"
	"time"
)

func TestRetentionDefaults(t *testing.T) {
	var r Retention
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	if r.Raw() != 30*day || r.Of(Hour) != 90*day || r.Of(Day) != 730*day || r.Of(Month) != 0 {
		t.Errorf("defaults are raw %v, hour %v, day %v, month %v", r.Raw(), r.Of(Hour), r.Of(Day), r.Of(Month))
	}
}

func TestRetentionRefused(t *testing.T) {
	for name, r := range map[string]Retention{
		"raw gone before its day closes":             {RawDays: 1},
		"negative":                                   {RawDays: -3},
		"hours gone while late events may come":      {RawDays: 30, HourDays: 30},
		"days gone before their month is rolled up":  {RawDays: 30, HourDays: 32, DayDays: 60},
		"days gone before their hours":               {RawDays: 30, HourDays: 400, DayDays: 300},
		"months gone before their days":              {MonthDays: 365},
		"more than a hundred years: say for ever":    {MonthDays: 1_000_000},
		"raw facts longer than the default of hours": {RawDays: 120},
	} {
		if err := r.Check(); !errors.Is(err, ErrRetention) {
			t.Errorf("%s: %+v: error %v", name, r, err)
		}
	}
	for _, r := range []Retention{{RawDays: 2, HourDays: 4, DayDays: 35}, {RawDays: 30, HourDays: 32, DayDays: 63}, {MonthDays: 3650}} {
		if err := r.Check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
