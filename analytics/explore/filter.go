package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/glob"
)

// Op is the operator of a filter.
type Op string

// The operators. A negated operator selects exactly the visits that its opposite does not.
const (
	Is          Op = "is"
	IsNot       Op = "is_not"
	Contains    Op = "contains" // case-insensitive
	ContainsNot Op = "contains_not"
	Matches     Op = "matches" // glob: * matches text without slashes, ** any text
)

var ops = []Op{Is, IsNot, Contains, ContainsNot, Matches}

// Limits of filters.
const (
	maxFilters    = 20
	maxValues     = 100
	maxValueBytes = 512
)

// Filter selects visits by their values of a dimension. A visit has one value of most dimensions,
// and several of page, event and properties: those of its events. Is, Contains and Matches select a
// visit if one of its values matches one of Values. Is also selects visits without a value if
// Values contains analytics.None.
type Filter struct {
	Dimension analytics.Dimension
	Op        Op
	Values    []string
}

// ParseFilter parses `dimension:op:value|value`. In values, \| is a bar and \\ a backslash. Errors:
// ErrQuestion.
func ParseFilter(text string) (Filter, error) {
	at, op := findOp(text)
	if at < 0 {
		return Filter{}, fmt.Errorf("%w: a filter is dimension:op:value|value, with op one of is, is_not, contains, contains_not and matches", ErrQuestion)
	}
	f := Filter{Dimension: analytics.Dimension(text[:at]), Op: op, Values: splitValues(text[at+len(op)+2:])}
	return f, f.check()
}

// ParseFilters parses filters, all of which a visit must match. Errors: ErrQuestion.
func ParseFilters(texts []string) ([]Filter, error) {
	var all []Filter
	for _, text := range texts {
		f, err := ParseFilter(text)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// CheckFilters checks filters that were not parsed. Errors: ErrQuestion.
func CheckFilters(filters []Filter) error {
	if len(filters) > maxFilters {
		return fmt.Errorf("%w: at most %d filters", ErrQuestion, maxFilters)
	}
	for i := range filters {
		f := &filters[i]
		if !slices.Contains(ops, f.Op) {
			return fmt.Errorf("%w: filter operator %.40q: use is, is_not, contains, contains_not or matches", ErrQuestion, f.Op)
		}
		if len(f.Values) == 0 {
			return fmt.Errorf("%w: a filter needs at least one value; use %s for visits without one", ErrQuestion, analytics.None)
		}
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

// findOp finds the first operator. Names of properties may contain colons, so it searches for whole
// operators.
func findOp(text string) (at int, op Op) {
	at = -1
	for _, o := range ops {
		if i := strings.Index(text, ":"+string(o)+":"); i >= 0 && (at < 0 || i < at) {
			at, op = i, o
		}
	}
	return at, op
}

func splitValues(text string) []string {
	var values []string
	var value strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == '|' || text[i+1] == '\\'):
			i++
			value.WriteByte(text[i])
		case c == '|':
			values = append(values, value.String())
			value.Reset()
		default:
			value.WriteByte(c)
		}
	}
	return append(values, value.String())
}

// String formats the filter in the syntax of ParseFilter.
func (f Filter) String() string {
	escape := strings.NewReplacer(`\`, `\\`, `|`, `\|`)
	values := make([]string, len(f.Values))
	for i, v := range f.Values {
		values[i] = escape.Replace(v)
	}
	return string(f.Dimension) + ":" + string(f.Op) + ":" + strings.Join(values, "|")
}

func (f *Filter) check() error {
	if _, ok := facetOf(f.Dimension); !ok {
		return unknownDimension(f.Dimension)
	}
	if len(f.Values) > maxValues {
		return fmt.Errorf("%w: a filter has at most %d values", ErrQuestion, maxValues)
	}
	for _, v := range f.Values {
		if v == "" || len(v) > maxValueBytes {
			return fmt.Errorf("%w: a filter's value has 1 to %d bytes; use %s for an empty value", ErrQuestion, maxValueBytes, analytics.None)
		}
		if v == analytics.Other {
			return fmt.Errorf("%w: %s stands for many values and cannot be used as a filter", ErrQuestion, analytics.Other)
		}
	}
	return nil
}

// condition is a compiled filter.
type condition struct {
	facet   facet
	negated bool
	none    bool // visits without a value match
	agrees  func(value string) bool
}

// conditions compiles filters. Errors: ErrQuestion.
func conditions(filters []Filter) ([]*condition, error) {
	if len(filters) > maxFilters {
		return nil, fmt.Errorf("%w: at most %d filters", ErrQuestion, maxFilters)
	}
	var all []*condition
	for i := range filters {
		f := &filters[i]
		if err := f.check(); err != nil {
			return nil, err
		}
		c := &condition{negated: f.Op == IsNot || f.Op == ContainsNot}
		c.none = (f.Op == Is || f.Op == IsNot) && slices.Contains(f.Values, analytics.None)
		c.facet, _ = facetOf(f.Dimension)
		c.agrees = f.agreement()
		all = append(all, c)
	}
	return all, nil
}

// agreement returns a function that reports whether a value matches, before negation.
func (f *Filter) agreement() func(string) bool {
	values := slices.Clone(f.Values)
	switch f.Op {
	case Contains, ContainsNot:
		for i := range values {
			values[i] = strings.ToLower(values[i])
		}
		return func(value string) bool {
			value = strings.ToLower(value)
			return slices.ContainsFunc(values, func(part string) bool { return strings.Contains(value, part) })
		}
	case Matches:
		return func(value string) bool {
			return slices.ContainsFunc(values, func(pattern string) bool { return glob.Match(pattern, value) })
		}
	default:
		return func(value string) bool { return slices.Contains(values, value) }
	}
}

// chosen returns the visits of the day that match all conditions, in order.
func (d *columns) chosen(all []*condition) []int {
	asked := make([]*askedColumn, len(all))
	for i, c := range all {
		asked[i] = &askedColumn{condition: c, facetColumn: d.facet(c.facet)}
		asked[i].answers = make([]answer, len(asked[i].values))
	}
	visits := make([]int, 0, len(d.visitor))
	for v := range d.visitor {
		if !slices.ContainsFunc(asked, func(c *askedColumn) bool { return !c.selects(d, v) }) {
			visits = append(visits, v)
		}
	}
	return visits
}

// askedColumn is a condition on one day. It evaluates each distinct value once.
type askedColumn struct {
	*condition
	facetColumn
	answers []answer // by index in values
}

type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// selects reports whether a visit matches the condition.
func (c *askedColumn) selects(d *columns, v int) bool {
	found, some := false, false
	switch {
	case c.one != nil:
		found, some = c.ask(c.one.at(v))
	case c.goal != nil:
		for i, end := c.goal.of(v); i < end && !found; i++ {
			agrees, is := c.ask(c.goal.goal.at(i))
			found, some = agrees, some || is
		}
	default:
		for e, end := d.events(v); e < end && !found; e++ {
			if d.isSilent(e) {
				continue
			}
			agrees, is := c.ask(c.of(e))
			found, some = agrees, some || is
		}
	}
	if !some {
		found = c.none
	}
	return found != c.negated
}

// ask reports whether the value at an index matches, and whether it is a value at all.
func (c *askedColumn) ask(place int) (agrees, is bool) {
	if place == 0 {
		return false, false
	}
	if c.answers[place] == unknown {
		c.answers[place] = no
		if c.agrees(c.values[place]) {
			c.answers[place] = yes
		}
	}
	return c.answers[place] == yes, true
}
