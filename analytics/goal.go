package analytics

import (
	"context"

	"github.com/onefold/onefold/analytics/internal/target"
	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/table"
)

// GoalKey names a goal of a site.
type GoalKey struct {
	SiteID string `dynamodbav:"siteId" json:"-"`
	GoalID string `dynamodbav:"goalId" json:"id"`
}

// Goal is what a site wants its visitors to do: see a page or send a custom event. Exactly one of Path and Event is set.
// Package goals makes, changes and deletes them.
type Goal struct {
	GoalKey
	Name     string       `dynamodbav:"name" json:"name"`
	Path     string       `dynamodbav:"path,omitempty" json:"path,omitempty"` // of a page view
	PathKind PathKind     `dynamodbav:"pathKind,omitempty" json:"pathKind,omitempty"`
	Event    string       `dynamodbav:"event,omitempty" json:"event,omitempty"`       // name of a custom event
	Value    string       `dynamodbav:"value,omitempty" json:"value,omitempty"`       // decimal, what one conversion is worth; "": the revenue of its events
	Currency string       `dynamodbav:"currency,omitempty" json:"currency,omitempty"` // of Value; the site's
	Counting GoalCounting `dynamodbav:"counting,omitempty" json:"counting"`

	// Changed is when the goal was made, changed or deleted last, in epoch milliseconds. While Pending, events of before
	// are still counted as the goal was before. A Deleted goal is kept until it is counted nowhere that can be changed.
	Changed int64 `dynamodbav:"changed,omitempty" json:"-"`
	Pending bool  `dynamodbav:"pending,omitempty" json:"pending,omitempty"`
	Deleted bool  `dynamodbav:"deleted,omitempty" json:"-"`
	// Since is the first day that is counted as the goal is now; days before were sealed. "": all.
	Since string `dynamodbav:"since,omitempty" json:"since,omitempty"`
}

// PathKind says how Goal.Path is to be read.
type PathKind string

// The kinds of paths.
const (
	WildcardPath PathKind = "wildcard" // * is any text without a slash, ** any text; the default
	RegexpPath   PathKind = "regexp"   // RE2, and the whole path has to match
)

// GoalCounting says how often a visit can reach a goal.
type GoalCounting string

// The ways of counting.
const (
	OncePerSession GoalCounting = "session" // the default
	EveryTime      GoalCounting = "every"
)

// Check refuses a goal that cannot be reached or counted, and fills in its defaults.
func (g *Goal) Check() error {
	if g.Counting == "" {
		g.Counting = OncePerSession
	}
	if g.Path != "" && g.PathKind == "" {
		g.PathKind = WildcardPath
	}
	value, err := g.definition().Check()
	g.Value = value
	return err
}

func (g *Goal) definition() target.Definition {
	return target.Definition{
		Goal: g.GoalID, Path: g.Path, Regexp: g.PathKind == RegexpPath, Event: g.Event,
		Once: g.Counting != EveryTime, Value: g.Value,
	}
}

// Conversions are the goals that an event reaches, or a visit.
type Conversions = visits.Conversions

// Reach tells which of a site's goals events reach.
type Reach struct{ set target.Set }

// NewReach prepares the goals of a site; deleted ones are not reached.
func NewReach(goals []Goal) Reach {
	var all []target.Definition
	for i := range goals {
		if !goals[i].Deleted {
			all = append(all, goals[i].definition())
		}
	}
	return Reach{target.NewSet(all)}
}

// Of are the goals that an event reaches, as they are noted on it.
func (r *Reach) Of(e *Event) Conversions {
	if e.silent() {
		return nil
	}
	return r.set.Reached(e.Name, e.Path, e.Revenue)
}

// loadGoals reads the goals of a site.
func loadGoals(ctx context.Context, t *table.Table, siteID string) (Reach, error) {
	goals, err := GoalsOfSite.Collect(ctx, t, SiteIn{siteID})
	return NewReach(goals), err
}
