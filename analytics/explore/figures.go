package explore

import (
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/decimal"
)

// counts are figures that are being counted.
type counts struct {
	analytics.Figures
	engagedMS int64
}

// addVisit counts what a visit counts in the bucket in which it started.
func (c *counts) addVisit(v *visit) {
	c.Visits++
	c.Seconds += v.Seconds()
	if v.Bounced() {
		c.Bounces++
	}
}

// addGoals counts the goals that a visit reached.
func (c *counts) addGoals(v *visit) {
	for i := range v.Goals {
		n, _ := v.Goals[i].Worth()
		c.Conversions += n
	}
}

// addFact counts what an event counts in the bucket in which it happened.
func (c *counts) addFact(f *fact) {
	switch {
	case f.silent:
		c.engagedMS += f.engagedMS
	case f.name == "":
		c.PageViews++
	default:
		c.Events++
	}
	c.Revenue = decimal.Add(c.Revenue, f.revenue)
}

// add counts what the events of a visit count.
func (c *counts) add(o *counts) {
	c.PageViews += o.PageViews
	c.Events += o.Events
	c.engagedMS += o.engagedMS
	c.Revenue = decimal.Add(c.Revenue, o.Revenue)
}

// figures are what was counted.
func (c *counts) figures() analytics.Figures {
	f := c.Figures
	f.EngagedSeconds = float64(c.engagedMS) / 1000
	if f.Revenue == "" {
		f.Revenue = "0"
	}
	return f
}

// ratio is nil where there is nothing to divide by.
func ratio(of, by int64) *float64 {
	if by <= 0 {
		return nil
	}
	r := float64(of) / float64(by)
	return &r
}
