package alerts

import (
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// WatchKey names the watch of a rule for a device.
type WatchKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	RuleID   string `dynamodbav:"ruleId"`
}

// Watch is the state of a rule for a device. It does not exist until the rule is first breached.
type Watch struct {
	WatchKey
	Version   int           `dynamodbav:"version"`            // version of the rule
	RuleMade  int64         `dynamodbav:"ruleMade,omitempty"` // creation of the rule, epoch milliseconds
	Rev       int64         `dynamodbav:"rev"`                // incremented at every write
	Phase     episode.Phase `dynamodbav:"phase,omitempty"`
	FirstAt   int64         `dynamodbav:"firstAt,omitempty"` // first point of the pending or firing episode
	FirstDisc string        `dynamodbav:"firstDisc,omitempty"`
	UntilAt   int64         `dynamodbav:"untilAt"` // last point of any episode
	UntilDisc string        `dynamodbav:"untilDisc,omitempty"`
}

func (w *Watch) first() episode.Key { return episode.Key{At: w.FirstAt, Disc: w.FirstDisc} }
func (w *Watch) until() episode.Key { return episode.Key{At: w.UntilAt, Disc: w.UntilDisc} }

// Watches holds the state of rules for devices.
var Watches = table.Define[Watch, WatchKey]("telemetry.watch", table.Def[Watch]{
	PK: "DEVICE#{deviceId}", SK: "WATCH#{ruleId}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Doc: "The state of a rule for a device: pending, firing, or cleared since some reading.",
})

// ChannelKey names a notification channel.
type ChannelKey struct {
	FleetID   string `dynamodbav:"fleetId"`
	ChannelID string `dynamodbav:"channelId"`
}

// Channel is a notification channel of a fleet.
type Channel struct {
	ChannelKey
	Kind delivery.ChannelKind `dynamodbav:"kind"`
	Name string               `dynamodbav:"name,omitempty"`
	delivery.Settings
	Secret string                 `dynamodbav:"secret,omitempty"` // signing key, in plain text because it is needed for signing
	Least  telemetry.Severity     `dynamodbav:"least,omitempty"`  // minimum severity; "": all
	Events []telemetry.Transition `dynamodbav:"events,omitempty"` // empty: all
	Within int                    `dynamodbav:"within,omitempty"` // maximum age of what is notified, seconds; default 86,400, -1: unlimited
	Off    bool                   `dynamodbav:"off,omitempty"`

	CreatedAt time.Time `dynamodbav:"createdAt"`
	UpdatedAt time.Time `dynamodbav:"updatedAt"`
}

// Channels holds the notification channels of fleets.
var Channels = table.Define[Channel, ChannelKey]("telemetry.channel", table.Def[Channel]{
	PK: "FLEET#{fleetId}", SK: "CHANNEL#{channelId}",
	Doc: "A channel that notifies people of a fleet's alerts.",
})

// NotificationKey names a notification. The ID consists of alert, transition and channel, so each
// combination is notified once.
type NotificationKey struct {
	FleetID        string `dynamodbav:"fleetId"`
	NotificationID string `dynamodbav:"notificationId"`
}

// Notification is a message for one channel and its delivery state. It is written with the change
// of the alert.
type Notification struct {
	NotificationKey
	ChannelID string               `dynamodbav:"channelId"`
	Shard     int                  `dynamodbav:"shard"`
	Event     telemetry.Transition `dynamodbav:"event"`
	Alert     AlertSnapshot        `dynamodbav:"alert"`
	delivery.Status
}

// AlertSnapshot is the alert in a notification, as it was at that time.
type AlertSnapshot struct {
	AlertID  string             `dynamodbav:"id" json:"id"`
	FleetID  string             `dynamodbav:"fleet" json:"fleet"`
	DeviceID string             `dynamodbav:"device" json:"device"`
	Device   string             `dynamodbav:"deviceName,omitempty" json:"deviceName,omitempty"`
	RuleID   string             `dynamodbav:"rule" json:"rule"`
	Message  string             `dynamodbav:"message,omitempty" json:"message,omitempty"`
	Metric   string             `dynamodbav:"metric,omitempty" json:"metric,omitempty"`
	Severity telemetry.Severity `dynamodbav:"severity" json:"severity"`
	Value    string             `dynamodbav:"value,omitempty" json:"value,omitempty"`
	Peak     string             `dynamodbav:"peak,omitempty" json:"peak,omitempty"`
	Since    time.Time          `dynamodbav:"since" json:"since"`
	FiredAt  time.Time          `dynamodbav:"firedAt" json:"firedAt"`
	Resolved *time.Time         `dynamodbav:"resolvedAt,omitempty" json:"resolvedAt,omitempty"`
}

