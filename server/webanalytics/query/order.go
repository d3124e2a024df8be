package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Order is [metric or dimension, "asc" or "desc"].
type Order struct {
	By        string
	Ascending bool
}

const maxOrderName = 90

// Schema describes the two elements.
func (Order) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeArray, MinItems: new(2), MaxItems: new(2), Items: &huma.Schema{Type: huma.TypeString, MaxLength: new(maxOrderName)},
		Description: `A metric or dimension of the query, then asc or desc.`,
		Examples:    []any{[]any{"visits", "desc"}},
	}
}

// UnmarshalJSON decodes the two elements.
func (o *Order) UnmarshalJSON(text []byte) error {
	var parts []string
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != 2 || parts[1] != "asc" && parts[1] != "desc" {
		return fmt.Errorf(`an order is [metric or dimension, "asc" or "desc"], such as ["visits", "desc"]`)
	}
	o.By, o.Ascending = parts[0], parts[1] == "asc"
	return nil
}

// order returns the requested order of rows. By default, buckets are in the order of time, and values
// are sorted by the first metric, most first. Rows with an unknown metric are last in either order.
// Ties are broken by the dimension.
func (q *plan) order() (func(x, y Row) int, error) {
	var keys []func(x, y Row) int
	for _, o := range q.OrderBy {
		key, err := q.key(o)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 && q.by != "" {
		keys = append(keys, byMetric(0, false))
	}
	return func(x, y Row) int {
		for _, key := range keys {
			if by := key(x, y); by != 0 {
				return by
			}
		}
		return slices.Compare(x.Dimensions, y.Dimensions)
	}, nil
}

func (q *plan) key(o Order) (func(x, y Row) int, error) {
	if at := slices.Index(q.Metrics, o.By); at >= 0 {
		return byMetric(at, o.Ascending), nil
	}
	if at := slices.Index(q.Dimensions, o.By); at >= 0 {
		return func(x, y Row) int {
			by := cmp.Compare(x.Dimensions[at], y.Dimensions[at])
			if !o.Ascending {
				by = -by
			}
			return by
		}, nil
	}
	return nil, errorf("bad_order", "cannot order by %.40q: use one of the query's metrics or dimensions: %s", o.By, strings.Join(slices.Concat(q.Metrics, q.Dimensions), ", "))
}

func byMetric(at int, ascending bool) func(x, y Row) int {
	return func(x, y Row) int {
		by, missing := compareMetrics(x.Metrics[at], y.Metrics[at])
		if !ascending && !missing {
			by = -by
		}
		return by
	}
}
