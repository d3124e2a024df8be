package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
)

// query parses the subset of PromQL that rules and dashboard use: selectors, ranges, functions,
// aggregations and operators. Besides the syntax, it checks which labels each part of a query may have,
// which Prometheus's own parser does not. Unknown syntax is an error: add it here.
type query struct {
	all    metricSet
	tokens []string
}

// result is the type of a part of a query.
type result struct {
	labels map[string]bool // labels that it may have
	ranged bool            // a range vector
	scalar bool
}

// The known functions and aggregations. A function takes an instant vector or a range vector, after
// and before so many numbers.
var (
	functions = map[string]struct {
		ranged       bool
		before, more int // numbers before and after the vector
	}{
		"rate": {ranged: true}, "increase": {ranged: true}, "predict_linear": {ranged: true, more: 1}, "histogram_quantile": {before: 1},
	}
	aggregations = map[string]int{"sum": 0, "max": 0, "min": 0, "avg": 0, "count": 0, "topk": 1} // numbers before the vector
	precedence   = [][]string{{"or"}, {"and", "unless"}, {"==", "!=", ">", "<", ">=", "<="}, {"+", "-"}, {"*", "/", "%"}}

	lexeme   = regexp.MustCompile(`^(?:\s+|([a-zA-Z_:][a-zA-Z0-9_:]*|[0-9]+(?:\.[0-9]+)?(?:ms|[smhdwy])?|"(?:[^"\\]|\\.)*"|=~|!~|[!=<>]=|[-+*/%(){}\[\],=<>]))`)
	isName   = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	isNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	isRange  = regexp.MustCompile(`^[0-9]+(ms|[smhdwy])$`)
	isText   = regexp.MustCompile(`^"`)
	isMatch  = regexp.MustCompile(`^(=|!=|=~|!~)$`)
)

// wrong is the value with which a query panics.
type wrong string

// parse checks a query against the existing metrics, and returns its result type.
func (m metricSet) parse(text string) (r result, err error) {
	q := &query{all: m}
	for rest := text; rest != ""; {
		found := lexeme.FindStringSubmatch(rest)
		if found == nil {
			return r, fmt.Errorf("not understood: %s", rest)
		}
		if found[1] != "" {
			q.tokens = append(q.tokens, found[1])
		}
		rest = rest[len(found[0]):]
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v in %s", v.(wrong), text)
		}
	}()
	if r = q.binary(0); len(q.tokens) > 0 {
		return r, fmt.Errorf("%q is left over in %s", q.tokens, text)
	}
	if r.ranged {
		return r, fmt.Errorf("a range vector cannot be shown: %s", text)
	}
	return r, nil
}

func (q *query) peek() string {
	if len(q.tokens) == 0 {
		return ""
	}
	return q.tokens[0]
}

// take takes the next token if it matches form.
func (q *query) take(form *regexp.Regexp, what string) string {
	next := q.peek()
	if !form.MatchString(next) {
		panic(wrong(fmt.Sprintf("%q where %s belongs", next, what)))
	}
	q.tokens = q.tokens[1:]
	return next
}

func (q *query) expect(token string) {
	q.take(regexp.MustCompile("^"+regexp.QuoteMeta(token)+"$"), token)
}

// binary parses operators of a level, and of those that bind more tightly.
func (q *query) binary(level int) result {
	if level == len(precedence) {
		return q.unary()
	}
	left := q.binary(level + 1)
	for slices.Contains(precedence[level], q.peek()) {
		q.tokens = q.tokens[1:]
		right := q.binary(level + 1)
		if left.ranged || right.ranged {
			panic(wrong("an operator on a range vector"))
		}
		both := maps.Clone(left.labels)
		if both == nil {
			both = map[string]bool{}
		}
		maps.Copy(both, right.labels)
		left = result{labels: both, scalar: left.scalar && right.scalar}
	}
	return left
}