// Notifications holds the outbox.
var Notifications = table.Define[Notification, NotificationKey]("telemetry.notification", table.Def[Notification]{
	PK: "FLEET#{fleetId}", SK: "NOTIFICATION#{notificationId}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Indexes: []table.Index[Notification]{{
		Name: "gsi1", PK: "OUTBOX#{shard}", SK: "DUE#{due:ms}#{notificationId}",
		When: func(n *Notification) bool { return n.State == delivery.Waiting }, WhenReads: []string{"state"},
	}},
	Doc: "A notification of an alert through one channel, with its delivery status.",
	Example: func(n *Notification) {
		n.Event, n.State, n.Attempts, n.LastError = telemetry.Fires, delivery.Waiting, 0, ""
	},
})

// ruleIn selects the alerts of a device and a rule that began in [From, To), given as alert IDs.
type ruleIn struct {
	DeviceID string `dynamodbav:"deviceId"`
	From     string `dynamodbav:"from"`
	To       string `dynamodbav:"to"`
	RuleID   string `dynamodbav:"-"`
}

var alertRule = table.FieldOf(telemetry.Alerts, func(a *telemetry.Alert) *string { return &a.RuleID })

func exampleRule(in *ruleIn) { in.RuleID = "too-hot" }

func ofRule(in ruleIn) table.Cond { return alertRule.Eq(in.RuleID) }

// alertsFrom and alertsBack query the alerts of a device and a rule, oldest and latest first.
var (
	alertsFrom = table.NewQuery(telemetry.Alerts, table.QueryDef[ruleIn]{
		ID: "TA1", Question: "the alerts of a rule and a device since a time", From: "ALERT#{from}", To: "ALERT#{to}", Filter: ofRule,
		Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 400}, Example: exampleRule,
	})
	alertsBack = table.NewQuery(telemetry.Alerts, table.QueryDef[ruleIn]{
		ID: "TA2", Question: "the latest alert of a rule and a device before a time", From: "ALERT#{from}", To: "ALERT#{to}", Filter: ofRule,
		Desc: true, Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 400}, Example: exampleRule,
	})
	aggregatesBack = table.NewQuery(telemetry.Aggregates, table.QueryDef[telemetry.AggregatesIn]{
		ID: "TA4", Question: "the aggregates of a device before a time, latest first", From: "AGG#{period}#{from}", To: "AGG#{period}#{to}",
		Desc: true, Load: table.Load{PerSecond: 0.1, Items: 8, ItemBytes: 900},
	})
)

var watchesOf = table.NewQuery(Watches, table.QueryDef[telemetry.DeviceIn]{
	ID: "TA8", Question: "the rules that are pending for a device", Load: table.Load{PerSecond: 0.1, Items: 3, ItemBytes: 120},
})

// ChannelsOfFleet queries the notification channels of a fleet.
var ChannelsOfFleet = table.NewQuery(Channels, table.QueryDef[telemetry.FleetIn]{
	ID: "TA5", Question: "the notification channels of a fleet", Load: table.Load{PerSecond: 0.1, Items: 3, ItemBytes: 300},
})

// NotificationsOfFleet queries the notifications of a fleet, latest alerts first.
var NotificationsOfFleet = table.NewQuery(Notifications, table.QueryDef[DeliveriesIn]{
	ID: "TA6", Question: "the notifications of a fleet, including dead letters", Desc: true,
	Filter: func(in DeliveriesIn) table.Cond {
		if in.State == "" {
			return table.Cond{}
		}
		return notificationState.Eq(in.State)
	},
	Load: table.Load{PerSecond: 0.01, Items: 50, ItemBytes: 600},
})

// DeliveriesIn selects notifications by fleet and state; "" means all states.
type DeliveriesIn struct {
	FleetID string         `dynamodbav:"fleetId"`
	State   delivery.State `dynamodbav:"-"`
}

var notificationState = table.FieldOf(Notifications, func(n *Notification) *delivery.State { return &n.State })

type dueIn struct {
	Shard int       `dynamodbav:"shard"`
	To    time.Time `dynamodbav:"to"`
}

var dueNotifications = table.NewQuery(Notifications, table.QueryDef[dueIn]{
	ID: "TA7", Question: "the notifications that are due", Index: "gsi1", From: "DUE#", To: "DUE#{to:ms}",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 600},
})

// Schema holds all entities and access patterns of this package.
var Schema = table.MustSchema("telemetry.alerts",
	telemetry.Schema, Watches, Channels, Notifications,
	alertsFrom, alertsBack, aggregatesBack, ChannelsOfFleet, NotificationsOfFleet, dueNotifications, watchesOf,
	fold.Schema,
)
