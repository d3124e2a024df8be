// Package goals creates, changes and deletes the goals of sites, reports how often they were
// reached, and updates events that arrived before a change. The folds of package analytics count
// goals: an event stores the goals that it reaches, and a change of them is folded like any other
// change.
package goals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/table"
)

// ErrGoal is returned for an invalid goal. The message says why and what to choose.
var ErrGoal = errors.New("goals: goal")

// Limits of goals.
const (
	MaxGoals = 50 // per site
	maxName  = 120
	maxID    = 64
	idLength = 12 // characters of generated IDs: 60 bits
)

// Goal is a goal of a site.
type Goal = analytics.Goal

// List returns the goals of a site, by ID.
func List(ctx context.Context, t *table.Table, siteID string) ([]Goal, error) {
	var goals []Goal
	for g, err := range analytics.GoalsOfSite.All(ctx, t, analytics.SiteIn{SiteID: siteID}) {
		if err != nil {
			return nil, fmt.Errorf("goals: list those of %s: %w", siteID, err)
		}
		if !g.Deleted {
			goals = append(goals, g)
		}
	}
	return goals, nil
}

// Create creates a goal, with a generated ID if it has none. The goal counts from now on; Backfill
// counts earlier events. Errors: ErrGoal, table.ErrExists if the ID is taken, table.ErrNotFound for
// an unknown site.
func Create(ctx context.Context, t *table.Table, g Goal) (Goal, error) {
	if g.GoalID == "" {
		g.GoalID = strings.ToLower(rand.Text()[:idLength])
	}
	if err := check(ctx, t, &g); err != nil {
		return Goal{}, err
	}
	all, err := List(ctx, t, g.SiteID)
	if err != nil {
		return Goal{}, err
	}
	if len(all) >= MaxGoals {
		return Goal{}, fmt.Errorf("%w: the site already has %d goals; delete one first", ErrGoal, len(all))
	}
	g.Changed, g.Pending, g.Deleted, g.Since = t.Now().UnixMilli(), true, false, ""
	if err := analytics.Goals.Create(ctx, t, &g); err != nil {
		return Goal{}, fmt.Errorf("goals: create %s: %w", g.GoalID, err)
	}
	return g, nil
}

// Update changes a goal. The change counts from now on; Backfill applies it to earlier events.
// Errors: ErrGoal, table.ErrNotFound.
func Update(ctx context.Context, t *table.Table, key analytics.GoalKey, change func(*Goal) error) (Goal, error) {
	g, err := analytics.Goals.Modify(ctx, t, key, func(g *Goal) error {
		if g.Deleted {
			return table.ErrNotFound
		}
		was := *g
		if err := change(g); err != nil {
			return err
		}
		g.GoalKey, g.Changed, g.Pending, g.Deleted, g.Since = was.GoalKey, was.Changed, was.Pending, was.Deleted, was.Since
		if err := check(ctx, t, g); err != nil {
			return err
		}
		if g.Path != was.Path || g.PathKind != was.PathKind || g.Event != was.Event || g.Value != was.Value || g.Counting != was.Counting {
			touch(t, g)
		}
		return nil
	})
	if err != nil {
		return g, fmt.Errorf("goals: update %s: %w", key.GoalID, err)
	}
	return g, nil
}

// Delete deletes a goal: it is no longer listed or counted. Backfill subtracts its earlier counts.
// Errors: table.ErrNotFound.
func Delete(ctx context.Context, t *table.Table, key analytics.GoalKey) error {
	_, err := analytics.Goals.Modify(ctx, t, key, func(g *Goal) error {
		if g.Deleted {
			return table.ErrNotFound
		}
		g.Deleted = true
		touch(t, g)
		return nil
	})
	if err != nil {
		return fmt.Errorf("goals: delete %s: %w", key.GoalID, err)
	}
	return nil
}

// touch marks a goal as changed. Changed identifies the change, so it always increases.
func touch(t *table.Table, g *Goal) {
	g.Changed, g.Pending = max(t.Now().UnixMilli(), g.Changed+1), true
}

func check(ctx context.Context, t *table.Table, g *Goal) error {
	site, err := analytics.GetSite(ctx, t, g.SiteID)
	if err != nil {
		return err
	}
	if g.GoalID == "" || len(g.GoalID) > maxID || strings.Trim(g.GoalID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		return fmt.Errorf("%w: id %q: use letters, digits and . _ - , at most %d", ErrGoal, g.GoalID, maxID)
	}
	if g.Name == "" || len(g.Name) > maxName || strings.ToValidUTF8(g.Name, "") != g.Name {
		return fmt.Errorf("%w: use a name of 1 to %d bytes of UTF-8", ErrGoal, maxName)
	}
	switch g.PathKind {
	case "", analytics.WildcardPath, analytics.RegexpPath:
	default:
		return fmt.Errorf("%w: path kind %q: use wildcard or regexp", ErrGoal, g.PathKind)
	}
	switch g.Counting {
	case "", analytics.OncePerSession, analytics.EveryTime:
	default:
		return fmt.Errorf("%w: counting %q: use session or every", ErrGoal, g.Counting)
	}
	currency := site.Currency
	if currency == "" {
		currency = analytics.DefaultCurrency
	}
	if g.Currency = strings.ToUpper(g.Currency); g.Currency == "" {
		g.Currency = currency
	}
	if g.Currency != currency {
		return fmt.Errorf("%w: currency %q: use the currency of the site, %s", ErrGoal, g.Currency, currency)
	}
	if err := g.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrGoal, err)
	}
	return nil
}

// Result is how often a goal was reached in a range of days.
type Result struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Conversions int64   `json:"conversions"`
	Visits      int64   `json:"visits"`            // visits that reached it, of those that started in the range
	Rate        float64 `json:"rate"`              // share of all visits that started in the range, 0 to 1
	Revenue     string  `json:"revenue"`           // exact decimal, in the site's currency
	Since       string  `json:"since,omitempty"`   // first day counted by the current definition; absent: all
	Pending     bool    `json:"pending,omitempty"` // events before the goal's last change are not yet recounted
}

// Report returns how often each goal of a site was reached, in days of the site's zone, both
// inclusive. It reads only derived buckets. Errors: those of report.Make.
func Report(ctx context.Context, t *table.Table, siteID, from, to string) ([]Result, error) {
	goals, err := List(ctx, t, siteID)
	if err != nil {
		return nil, err
	}
	out, err := report.Make(ctx, t, report.Request{Site: siteID, From: from, To: to, Period: analytics.Month, By: analytics.ByGoal})
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(goals))
	for i, g := range goals {
		r := Result{ID: g.GoalID, Name: g.Name, Revenue: "0", Since: g.Since, Pending: g.Pending}
		for _, row := range out.Top {
			if row.Value != g.GoalID {
				continue
			}
			r.Conversions, r.Visits = row.Events, row.Visits
			if row.Revenue != "" {
				r.Revenue = row.Revenue
			}
			if out.Totals.Visits > 0 {
				r.Rate = float64(row.Visits) / float64(out.Totals.Visits)
			}
		}
		results[i] = r
	}
	return results, nil
}
