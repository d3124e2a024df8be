// Package tally counts the values of a dimension: what is counted of each, a bound on how many have a place of their own,
// and a compact form for a table. Counts add up exactly, whatever finds no place. It is a part of analytics, and used by
// nobody else.
package tally

import (
	"github.com/onefold/onefold/analytics/internal/vitals"
	"github.com/onefold/onefold/internal/decimal"
)

// Count is what is counted of one value. What a dimension does not count is zero.
type Count struct {
	PageViews int64  `dynamodbav:"v,omitempty"`
	Visits    int64  `dynamodbav:"s,omitempty"`
	Events    int64  `dynamodbav:"e,omitempty"` // of a goal: conversions
	Bounces   int64  `dynamodbav:"b,omitempty"`
	Seconds   int64  `dynamodbav:"t,omitempty"` // total duration of the visits
	EngagedMS int64  `dynamodbav:"g,omitempty"`
	Scrolls   int64  `dynamodbav:"n,omitempty"` // how often a depth is in Scroll
	Scroll    int64  `dynamodbav:"d,omitempty"` // sum of depths, in percent
	Revenue   string `dynamodbav:"r,omitempty"`

	Vitals vitals.Histograms `dynamodbav:"w,omitempty"`
}

// Plus adds counts.
func (c Count) Plus(o Count) Count { return c.plus(&o, +1) }

// Minus takes counts off.
func (c Count) Minus(o Count) Count { return c.plus(&o, -1) }

func (c Count) plus(o *Count, sign int64) Count {
	c.PageViews += sign * o.PageViews
	c.Visits += sign * o.Visits
	c.Events += sign * o.Events
	c.Bounces += sign * o.Bounces
	c.Seconds += sign * o.Seconds
	c.EngagedMS += sign * o.EngagedMS
	c.Scrolls += sign * o.Scrolls
	c.Scroll += sign * o.Scroll
	if o.Revenue != "" {
		c.Revenue = decimal.Add(c.Revenue, decimal.Times(o.Revenue, sign))
	}
	c.Vitals = c.Vitals.Plus(o.Vitals, sign)
	return c
}

// weight is what decides which of many new values get the last places.
func (c Count) weight() int64 { return c.PageViews + c.Visits + c.Events }

// numbers are the whole numbers of a count, in the order in which they are stored.
func (c *Count) numbers() [8]*int64 {
	return [8]*int64{&c.PageViews, &c.Visits, &c.Events, &c.Bounces, &c.Seconds, &c.EngagedMS, &c.Scrolls, &c.Scroll}
}

// Values are the counts of a dimension's values.
type Values map[string]Count

// Add adds counts to a value.
func (v *Values) Add(value string, c Count) {
	if *v == nil {
		*v = make(Values)
	}
	(*v)[value] = (*v)[value].Plus(c)
}

// Sum adds all values up.
func (v Values) Sum() (sum Count) {
	for _, c := range v {
		sum = sum.Plus(c)
	}
	return sum
}
