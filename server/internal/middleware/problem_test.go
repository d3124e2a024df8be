package middleware_test

import (
	"errors"
	"testing"

	"github.com/onefold/onefold/server/internal/middleware"
)

func TestDetail(t *testing.T) {
	for in, want := range map[string]string{
		"goals: goal: target: missing closing )": "Missing closing )",
		"explore: question: unknown dimension":   "Unknown dimension",
		"a range of 400 days: at most 366":       "A range of 400 days: at most 366",
		"goals: ":                                "Goals: ",
		"site \"a\": taken":                      "Site \"a\": taken",
	} {
		if have := middleware.Detail(errors.New(in)); have != want {
			t.Errorf("%q: %q, want %q", in, have, want)
		}
	}
}
