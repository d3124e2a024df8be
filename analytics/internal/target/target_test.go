package target

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics/internal/visits"
)

func TestReached(t *testing.T) {
	s := NewSet([]Definition{
		{Goal: "blog", Path: "/blog/**", Once: true, Value: "1.50"},
		{Goal: "order", Event: "order"},
		{Goal: "post", Path: "/blog/[0-9]+", Regexp: true},
		{Goal: "broken", Path: "(", Regexp: true},
	})
	for _, c := range []struct {
		name, path, revenue string
		want                visits.Conversions
	}{
		{"", "/", "", nil},
		{"", "/blog/a", "9", visits.Conversions{{Goal: "blog", Once: true, Value: "1.5", Count: 1}}},
		{"", "/blog/12", "", visits.Conversions{{Goal: "blog", Once: true, Value: "1.5", Count: 1}, {Goal: "post", Count: 1}}},
		{"order", "/blog/12", "9", visits.Conversions{{Goal: "order", Count: 1, Revenue: "9"}}},
		{"Order", "/blog/12", "9", nil},
	} {
		if got := s.Reached(c.name, c.path, c.revenue); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q %q: got %v, want %v", c.name, c.path, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, d := range []Definition{
		{}, {Path: "/", Event: "e"}, {Path: "a"}, {Path: "/" + strings.Repeat("a", maxPattern)}, {Event: strings.Repeat("a", maxEvent+1)},
		{Path: "(", Regexp: true}, {Path: "a)(b", Regexp: true}, {Path: "(?=x)", Regexp: true}, {Path: "x{2000}", Regexp: true},
		{Event: "e", Value: "much"},
	} {
		if _, err := d.Check(); !errors.Is(err, ErrTarget) {
			t.Errorf("%+v: %v", d, err)
		}
	}
	if value, err := (Definition{Event: "e", Value: "+01.50"}).Check(); err != nil || value != "1.5" {
		t.Errorf("%q, %v", value, err)
	}
}

// A pattern that takes exponential time in other engines takes linear time.
func TestHostilePattern(t *testing.T) {
	s := NewSet([]Definition{{Goal: "x", Path: "(a+)+(a|aa)*(a*)*b", Regexp: true}})
	if s.Reached("", strings.Repeat("a", 2048), "") != nil {
		t.Error("it is reached")
	}
}
