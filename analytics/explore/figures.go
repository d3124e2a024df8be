package explore

import (
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/decimal"
)

// counts holds figures while they are counted.
type counts struct {
	report.Figures
	engagedMS int64
}

// addVisit adds the counts that belong to the bucket in which the visit started.
func (c *counts) addVisit(d *columns, v int) {
	c.Visits++
	c.Seconds += d.seconds[v]
	if d.bounced[v] {
		c.Bounces++
	}
}

// addGoals adds the conversions of a visit.
func (c *counts) addGoals(d *columns, v int) {
	for i, end := d.goals.of(v); i < end; i++ {
		c.Conversions += d.goals.count[i]
	}
}

// addEvent adds the counts that belong to the bucket in which the event happened.
func (c *counts) addEvent(d *columns, e int) {
	switch name := d.name.at(e); {
	case d.silent[name]:
		c.engagedMS += d.engagedOf(e)
	case name == 0:
		c.PageViews++
	default:
		c.Events++
	}
	c.addRevenue(d.revenue.text(e))
}

func (c *counts) addRevenue(amount string) {
	if amount != "" {
		c.Revenue = decimal.Add(c.Revenue, amount)
	}
}

// add adds the event counts of a visit.
func (c *counts) add(o *counts) {
	c.PageViews += o.PageViews
	c.Events += o.Events
	c.engagedMS += o.engagedMS
	c.addRevenue(o.Revenue)
}

// figures returns the counts in the form of reports.
func (c *counts) figures() report.Figures {
	f := c.Figures
	f.EngagedSeconds = float64(c.engagedMS) / 1000
	if f.Revenue == "" {
		f.Revenue = "0"
	}
	return f
}

// ratio returns nil if by is not positive.
func ratio(of, by int64) *float64 {
	if by <= 0 {
		return nil
	}
	r := float64(of) / float64(by)
	return &r
}
