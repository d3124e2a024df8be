package alerts

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics/wording"
	"github.com/onefold/onefold/internal/episode"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/upsert"
)

// keepResolved is how long alerts stay in the history after they have ended.
const keepResolved = 365 * 24 * time.Hour

// Status is the state of an alert.
type Status string

// The states of an alert.
const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
)

// AlertKey names an alert of a site. The ID consists of the time at which it fired and of its rule.
type AlertKey struct {
	SiteID  string `dynamodbav:"siteId" json:"siteId"`
	AlertID string `dynamodbav:"alertId" json:"alertId"`
}

// Alert is an episode of a rule. Its JSON form is part of the HTTP API and of webhooks.
type Alert struct {
	AlertKey
	RuleID   string    `dynamodbav:"ruleId" json:"ruleId"`
	RuleName string    `dynamodbav:"ruleName,omitempty" json:"ruleName,omitempty"`
	Kind     Kind      `dynamodbav:"kind" json:"kind"`
	Status   Status    `dynamodbav:"status" json:"status" enum:"firing,resolved"`
	Since    time.Time `dynamodbav:"since" json:"since" doc:"Start of the first unusual hour."`
	FiredAt  time.Time `dynamodbav:"firedAt" json:"firedAt" doc:"End of the hour in which it fired."`
	EndedAt  time.Time `dynamodbav:"endedAt,omitempty" json:"endedAt,omitzero" doc:"End of the hour in which it was resolved, or when its rule was changed."`
	// Judgement is that of the hour in which it fired, or was resolved.
	Judgement
	Summary string         `dynamodbav:"summary" json:"summary" doc:"A sentence about the hour in which it fired or was resolved."`
	Cause   *wording.Cause `dynamodbav:"cause,omitempty" json:"cause,omitempty" doc:"The value that made most of the change of visits, compared with the hour named by comparedWith."`
	Quiet   bool           `dynamodbav:"quiet,omitempty" json:"quiet,omitempty" doc:"No message says so: the alert was over when it was noticed, or its rule was changed."`

	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty" json:"-"`
}

// Alerts holds the history of alerts.
var Alerts = table.Define[Alert, AlertKey]("analytics.alert", table.Def[Alert]{
	PK: "SITE#{siteId}", SK: "ALERT#{alertId}",
	Doc: "An alert of a site, kept for a year after it has ended.",
})

// AlertsOfSite queries the alerts of a site, latest first.
var AlertsOfSite = table.NewQuery(Alerts, table.QueryDef[SiteIn]{
	ID: "WN8", Question: "the alerts of a site, latest first", Desc: true, Load: table.Load{PerSecond: 0.01, Items: 20, ItemBytes: 600},
})

// State is the state machine of a rule between two evaluations.
type State struct {
	Phase episode.Phase `dynamodbav:"phase,omitempty"`
	First int64         `dynamodbav:"first,omitempty"` // ends of hours, epoch milliseconds
	Fired int64         `dynamodbav:"fired,omitempty"`
	Last  int64         `dynamodbav:"last,omitempty"`
	Value float64       `dynamodbav:"value,omitempty"`
	Peak  float64       `dynamodbav:"peak,omitempty"`
	Alert *Alert        `dynamodbav:"alert,omitempty"` // as it fired
}

func (s *State) machine() episode.Machine[float64] {
	return episode.Machine[float64]{Phase: s.Phase, Episode: episode.Episode[float64]{
		First: episode.Key{At: s.First}, Fired: s.Fired, Last: episode.Key{At: s.Last}, Value: s.Value, Peak: s.Peak,
	}}
}

// set takes the state of a machine.
func (s *State) set(m *episode.Machine[float64]) {
	if m.Phase == episode.Idle {
		*s = State{}
		return
	}
	e := &m.Episode
	s.Phase, s.First, s.Fired, s.Last, s.Value, s.Peak = m.Phase, e.First.At, e.Fired, e.Last.At, e.Value, e.Peak
}

// end returns the current alert of the rule as one that ends now without a message, or nil.
func (r *Rule) end(now time.Time) *Alert {
	if r.State.Alert == nil {
		return nil
	}
	a := *r.State.Alert
	a.Status, a.EndedAt, a.Quiet = Resolved, now.UTC().Truncate(time.Millisecond), true
	a.ExpiresAt = a.EndedAt.Add(keepResolved)
	return &a
}

// ended is end as a list.
func (r *Rule) ended(now time.Time) []Alert {
	if a := r.end(now); a != nil {
		return []Alert{*a}
	}
	return nil
}

// keepAlerts stores alerts in the history. A resolved alert does not become firing again.
func keepAlerts(ctx context.Context, t *table.Table, all []Alert) error {
	for i := range all {
		a := &all[i]
		_, err := upsert.Item(ctx, t, Alerts, a.AlertKey, func(stored *Alert, exists bool) error {
			if !exists || stored.Status != Resolved {
				*stored = *a
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("alerts: %s: %w", a.AlertID, err)
		}
	}
	return nil
}
