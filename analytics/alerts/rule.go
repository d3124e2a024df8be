package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/episode"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/upsert"
)

const (
	maxRules   = 20  // per site
	maxThrough = 20  // channels
	maxHours   = 168 // of silence, of a goal, of For and KeepFor
	maxCount   = 1_000_000_000
	maxFactor  = 1_000
	maxLimit   = 1_000_000
)

// ErrRule is returned for an invalid rule. The message says what to change, and ends with a stable
// code.
var ErrRule = errors.New("alerts: rule")

// Key names a rule of a site.
type Key struct {
	SiteID string `dynamodbav:"siteId"`
	RuleID string `dynamodbav:"ruleId"`
}

// Settings are the thresholds of a rule. A zero value stands for the default of its kind.
type Settings struct {
	Kind  Kind   `dynamodbav:"kind" json:"kind"`
	Goal  string `dynamodbav:"goal,omitempty" json:"goal,omitempty" doc:"ID of the goal. Kind goal only."`
	Vital string `dynamodbav:"vital,omitempty" json:"vital,omitempty" doc:"lcp, inp or cls. Kind vital only."`
	// Factor is how many times more, or fewer, than usual.
	Factor float64 `dynamodbav:"factor,omitempty" json:"factor,omitempty" doc:"How many times more than usual; for a drop, how many times fewer. Above 1, at most 1000. Default: 3; for vitals 1.25."`
	// AtLeast is below which count nothing is judged.
	AtLeast int64   `dynamodbav:"atLeast,omitempty" json:"atLeast,omitempty" doc:"Smaller numbers cause no alert. Spike: visitors of the hour, default 50. Drop: usual visitors of the hour, default 20. Silence: usual page views and events of the hours, default 20. Goal: usual conversions of the hours, default 5. Vital: page loads of the day, default 100."`
	Hours   int     `dynamodbav:"hours,omitempty" json:"hours,omitempty" doc:"Silence and goal: hours without any, 1 to 168. Default: 3; for a goal 24."`
	Limit   float64 `dynamodbav:"limit,omitempty" json:"limit,omitempty" doc:"Vital: highest acceptable 75th percentile, in milliseconds, for cls a score. Default: factor times that of the 28 days before."`
	For     int     `dynamodbav:"for,omitempty" json:"for,omitempty" doc:"Hours for which the condition must hold after the first hour in which it does, 0 to 168. Default: 0."`
	KeepFor int     `dynamodbav:"keepFor,omitempty" json:"keepFor,omitempty" doc:"Hours after the last unusual one for which the alert keeps firing, 0 to 168. Default: 0."`
}

// Rule is a rule about the traffic of a site.
type Rule struct {
	Key
	Name     string   `dynamodbav:"name,omitempty"`
	Channels []string `dynamodbav:"channels,omitempty"` // IDs; empty: all of the site
	Off      bool     `dynamodbav:"off,omitempty"`
	Settings

	Judged time.Time `dynamodbav:"judged"` // end of the last judged hour
	Next   time.Time `dynamodbav:"next"`   // when the next hour is judged
	State  State     `dynamodbav:"episode,omitempty"`
	Untold []Alert   `dynamodbav:"untold,omitempty"` // alerts to store and to tell

	Created time.Time `dynamodbav:"created"`
	Updated time.Time `dynamodbav:"updated"`
}

// Rules holds the alert rules of sites.
var Rules = table.Define[Rule, Key]("analytics.alertrule", table.Def[Rule]{
	PK: "SITE#{siteId}", SK: "ALERTRULE#{ruleId}",
	Indexes: []table.Index[Rule]{{
		Name: "gsi1", PK: "SITE_ALERTS", SK: "DUE#{next:ms}#{siteId}#{ruleId}",
		When: func(r *Rule) bool { return !r.Off || len(r.Untold) > 0 }, WhenReads: []string{"off", "untold"},
	}},
	Doc:     "A rule of a site that judges every hour, with the state of its alert.",
	Example: func(r *Rule) { r.Settings, r.Off, r.Untold = Settings{Kind: Drop}, false, nil },
})

// SiteIn selects a site.
type SiteIn struct {
	SiteID string `dynamodbav:"siteId"`
}

// RulesOfSite queries the alert rules of a site, by ID.
var RulesOfSite = table.NewQuery(Rules, table.QueryDef[SiteIn]{
	ID: "WN6", Question: "the alert rules of a site", Load: table.Load{PerSecond: 0.01, Items: 3, ItemBytes: 400},
})

type dueIn struct {
	To time.Time `dynamodbav:"to"`
}

var dueRules = table.NewQuery(Rules, table.QueryDef[dueIn]{
	ID: "WN7", Question: "the alert rules that are due", Index: "gsi1", From: "DUE#", To: "DUE#{to:ms}",
	Load: table.Load{PerSecond: 0.02, Items: 5, ItemBytes: 400},
})

// Schema holds the entities and access patterns of this package.
var Schema = table.MustSchema("analytics.alerts", Rules, RulesOfSite, dueRules, Alerts, AlertsOfSite)

func wrong(field, what string, args ...any) error {
	return fmt.Errorf("%w: %s: %s (rule_%s)", ErrRule, field, fmt.Sprintf(what, args...), field)
}

func (r *Rule) check() error {
	switch {
	case !notify.CheckID(r.RuleID):
		return wrong("id", "use at most 64 letters, digits, _ and -")
	case !notify.CheckName(r.Name):
		return wrong("name", "use at most 100 bytes on one line")
	case len(r.Channels) > maxThrough:
		return wrong("channels", "use at most %d", maxThrough)
	}
	return r.Check()
}

