// Package tally holds the counts of a dimension's values: the counts of one value, a limited set of
// values, and their compact encoding. Counts always add up exactly, because values that do not fit
// in a limited set are counted together.
package tally

import (
	"github.com/onefold/onefold/analytics/internal/vitals"
	"github.com/onefold/onefold/internal/decimal"
)

// Count holds the counts of one value. Counts that a dimension does not use are zero.
type Count struct {
	PageViews int64  `dynamodbav:"v,omitempty"`
	Visits    int64  `dynamodbav:"s,omitempty"`
	Events    int64  `dynamodbav:"e,omitempty"` // of a goal: conversions
	Bounces   int64  `dynamodbav:"b,omitempty"`
	Seconds   int64  `dynamodbav:"t,omitempty"` // total duration of these visits
	EngagedMS int64  `dynamodbav:"g,omitempty"`
	Scrolls   int64  `dynamodbav:"n,omitempty"` // number of depths in Scroll
	Scroll    int64  `dynamodbav:"d,omitempty"` // sum of scroll depths, percent
	Revenue   string `dynamodbav:"r,omitempty"`

	Vitals vitals.Histograms `dynamodbav:"w,omitempty"`
}

// Plus returns the sum of c and o.
func (c Count) Plus(o Count) Count { return c.plus(&o, +1) }

// Minus returns c minus o.
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

// weight decides which of many new values get the last places.
func (c Count) weight() int64 { return c.PageViews + c.Visits + c.Events }

// numbers returns the integer counts in the order of the encoding. Their order must not change.
func (c *Count) numbers() [8]*int64 {
	return [8]*int64{&c.PageViews, &c.Visits, &c.Events, &c.Bounces, &c.Seconds, &c.EngagedMS, &c.Scrolls, &c.Scroll}
}

// Values holds the counts of a dimension's values.
type Values map[string]Count

// Add adds c to a value.
func (v *Values) Add(value string, c Count) {
	if *v == nil {
		*v = make(Values)
	}
	(*v)[value] = (*v)[value].Plus(c)
}

// Sum returns the sum of all values.
func (v Values) Sum() (sum Count) {
	for _, c := range v {
		sum = sum.Plus(c)
	}
	return sum
}
