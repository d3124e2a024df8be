package analytics

import (
	"time"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/internal/sketch"
)

// Period is the width of a bucket.
type Period string

// The tiers, each rolled up from the one before.
const (
	Hour  Period = "hour"
	Day   Period = "day"
	Month Period = "month"
)

// StatsKey names the statistics of a site for one bucket. Start is the bucket's start in the site's zone, written in
// UTC for an hour (2026-05-12T14:00:00Z), as a date for a day (2026-05-12) and a month (2026-05).
type StatsKey struct {
	SiteID string `dynamodbav:"siteId"`
	Period Period `dynamodbav:"period"`
	Start  string `dynamodbav:"start"`
	Part   int    `dynamodbav:"part,omitempty"` // of an hour, from 0: see SetParts
}

// Stats are the counts of one bucket. Averages and rates are derived when read and never stored.
type Stats struct {
	StatsKey
	PageViews int64 `dynamodbav:"views,omitempty"`
	Events    int64 `dynamodbav:"events,omitempty"` // custom events
	// NewVisitors counts each visitor's day once, in the hour of its first event: exact, and it adds up over hours.
	NewVisitors int64 `dynamodbav:"newVisitors,omitempty"`
	// ActiveVisitors are those with an event in this bucket; exact, but it does not add up over hours. Hours only.
	ActiveVisitors int64 `dynamodbav:"activeVisitors,omitempty"`
	// Active is the set behind ActiveVisitors in a form that merges over hours. Hours only.
	Active  sketch.Set `dynamodbav:"active,omitempty"`
	Visits  int64      `dynamodbav:"visits,omitempty"` // that started in this bucket
	Bounces int64      `dynamodbav:"bounces,omitempty"`
	Seconds int64      `dynamodbav:"seconds,omitempty"` // total duration of the visits that started in this bucket
	Revenue string     `dynamodbav:"revenue,omitempty"` // exact decimal
	// Conversions are those of all goals, in the bucket in which their visits started.
	Conversions int64  `dynamodbav:"conversions,omitempty"`
	EngagedMS   int64  `dynamodbav:"engaged,omitempty"` // milliseconds of attention that EngagementEvents tell of
	Day         string `dynamodbav:"day,omitempty"`     // the site's day that an hour is in. Hours only
	Kept
}

// BreakdownKey names the values of one dimension in one bucket of a site.
type BreakdownKey struct {
	SiteID    string    `dynamodbav:"siteId"`
	Period    Period    `dynamodbav:"period"`
	Dimension Dimension `dynamodbav:"dimension"`
	Start     string    `dynamodbav:"start"`
	Part      int       `dynamodbav:"part,omitempty"` // of an hour, from 0: see SetParts
}

// Breakdown counts the values of one dimension in one bucket. It holds at most tally.MaxValues of them; what does not fit
// is counted in Other, exactly. Events without a value ("(none)") are not stored: they are the bucket's total less these.
type Breakdown struct {
	BreakdownKey
	Values tally.Values `dynamodbav:"values,omitempty"`
	Other  tally.Count  `dynamodbav:"other,omitempty"`
	Full   bool         `dynamodbav:"full,omitempty"` // once full, a new value is counted in Other for good
	Day    string       `dynamodbav:"day,omitempty"`  // the site's day that an hour is in. Hours only
	Kept
}

// RealtimeKey names one minute of a site: 2026-05-12T14:30, in UTC.
type RealtimeKey struct {
	SiteID string `dynamodbav:"siteId"`
	Minute string `dynamodbav:"minute"`
	Part   int    `dynamodbav:"part,omitempty"` // from 0: see SetParts
}

// Realtime counts what happened in one minute, of events that came at once. It lives for RealtimeWindow.
type Realtime struct {
	RealtimeKey
	PageViews int64        `dynamodbav:"views,omitempty"`
	Events    int64        `dynamodbav:"events,omitempty"`
	Visitors  sketch.Set   `dynamodbav:"visitors,omitempty"` // merges over minutes
	Pages     tally.Values `dynamodbav:"pages,omitempty"`    // page views by path
	Other     tally.Count  `dynamodbav:"other,omitempty"`
	Full      bool         `dynamodbav:"full,omitempty"`
	ExpiresAt time.Time    `dynamodbav:"-"` // stored as ttl
}

// RollupKey names a day of a site, YYYY-MM-DD.
type RollupKey struct {
	SiteID string `dynamodbav:"siteId"`
	Day    string `dynamodbav:"day"`
}

// RollupMark says that hours of a day have changed since the day was last rolled up. The roll-up deletes it, on
// condition that its fold version is still the one that it read.
type RollupMark struct {
	RollupKey
	Changed int64 `dynamodbav:"changed"` // epoch seconds of the last change of an hour
}
