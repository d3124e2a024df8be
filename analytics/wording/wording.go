// Package wording has the words and number formats of messages about sites, and names what made a
// change.
package wording

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/contribution"
	"github.com/onefold/onefold/analytics/goals"
)

const maxValue = 200 // characters of a value

// Cause is the value that made most of a change of visits. Its JSON form is part of webhooks.
type Cause struct {
	By     analytics.Dimension `dynamodbav:"by" json:"by"`
	Label  string              `dynamodbav:"label" json:"label"`
	Value  string              `dynamodbav:"value" json:"value"`
	After  int64               `dynamodbav:"after" json:"after"`
	Before int64               `dynamodbav:"before" json:"before"`
	Change int64               `dynamodbav:"change" json:"change"` // of all visits
}

// CauseOf returns the value that made most of the change of visits between two ranges, by dimensions
// that divide visits, or nil if no value stands out.
func CauseOf(before, after *contribution.Side, by []analytics.Dimension) *Cause {
	by = slices.DeleteFunc(slices.Clone(by), func(d analytics.Dimension) bool { return !contribution.Visits.Divides(d) })
	total, all := contribution.Of(contribution.Visits, before, after, by)
	c, ok := contribution.Main(total, all)
	if !ok {
		return nil
	}
	return &Cause{c.By, Label(c.By), Value(c.By, c.Value, nil), c.After.Int(), c.Before.Int(), total.Difference().Int()}
}

// Sentence says what made the change. It is "" for nil.
func (c *Cause) Sentence() string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("Visits changed by %s. Most of it: %s %s, %s (%s → %s visits).", signed(c.Change), strings.ToLower(c.Label[:1])+c.Label[1:],
		c.Value, signed(c.After-c.Before), Count(c.Before), Count(c.After))
}

func signed(n int64) string {
	if n < 0 {
		return "−" + Count(-n)
	}
	return "+" + Count(n)
}

// Count formats a count with thousands separators.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Label returns the name of a dimension as people see it.
func Label(by analytics.Dimension) string {
	for i := range analytics.DimensionDefs {
		if analytics.DimensionDefs[i].Name == by {
			return analytics.DimensionDefs[i].Label
		}
	}
	_, name, _ := strings.Cut(string(by), ":")
	return name
}

// Value returns a value of a dimension as people see it, with at most 200 characters. A goal has its
// name, if it is among the goals.
func Value(by analytics.Dimension, value string, of []goals.Goal) string {
	if by == analytics.ByGoal {
		if i := slices.IndexFunc(of, func(g goals.Goal) bool { return g.GoalID == value }); i >= 0 {
			value = cmp.Or(of[i].Name, value)
		}
	}
	if value == analytics.None && by == analytics.BySource {
		return "Direct"
	}
	if r := []rune(value); len(r) > maxValue {
		return string(r[:maxValue-1]) + "…"
	}
	return value
}

// OneLine replaces white space, including line breaks, by single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
