// Package target finds the goals of a site that an event reaches.
package target

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/internal/glob"
)

// ErrTarget is returned for an invalid definition. The message says why.
var ErrTarget = errors.New("target")

// Limits of a definition, in bytes.
const (
	maxPattern = 256
	maxEvent   = 120
)

// Definition is the condition of a goal, and what reaching it is worth. Exactly one of Path and
// Event is set.
type Definition struct {
	Goal   string // goal ID
	Path   string // of a page view; * matches text without slashes, ** any text
	Regexp bool   // Path is a regular expression (RE2) for the whole path
	Event  string // name of a custom event
	Once   bool   // at most one conversion per visit
	Value  string // decimal worth of a conversion; "": the event's revenue
}

// target is a compiled definition.
type target struct {
	Definition
	path *regexp.Regexp // set if Regexp
}

// compile checks a definition and normalizes its value.
func (d Definition) compile() (t target, err error) {
	if (d.Path == "") == (d.Event == "") {
		return t, fmt.Errorf("%w: give either a path or an event", ErrTarget)
	}
	if len(d.Path) > maxPattern || len(d.Event) > maxEvent {
		return t, fmt.Errorf("%w: a path has at most %d bytes, an event name %d", ErrTarget, maxPattern, maxEvent)
	}
	if d.Path != "" && !d.Regexp && !strings.HasPrefix(d.Path, "/") && !strings.HasPrefix(d.Path, "*") {
		return t, fmt.Errorf("%w: path %q: begin with / or *", ErrTarget, d.Path)
	}
	if d.Value, err = decimal.Parse(d.Value); err != nil {
		return t, fmt.Errorf("%w: value: %w", ErrTarget, err)
	}
	t.Definition = d
	if !d.Regexp || d.Path == "" {
		return t, nil
	}
	if _, err := regexp.Compile(d.Path); err != nil { // compile it alone first: an unbalanced parenthesis must not close the group around it
		return t, fmt.Errorf("%w: path: %w", ErrTarget, err)
	}
	if t.path, err = regexp.Compile(`\A(?s:` + d.Path + `)\z`); err != nil {
		return t, fmt.Errorf("%w: path: %w", ErrTarget, err)
	}
	return t, nil
}

// Check validates a definition and returns its value in normalized form. Errors: ErrTarget.
func (d Definition) Check() (value string, err error) {
	t, err := d.compile()
	return t.Value, err
}

func (t *target) reachedBy(name, path string) bool {
	switch {
	case t.Event != "":
		return name == t.Event
	case name != "":
		return false
	case t.path != nil:
		return t.path.MatchString(path)
	default:
		return glob.Match(t.Path, path)
	}
}

// Set holds the goals of a site. The zero value is empty.
type Set struct {
	targets []target
}

// NewSet compiles definitions that Check accepted. It ignores invalid definitions.
func NewSet(all []Definition) Set {
	var s Set
	for _, d := range all {
		if t, err := d.compile(); err == nil {
			s.targets = append(s.targets, t)
		}
	}
	return s
}

// Reached returns the conversions of one event; name is "" for a page view. Most events have none.
func (s *Set) Reached(name, path, revenue string) visits.Conversions {
	var all []visits.Conversion
	for i := range s.targets {
		t := &s.targets[i]
		if !t.reachedBy(name, path) {
			continue
		}
		c := visits.Conversion{Goal: t.Goal, Once: t.Once, Value: t.Value, Count: 1}
		if t.Value == "" {
			c.Revenue = revenue
		}
		all = append(all, c)
	}
	if all == nil {
		return nil
	}
	return visits.Of(all)
}
