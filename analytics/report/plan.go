package report

import (
	"slices"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/internal/calendar"
)

// plan says from which tier each day of a range is answered. Coarse tiers are small, so they answer what they can.
type plan struct {
	months []string // whole months that are closed and rolled up
	days   []string // days that are rolled up, outside of these months
	hours  []string // days that are open, or changed since their roll-up
}

// newPlan divides days, which are consecutive. fresh says of which days the hours are ahead of their roll-up, coarsest
// what the answer may be made of at most.
func newPlan(days []string, fresh map[string]bool, coarsest analytics.Period) plan {
	var p plan
	for len(days) > 0 {
		n := 1
		for n < len(days) && calendar.MonthOf(days[n]) == calendar.MonthOf(days[0]) {
			n++
		}
		p.add(days[:n], fresh, coarsest)
		days = days[n:]
	}
	return p
}

// add plans for days of one month.
func (p *plan) add(days []string, fresh map[string]bool, coarsest analytics.Period) {
	first, last := calendar.MonthBounds(calendar.MonthOf(days[0]))
	whole := days[0] == first && days[len(days)-1] == last
	if coarsest == analytics.Month && whole && !slices.ContainsFunc(days, func(d string) bool { return fresh[d] }) {
		p.months = append(p.months, calendar.MonthOf(first))
		return
	}
	for _, d := range days {
		if coarsest == analytics.Hour || fresh[d] {
			p.hours = append(p.hours, d)
		} else {
			p.days = append(p.days, d)
		}
	}
}

// maxSpans is the most Query calls that one tier of a report takes. What lies between days that wait for a roll-up is
// read along with them when they are in more places.
const maxSpans = 3
