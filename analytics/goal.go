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

// Goal is an action that a site wants from its visitors: viewing a page or sending a custom event.
// Exactly one of Path and Event is set. Package goals creates, changes and deletes goals.
type Goal struct {
	GoalKey
	Name     string       `dynamodbav:"name" json:"name"`
	Path     string       `dynamodbav:"path,omitempty" json:"path,omitempty"` // of a page view
	PathKind PathKind     `dynamodbav:"pathKind,omitempty" json:"pathKind,omitempty"`
	Event    string       `dynamodbav:"event,omitempty" json:"event,omitempty"`       // name of a custom event
	Value    string       `dynamodbav:"value,omitempty" json:"value,omitempty"`       // decimal worth of one conversion; "": the revenue of its events
	Currency string       `dynamodbav:"currency,omitempty" json:"currency,omitempty"` // of Value; default: the site's
	Counting GoalCounting `dynamodbav:"counting,omitempty" json:"counting"`

	// Changed is when the goal was last created, changed or deleted, in epoch milliseconds. While
	// Pending, earlier events are still counted by the previous definition. A Deleted goal is kept
	// until no bucket that can still change counts it.
	Changed int64 `dynamodbav:"changed,omitempty" json:"-"`
	Pending bool  `dynamodbav:"pending,omitempty" json:"pending,omitempty"`
	Deleted bool  `dynamodbav:"deleted,omitempty" json:"-"`
	// Since is the first day counted by the current definition; earlier days were sealed. "": all.
	Since string `dynamodbav:"since,omitempty" json:"since,omitempty"`
}

// PathKind is the syntax of Goal.Path.
type PathKind string

const (
	WildcardPath PathKind = "wildcard" // * matches text without slashes, ** any text; the default
	RegexpPath   PathKind = "regexp"   // RE2; must match the whole path
)

// GoalCounting is how often a visit can reach a goal.
type GoalCounting string

const (
	OncePerSession GoalCounting = "session" // the default
	EveryTime      GoalCounting = "every"
)

// Check fills in defaults. It returns an error for a goal that cannot be reached or counted.
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

// Conversions are the goals that an event or visit reaches.
type Conversions = visits.Conversions

// Reach finds the goals that events reach.
type Reach struct{ set target.Set }

// NewReach prepares the goals of a site. Deleted goals are ignored.
func NewReach(goals []Goal) Reach {
	var all []target.Definition
	for i := range goals {
		if !goals[i].Deleted {
			all = append(all, goals[i].definition())
		}
	}
	return Reach{target.NewSet(all)}
}

// Of returns the goals that an event reaches, in the form stored with the event.
func (r *Reach) Of(e *Event) Conversions {
	if e.silent() {
		return nil
	}
	return r.set.Reached(e.Name, e.Path, e.Revenue)
}

func loadGoals(ctx context.Context, t *table.Table, siteID string) (Reach, error) {
	goals, err := GoalsOfSite.Collect(ctx, t, SiteIn{siteID})
	return NewReach(goals), err
}