func (q *query) unary() result {
	switch next := q.peek(); {
	case next == "(":
		q.expect("(")
		r := q.binary(0)
		q.expect(")")
		return r
	case isNumber.MatchString(next):
		q.tokens = q.tokens[1:]
		return result{scalar: true}
	}
	name := q.take(isName, "a metric or function")
	if before, ok := aggregations[name]; ok {
		return q.aggregation(name, before)
	}
	if name == "time" && len(q.tokens) > 0 && q.tokens[0] == "(" { // the only function without arguments
		q.expect("(")
		q.expect(")")
		return result{scalar: true}
	}
	f, ok := functions[name]
	if !ok {
		return q.selector(name)
	}
	q.expect("(")
	r := q.arguments(f.before)
	if r.ranged != f.ranged {
		panic(wrong(name + " takes another kind of vector"))
	}
	for range f.more {
		q.expect(",")
		if !q.binary(0).scalar {
			panic(wrong(name + " takes a number"))
		}
	}
	q.expect(")")
	return result{labels: r.labels}
}

// arguments parses so many numbers and a vector.
func (q *query) arguments(numbers int) result {
	for range numbers {
		if !q.binary(0).scalar {
			panic(wrong("no number"))
		}
		q.expect(",")
	}
	r := q.binary(0)
	if r.scalar {
		panic(wrong("a number where a vector belongs"))
	}
	return r
}

func (q *query) aggregation(name string, numbers int) result {
	var by []string
	grouped := q.peek() == "by"
	if grouped {
		q.expect("by")
		q.expect("(")
		for q.peek() != ")" {
			if by = append(by, q.take(isName, "a label")); q.peek() != ")" {
				q.expect(",")
			}
		}
		q.expect(")")
	}
	q.expect("(")
	of := q.arguments(numbers)
	q.expect(")")
	if of.ranged {
		panic(wrong(name + " of a range vector"))
	}
	if name == "topk" && !grouped {
		return of
	}
	labels := map[string]bool{}
	for _, l := range by {
		if !of.labels[l] {
			panic(wrong(fmt.Sprintf("%s by %s, which it has not", name, l)))
		}
		labels[l] = true
	}
	return result{labels: labels}
}

// selector parses what follows a metric's name.
func (q *query) selector(name string) result {
	has := q.all[name]
	if has == nil {
		panic(wrong("no server tells of " + name))
	}
	r := result{labels: maps.Clone(has)}
	if q.peek() == "{" {
		q.expect("{")
		for q.peek() != "}" {
			label := q.take(isName, "a label")
			if !has[label] {
				panic(wrong(name + " has no label " + label))
			}
			q.take(isMatch, "an operator")
			if q.take(isText, "a text"); q.peek() != "}" {
				q.expect(",")
			}
		}
		q.expect("}")
	}
	if q.peek() == "[" {
		q.expect("[")
		q.take(isRange, "a duration")
		q.expect("]")
		r.ranged = true
	}
	return r
}

func TestQueriesAreChecked(t *testing.T) {
	all := metricSet{}
	all.add("seconds_bucket", "le", "operation")
	all.add("total", "class")
	for text, ok := range map[string]bool{
		`histogram_quantile(0.99, sum by (operation, le) (rate(seconds_bucket{job=~"$job", operation!="x"}[5m])))`: true,
		`total == 0 and 2 * total > 1 or (total)`: true, `predict_linear(total[6h], 24 * 3600) < 1`: true, `topk(10, sum by (class) (total))`: true,
		`sum by (operation) (total)`: false, `rate(total)`: false, `total[5m]`: false, `other`: false, `total{x="1"}`: false, `sum(total`: false,
		`total total`: false, `total{class="1}`: false, `rate(total[5])`: false, `topk(total)`: false, `total +`: false, `sum(total[5m])`: false,
	} {
		if _, err := all.parse(text); ok != (err == nil) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
