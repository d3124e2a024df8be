package report

import (
	"reflect"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
)

func TestPlan(t *testing.T) {
	days := calendar.Days("2026-01-15", "2026-04-10")
	p := newPlan(days, map[string]bool{"2026-03-05": true, "2026-04-10": true}, analytics.Month)
	if !reflect.DeepEqual(p.months, []string{"2026-02"}) || len(p.hours) != 2 || len(p.days) != 17+30+9 {
		t.Errorf("months %v, %d days, hours of %v", p.months, len(p.days), p.hours)
	}
}
