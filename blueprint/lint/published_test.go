package lint_test

import (
	"time"

	"github.com/onefold/onefold/table"
)

// The following schemas are those of the published patterns, copied literally as far as a schema
// can have faults here.

func published(id, question string, perSecond float64, bytes int) table.CreateDef {
	return table.CreateDef{ID: id, Question: question, Load: table.Load{PerSecond: perSecond, Items: 1, ItemBytes: bytes}}
}

// Analytics: events are spread over shards, and each event also changes the session and two
// statistics of its source.

type sourceSessionKey struct {
	SourceID  string `dynamodbav:"sourceId"`
	SessionID string `dynamodbav:"sessionId"`
}

type sourceSession struct{ sourceSessionKey }

type sourceStatsKey struct {
	SourceID string `dynamodbav:"sourceId"`
	Period   string `dynamodbav:"period"`
	Start    string `dynamodbav:"start"`
}

type sourceStats struct{ sourceStatsKey }

func publishedAnalytics() *table.Schema {
	sessions := table.Define[sourceSession, sourceSessionKey]("published.session", table.Def[sourceSession]{PK: "SOURCE#{sourceId}", SK: "SESSION#{sessionId}"})
	stats := table.Define[sourceStats, sourceStatsKey]("published.stats", table.Def[sourceStats]{PK: "SOURCE#{sourceId}", SK: "STATS#{period}#{start}"})
	return table.MustSchema("published", sessions, stats,
		table.NewCreate(sessions, published("A1", "count an event in its session", 1100, 300)),
		table.NewCreate(stats, published("A2", "count an event in two statistics", 2200, 300)))
}

// Web analytics: page views and custom events of a site are under one key, and again on an index by
// date.

type pageViewKey struct {
	SiteID string `dynamodbav:"siteId"`
	Stamp  string `dynamodbav:"timestamp"`
	ID     string `dynamodbav:"id"`
}

type pageView struct {
	pageViewKey
	Date string `dynamodbav:"date"`
}

func webDef(sk string) table.Def[pageView] {
	return table.Def[pageView]{PK: "SITE#{siteId}", SK: sk, Immutable: true,
		Indexes: []table.Index[pageView]{{Name: "gsi1", PK: "SITE#{siteId}", SK: "DATE#{date}"}}}
}

var (
	publishedPageViews    = table.Define[pageView, pageViewKey]("published.pageview", webDef("PV#{timestamp}#{id}"))
	publishedCustomEvents = table.Define[pageView, pageViewKey]("published.customevent", webDef("EVENT#{timestamp}#{id}"))
)

func publishedWeb() *table.Schema {
	return table.MustSchema("published", publishedPageViews, table.NewCreate(publishedPageViews, published("P1", "track a page view", 1200, 500)))
}

// Event sourcing: every event of a type is under one key of the index, and a transfer has two IDs.

type publishedEventKey struct {
	Type string `dynamodbav:"type"`
	ID   string `dynamodbav:"id"`
	Seq  int64  `dynamodbav:"seq"`
}

type publishedEvent struct {
	publishedEventKey
	EventType string `dynamodbav:"eventType"`
	EventID   string `dynamodbav:"eventId"`
}

func publishedEvents() *table.Schema {
	events := table.Define[publishedEvent, publishedEventKey]("published.event", table.Def[publishedEvent]{
		PK: "AGGREGATE#{type}#{id}", SK: "EVENT#{seq:012}", Immutable: true,
		Indexes: []table.Index[publishedEvent]{{Name: "gsi1", PK: "EVENT_TYPE#{eventType}", SK: "EVENT#{eventId}"}},
		Allow:   map[string]string{"hot-partition": "aggregates are many"},
	})
	transfers := table.Define[transfer, idKey]("published.transfer", table.Def[transfer]{PK: "TRANSFER#{id}", SK: "TRANSFER#{other}"})
	return table.MustSchema("published", events, transfers, table.NewCreate(events, published("E1", "append", 1500, 320)))
}

// Devices: the sort key of readings is only their time, alerts stay on the list, and a device is
// written with every heartbeat.

type publishedDeviceKey struct {
	DeviceID string `dynamodbav:"deviceId"`
}

type publishedDevice struct {
	publishedDeviceKey
	Status   string    `dynamodbav:"status"`
	LastSeen time.Time `dynamodbav:"lastSeen"`
}

type publishedReadingKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	Stamp    string `dynamodbav:"timestamp"`
}

type publishedReading struct {
	publishedReadingKey
	At          time.Time `dynamodbav:"receivedAt"`
	Temperature float64   `dynamodbav:"temperature"`
}

type publishedAlertKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	AlertID  string `dynamodbav:"alertId"`
}

type publishedAlert struct {
	publishedAlertKey
	Severity string `dynamodbav:"severity"`
}

func publishedDevices() *table.Schema {
	const pk = "DEVICE#{deviceId}"
	return table.MustSchema("published",
		table.Define[publishedDevice, publishedDeviceKey]("published.device", table.Def[publishedDevice]{PK: pk, SK: "#METADATA",
			Indexes: []table.Index[publishedDevice]{{Name: "gsi1", PK: "DEVICE_STATUS#{status}", SK: "DEVICE#{deviceId}"}}}),
		table.Define[publishedReading, publishedReadingKey]("published.reading", table.Def[publishedReading]{PK: pk, SK: "READING#{timestamp}", Immutable: true,
			Expires: func(*publishedReading) time.Time { return time.Now().AddDate(0, 0, 30) }}),
		table.Define[publishedAlert, publishedAlertKey]("published.alert", table.Def[publishedAlert]{PK: pk, SK: "ALERT#{alertId}",
			Indexes: []table.Index[publishedAlert]{{Name: "gsi1", PK: "ALERT_SEVERITY#{severity}", SK: "ALERT#{alertId}"}}}),
	)
}
