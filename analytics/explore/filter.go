package explore

import (
	"fmt"
	"slices"
	"strconv"
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

// BySegment is the dimension of filters whose values name segments: saved lists of filters.
const BySegment analytics.Dimension = "segment"

// Limits of filters.
const (
	maxFilters    = 20
	maxValues     = 100
	maxValueBytes = 512
	maxSegments   = 10             // named by one filter
	maxApplied    = maxFilters + 1 // of a question: the caller's, and one for what the caller is restricted to
)

// Filter selects visits by their values of a dimension. A visit has one value of most dimensions,
// and several of page, event and properties: those of its events. Is, Contains and Matches select a
// visit if one of its values matches one of Values. Is also selects visits without a value if
// Values contains analytics.None. A Dimension that begins with a Behavior counts events instead.
type Filter struct {
	Dimension analytics.Dimension
	Op        Op
	Values    []string

	// Any holds the filters of each segment named in Values. A segment contains the visits that match
	// all its filters. segments.Expand sets Any; ParseFilter does not.
	Any [][]Filter
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

// ParseFilters parses at most 20 filters, all of which a visit must match. Errors: ErrQuestion.
func ParseFilters(texts []string) ([]Filter, error) {
	if len(texts) > maxFilters {
		return nil, fmt.Errorf("%w: at most %d filters", ErrQuestion, maxFilters)
	}
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
	_, subject, behaves, err := f.Behavior()
	if behaves && err == nil {
		err = f.checkBehavior(subject)
	}
	if err != nil {
		return err
	}
	switch _, ok := facetOf(subject); {
	case f.Dimension == BySegment && f.Op != Is && f.Op != IsNot:
		return fmt.Errorf("%w: use is or is_not for segments", ErrQuestion)
	case f.Dimension == BySegment && len(f.Values) > maxSegments:
		return fmt.Errorf("%w: a filter names at most %d segments", ErrQuestion, maxSegments)
	case f.Dimension != BySegment && !ok:
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

// identity is a cache key. It includes the filters of segments, because a segment can get other filters
// under the same name.
func (f Filter) identity() string {
	var text strings.Builder
	text.WriteString(strconv.Quote(f.String()))
	for _, segment := range f.Any {
		text.WriteByte('(')
		for i := range segment {
			text.WriteString(segment[i].identity())
		}
		text.WriteByte(')')
	}
	return text.String()
}

// ofSessions reports whether stored sessions suffice for the filter.
func (f *Filter) ofSessions() bool {
	if f.Dimension != BySegment {
		return ofSessions(f.Dimension)
	}
	return !slices.ContainsFunc(f.Any, needEvents)
}

// needEvents reports whether stored sessions do not suffice for all filters.
func needEvents(filters []Filter) bool {
	return slices.ContainsFunc(filters, func(f Filter) bool { return !f.ofSessions() })
}

// condition is a compiled filter.
type condition struct {
	facet   facet
	negated bool
	none    bool // visits without a value match
	agrees  func(value string) bool
	any     [][]*condition // one list for each segment; a visit must match all conditions of a list

	behavior *behavior // set for behavioral filters instead of the other fields; behavior.done is the action
}

// conditions compiles filters. Errors: ErrQuestion.
func conditions(filters []Filter) ([]*condition, error) {
	if len(filters) > maxApplied {
		return nil, fmt.Errorf("%w: at most %d filters", ErrQuestion, maxFilters)
	}
	all := make([]*condition, 0, len(filters))
	for i := range filters {
		c, err := filters[i].compile()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (f *Filter) compile() (*condition, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	c := &condition{negated: f.Op == IsNot || f.Op == ContainsNot}
	if f.Dimension == BySegment {
		return c, c.addSegments(f)
	}
	b, subject, behaves, err := f.Behavior()
	if err != nil {
		return nil, err
	}
	c.none = (f.Op == Is || f.Op == IsNot) && slices.Contains(f.Values, analytics.None)
	c.facet, _ = facetOf(subject)
	c.agrees = f.agreement()
	if behaves {
		c = &condition{behavior: &behavior{Behavior: b, done: c}}
	}
	return c, nil
}

// addSegments compiles the segments of a filter. Segments cannot be nested, which bounds the number of
// conditions.
func (c *condition) addSegments(f *Filter) error {
	if len(f.Any) != len(f.Values) {
		return fmt.Errorf("%w: segments cannot be used here", ErrQuestion)
	}
	for _, segment := range f.Any {
		if slices.ContainsFunc(segment, func(f Filter) bool { return f.Dimension == BySegment }) {
			return fmt.Errorf("%w: a segment cannot consist of segments", ErrQuestion)
		}
		all, err := conditions(segment)
		if err != nil {
			return err
		}
		c.any = append(c.any, all)
	}
	return nil
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
	selects := d.selectors(all)
	visits := make([]int, 0, len(d.visitor))
	for v := range d.visitor {
		if matchesAll(selects, v) {
			visits = append(visits, v)
		}
	}
	return visits
}

// selector reports whether a visit of one day matches a condition.
type selector func(v int) bool

func (d *columns) selectors(all []*condition) []selector {
	selects := make([]selector, len(all))
	for i, c := range all {
		selects[i] = d.selector(c)
	}
	return selects
}

func matchesAll(selects []selector, v int) bool {
	return !slices.ContainsFunc(selects, func(s selector) bool { return !s(v) })
}

func (d *columns) selector(c *condition) selector {
	if c.behavior != nil {
		return d.behaves(c.behavior)
	}
	if c.any == nil {
		asked := &askedColumn{condition: c, facetColumn: d.facet(c.facet)}
		asked.answers = make([]answer, len(asked.values))
		return func(v int) bool { return asked.selects(d, v) }
	}
	segments := make([][]selector, len(c.any))
	for i, all := range c.any {
		segments[i] = d.selectors(all)
	}
	return func(v int) bool {
		in := slices.ContainsFunc(segments, func(all []selector) bool { return matchesAll(all, v) })
		return in != c.negated
	}
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
