package report

import (
	"slices"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/internal/calendar"
)

// plan assigns each day of a range to a tier. Coarse tiers are preferred because they are smaller.
type plan struct {
	months []string // whole months that are closed and rolled up
	days   []string // rolled-up days outside these months
	hours  []string // days that are open, or changed since their roll-up
}

// newPlan divides consecutive days. fresh holds the days whose hours are newer than their roll-up;
// coarsest is the coarsest allowed tier.
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

// add plans days of one month.
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

// maxSpans limits the Query calls of one tier of a report. If the days of a tier are in more
// separate spans, the days between them are read too.
const maxSpans = 3
