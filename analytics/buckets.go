package analytics

import (
	"time"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/internal/sketch"
)

// Period is the width of a bucket.
type Period string

// The periods. Days are rolled up from hours, and months from days.
const (
	Hour  Period = "hour"
	Day   Period = "day"
	Month Period = "month"
)

// StatsKey names the statistics of a site for one bucket. Start is the bucket's start in the site's
// zone: for an hour in UTC (2026-05-12T14:00:00Z), for a day or month as 2026-05-12 or 2026-05.
type StatsKey struct {
	SiteID string `dynamodbav:"siteId"`
	Period Period `dynamodbav:"period"`
	Start  string `dynamodbav:"start"`
	Shard  int    `dynamodbav:"shard,omitempty"` // shard of the facts that it counts; 0 unless it is an hour
}

// Stats are the counts of one bucket. Averages and rates are computed when read, never stored.
type Stats struct {
	StatsKey
	PageViews int64 `dynamodbav:"views,omitempty"`
	Events    int64 `dynamodbav:"events,omitempty"` // custom events
	// NewVisitors counts visitors' days, each in the hour of its first event. Exact; adds up.
	NewVisitors int64 `dynamodbav:"newVisitors,omitempty"`
	// ActiveVisitors counts visitors with an event in this bucket; not additive. Hours only.
	ActiveVisitors int64 `dynamodbav:"activeVisitors,omitempty"`
	// Active is a sketch of the set behind ActiveVisitors. It can be merged over hours. Hours only.
	Active  sketch.Set `dynamodbav:"active,omitempty"`
	Visits  int64      `dynamodbav:"visits,omitempty"` // visits that started in this bucket
	Bounces int64      `dynamodbav:"bounces,omitempty"`
	Seconds int64      `dynamodbav:"seconds,omitempty"` // total duration of these visits
	Revenue string     `dynamodbav:"revenue,omitempty"` // exact decimal
	// Conversions counts conversions of all goals in the bucket in which their visits started.
	Conversions int64  `dynamodbav:"conversions,omitempty"`
	EngagedMS   int64  `dynamodbav:"engaged,omitempty"` // engaged time reported by EngagementEvents, milliseconds
	Day         string `dynamodbav:"day,omitempty"`     // the site's day of an hour. Hours only
	Arrivals
}

// BreakdownKey names the values of one dimension in one bucket of a site.
type BreakdownKey struct {
	SiteID    string    `dynamodbav:"siteId"`
	Period    Period    `dynamodbav:"period"`
	Dimension Dimension `dynamodbav:"dimension"`
	Start     string    `dynamodbav:"start"`
	Shard     int       `dynamodbav:"shard,omitempty"` // shard of the facts that it counts; 0 unless it is an hour
}

// Breakdown counts the values of one dimension in one bucket. It holds at most tally.MaxValues
// values; all others are counted together in Other, exactly. Events without a value ("(none)") are
// not stored: they are the bucket's total minus these counts.
type Breakdown struct {
	BreakdownKey
	Values tally.Values `dynamodbav:"values,omitempty"`
	Other  tally.Count  `dynamodbav:"other,omitempty"`
	Full   bool         `dynamodbav:"full,omitempty"` // a full breakdown counts every new value in Other from then on
	Day    string       `dynamodbav:"day,omitempty"`  // the site's day of an hour. Hours only
	Arrivals
}

// RealtimeKey names one minute of a site: 2026-05-12T14:30, in UTC.
type RealtimeKey struct {
	SiteID string `dynamodbav:"siteId"`
	Minute string `dynamodbav:"minute"`
	Shard  int    `dynamodbav:"shard,omitempty"` // shard of the events that it counts
}

// Realtime counts the events of one minute that arrived promptly. It is kept for RealtimeWindow.
type Realtime struct {
	RealtimeKey
	PageViews int64        `dynamodbav:"views,omitempty"`
	Events    int64        `dynamodbav:"events,omitempty"`
	Visitors  sketch.Set   `dynamodbav:"visitors,omitempty"` // can be merged over minutes
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

// RollupMark records that hours of a day changed since its last roll-up. The roll-up deletes the
// mark on condition that its fold version is still the version that it read.
type RollupMark struct {
	RollupKey
	Changed int64 `dynamodbav:"changed"` // epoch seconds of the last change of an hour
}