// Check validates the settings. Errors: ErrRule.
func (s *Settings) Check() error {
	k := kindOf(s.Kind)
	hours := func(n int) bool { return n >= 0 && n <= maxHours }
	switch {
	case k == nil:
		return wrong("kind", "use one of: %s", kindNames())
	case s.Factor != 0 && !(s.Factor > 1 && s.Factor <= maxFactor):
		return wrong("factor", "use more than 1, at most %d", maxFactor)
	case s.AtLeast < 0 || s.AtLeast > maxCount:
		return wrong("atLeast", "use 1 to %d, or 0 for the default", maxCount)
	case !hours(s.Hours):
		return wrong("hours", "use 1 to %d, or 0 for the default", maxHours)
	case !hours(s.For):
		return wrong("for", "use 0 to %d hours", maxHours)
	case !hours(s.KeepFor):
		return wrong("keepFor", "use 0 to %d hours", maxHours)
	case !(s.Limit >= 0 && s.Limit <= maxLimit):
		return wrong("limit", "use a number above 0, at most %d, or 0 for the default", maxLimit)
	case s.Kind == Vital && !slices.Contains(vitals, s.Vital):
		return wrong("vital", "use lcp, inp or cls")
	case s.Kind == Goal && s.Goal == "":
		return wrong("goal", "name a goal of the site")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"goal", s.Goal != ""}, {"vital", s.Vital != ""}, {"factor", s.Factor != 0}, {"hours", s.Hours != 0}, {"limit", s.Limit != 0},
		{"for", s.For != 0}, {"keepFor", s.KeepFor != 0},
	} {
		if f.set && !slices.Contains(k.Fields, f.name) {
			return wrong(f.name, "omit it: rules of the kind %s do not have it", s.Kind)
		}
	}
	return nil
}

// Put creates or replaces a rule. It judges hours that end from now on. A change of the settings, or
// turning the rule off, ends an alert of the rule without a message. Errors: ErrRule, table.ErrNotFound
// for an unknown site.
func Put(ctx context.Context, t *table.Table, r Rule) (Rule, error) {
	if r.RuleID == "" {
		r.RuleID = notify.NewID()
	}
	if err := r.check(); err != nil {
		return r, err
	}
	site, err := analytics.GetSite(ctx, t, r.SiteID)
	if err == nil {
		err = r.checkReferences(ctx, t)
	}
	if err != nil {
		return r, err
	}
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return r, fmt.Errorf("alerts: %s: %w", r.SiteID, err)
	}
	now := t.Now().UTC().Truncate(time.Millisecond)
	stored, err := upsert.Item(ctx, t, Rules, r.Key, func(stored *Rule, exists bool) (err error) {
		made := r
		made.Created, made.Updated, made.Judged = now, now, startOfHour(zone, now)
		made.Next = nextHour(zone, made.Judged).Add(grace)
		if exists {
			made.keep(stored, now)
		} else {
			err = hasRoom(ctx, t, r.SiteID)
		}
		*stored = made
		return err
	})
	if err != nil && !errors.Is(err, ErrRule) {
		err = fmt.Errorf("alerts: %s: %w", r.SiteID, err)
	}
	if err == nil {
		err = publish(ctx, t, &stored) // an alert that ended
	}
	return stored, err
}

// Standing returns whether the rule is off, ok, pending or firing.
func (r *Rule) Standing() string {
	switch {
	case r.Off:
		return "off"
	case r.State.Phase == episode.Idle:
		return "ok"
	}
	return string(r.State.Phase)
}

// keep copies from the current rule what people do not choose.
func (r *Rule) keep(current *Rule, now time.Time) {
	r.Created, r.Untold = current.Created, current.Untold
	if r.Settings == current.Settings && r.Off == current.Off {
		r.Judged, r.Next, r.State = current.Judged, current.Next, current.State
		return
	}
	if a := current.end(now); a != nil {
		r.Untold = append(slices.Clone(r.Untold), *a)
	}
}

// checkReferences checks that the goal and the channels exist.
func (r *Rule) checkReferences(ctx context.Context, t *table.Table) error {
	if r.Kind == Goal {
		all, err := goals.List(ctx, t, r.SiteID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(g goals.Goal) bool { return g.GoalID == r.Goal }) {
			return wrong("goal", "the site has no goal %q", r.Goal)
		}
	}
	missing, err := notify.MissingChannel(ctx, t, r.SiteID, r.Channels)
	if err == nil && missing != "" {
		err = wrong("channels", "the site has no channel %q", missing)
	}
	return err
}

func hasRoom(ctx context.Context, t *table.Table, siteID string) error {
	all, err := RulesOfSite.Collect(ctx, t, SiteIn{siteID})
	if err == nil && len(all) >= maxRules {
		err = fmt.Errorf("%w: the site already has %d rules, the maximum (rule_limit)", ErrRule, maxRules)
	}
	return err
}

// Delete deletes a rule and returns it. An alert of it ends without a message, and stays in the
// history. Errors: table.ErrNotFound.
func Delete(ctx context.Context, t *table.Table, k Key) (Rule, error) {
	var deleted Rule
	r, err := Rules.Modify(ctx, t, k, func(now *Rule) error { // so that no process judges another hour
		deleted = *now
		now.Untold = append(slices.Clone(now.Untold), now.ended(t.Now())...)
		now.Off, now.State = true, State{}
		return nil
	})
	if err == nil {
		err = keepAlerts(ctx, t, r.Untold)
	}
	if err == nil {
		err = Rules.Delete(ctx, t, k, table.Present())
	}
	if errors.Is(err, table.ErrCondition) {
		err = table.ErrNotFound
	}
	if err != nil {
		return deleted, fmt.Errorf("alerts: delete rule %s: %w", k.RuleID, err)
	}
	return deleted, nil
}
