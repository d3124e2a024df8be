package requests_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore/outbox/internal/requests"
	"github.com/onefold/onefold/eventstore/subscription"
)

var limits = requests.Limits{Bytes: 100, Invalid: []string{"Invalid"}}

// entries returns entries whose values are their indexes.
func entries(sizes ...int) []requests.Entry[int] {
	all := make([]requests.Entry[int], len(sizes))
	for i, size := range sizes {
		all[i] = requests.Entry[int]{Value: i, Size: size}
	}
	return all
}

// outcome describes errors: . accepted, P permanent, x otherwise.
func outcome(errs []error) string {
	var b strings.Builder
	for _, err := range errs {
		switch {
		case err == nil:
			b.WriteByte('.')
		case fmt.Sprintf("%T", err) == fmt.Sprintf("%T", subscription.Permanent(nil)):
			b.WriteByte('P')
		default:
			b.WriteByte('x')
		}
	}
	return b.String()
}

func TestSend(t *testing.T) {
	invalid, busy := &requests.Failure{Code: "Invalid", Message: "no"}, &requests.Failure{Code: "Busy"}
	for name, c := range map[string]struct {
		sizes []int
		put   func(values []int) ([]error, error)
		want  string
		sent  string
	}{
		"nothing":         {nil, nil, "", ""},
		"all":             {[]int{1, 1, 1}, nil, "...", "[0 1 2]"},
		"eleven":          {make([]int, 11), nil, "...........", "[0 1 2 3 4 5 6 7 8 9] [10]"},
		"bytes":           {[]int{50, 50, 1, 100, 99}, nil, ".....", "[0 1] [2] [3] [4]"},
		"too large":       {[]int{1, 101, 2}, nil, ".P.", "[0] [2]"},
		"one busy":        {[]int{1, 1, 1}, func(v []int) ([]error, error) { return []error{nil, busy, nil}, nil }, ".x.", "[0 1 2]"},
		"one invalid":     {[]int{1, 1, 1}, func(v []int) ([]error, error) { return []error{nil, invalid, nil}, nil }, ".P.", "[0 1 2]"},
		"no results":      {[]int{1, 1}, func(v []int) ([]error, error) { return []error{nil}, nil }, ".x", "[0 1]"},
		"request fails":   {[]int{60, 60, 60}, func(v []int) ([]error, error) { return nil, errors.New("down") }, "xxx", "[0]"},
		"request busy":    {[]int{1, 1}, func(v []int) ([]error, error) { return nil, busy }, "xx", "[0 1]"},
		"invalid request": {[]int{1, 1, 1}, func(v []int) ([]error, error) { return nil, invalid }, "xxx", "[0 1 2] [0]"},
		"culprit": {[]int{1, 1, 1, 1}, func(v []int) ([]error, error) {
			if slices.Contains(v, 2) {
				return nil, invalid
			}
			return make([]error, len(v)), nil
		}, "..xx", "[0 1 2 3] [0] [1] [2]"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []string
			errs := requests.Send(t.Context(), entries(c.sizes...), limits, func(_ context.Context, values []int) ([]error, error) {
				sent = append(sent, fmt.Sprint(values))
				if c.put != nil {
					return c.put(values)
				}
				return make([]error, len(values)), nil
			})
			if got := outcome(errs); got != c.want || strings.Join(sent, " ") != c.sent {
				t.Errorf("%q, not %q; sent %q, not %q", got, c.want, sent, c.sent)
			}
		})
	}
}
