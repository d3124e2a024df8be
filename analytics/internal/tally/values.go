// Package tally counts the values of a dimension: what is counted of each, a bound on how many have a place of their own,
// and a compact form for a table. Counts add up exactly, whatever finds no place. It is a part of analytics, and used by
// nobody else.
package tally

// Count is what is counted of one value.
type Count struct {
	PageViews int64 `dynamodbav:"v,omitempty"`
	Visits    int64 `dynamodbav:"s,omitempty"`
	Events    int64 `dynamodbav:"e,omitempty"`
}

// Plus adds counts.
func (c Count) Plus(o Count) Count {
	return Count{c.PageViews + o.PageViews, c.Visits + o.Visits, c.Events + o.Events}
}

// Minus takes counts off.
func (c Count) Minus(o Count) Count {
	return Count{c.PageViews - o.PageViews, c.Visits - o.Visits, c.Events - o.Events}
}

// weight is what decides which of many new values get the last places.
func (c Count) weight() int64 { return c.PageViews + c.Visits + c.Events }

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
