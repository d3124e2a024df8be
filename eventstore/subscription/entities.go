package subscription

import (
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold/lease"
	"github.com/onefold/onefold/table"
)

// Key names a subscription.
type Key struct {
	Name string `dynamodbav:"name"`
}

// Record is a subscription as it is stored.
type Record struct {
	Key
	Partitions int       `dynamodbav:"partitions"`
	Start      int64     `dynamodbav:"start"` // feed position after which it began
	CreatedAt  time.Time `dynamodbav:"createdAt"`
	Pulled     *Settings `dynamodbav:"pulled,omitempty"` // nil: a program handles the events with Run
}

// Records holds the subscriptions.
var Records = table.Define[Record, Key]("eventstore.subscription", table.Def[Record]{
	PK: "SUBSCRIPTIONS", SK: "SUBSCRIPTION#{name}",
	Example: func(r *Record) { r.Name, r.Partitions, r.Start, r.Pulled = "mails", 4, 0, nil },
	Doc:     "A subscription to the feed, by name.",
})

// All queries the subscriptions by name.
var All = table.NewQuery(Records, table.QueryDef[struct{}]{
	ID: "S1", Question: "the subscriptions", Load: table.Load{PerSecond: 0.1, Items: 10, ItemBytes: 150},
})

// PartitionKey names a partition of a subscription.
type PartitionKey struct {
	Name      string `dynamodbav:"name"`
	Partition int    `dynamodbav:"partition"`
}

// Partition is the progress of a partition.
type Partition struct {
	PartitionKey
	Position  int64     `dynamodbav:"position"`         // feed position up to which all is handled or parked
	Turn      int64     `dynamodbav:"turn"`             // raised whenever a consumer begins; only the last one may write
	Requests  int64     `dynamodbav:"requests"`         // raised to make the consumer look at parked events again
	Owner     string    `dynamodbav:"owner,omitempty"`  // consumer that began last
	Handled   int64     `dynamodbav:"handled"`          // events handled, including repetitions
	Parked    int       `dynamodbav:"parked,omitempty"` // events parked
	Failures  int       `dynamodbav:"failures,omitempty"`
	Error     string    `dynamodbav:"error,omitempty"` // of the last attempt; "": it succeeded
	UpdatedAt time.Time `dynamodbav:"updatedAt"`
	Pull
}

// Partitions holds the progress of subscriptions.
var Partitions = table.Define[Partition, PartitionKey]("eventstore.subscriptionpartition", table.Def[Partition]{
	PK: "SUBSCRIPTION#{name}", SK: "PARTITION#{partition:03}",
	Example: func(p *Partition) {
		p.Name, p.Position, p.Turn, p.Requests, p.Owner, p.Handled, p.Error = "mails", 1042, 3, 0, "worker-1", 980, ""
		p.Parked, p.Failures, p.Pull = 0, 0, Pull{}
	},
	Doc:    "How far a partition of a subscription is handled.",
	Growth: table.Growth{Writes: 1, Most: 1 / defaultCheckpoint.Seconds(), Bytes: 300},
})

// PartitionsOf queries the partitions of a subscription.
var PartitionsOf = table.NewQuery(Partitions, table.QueryDef[Key]{
	ID: "S2", Question: "how far a subscription is handled", Prefix: "PARTITION#",
	Load: table.Load{PerSecond: 0.1, Items: 4, ItemBytes: 300},
})

// ParkedKey names a parked event by its place in the feed.
type ParkedKey struct {
	Name      string `dynamodbav:"name"`
	Partition int    `dynamodbav:"partition"`
	Position  int64  `dynamodbav:"position"`
	eventstore.EventKey
}

// Parked is an event that could not be handled, or that waits for an earlier event of its aggregate.
type Parked struct {
	ParkedKey
	EventID   string    `dynamodbav:"eventId"`
	EventType string    `dynamodbav:"eventType"`
	Reason    string    `dynamodbav:"reason,omitempty"` // error of the last attempt, at most 500 bytes; "": it waits for an earlier event
	Attempts  int       `dynamodbav:"attempts"`
	ParkedAt  time.Time `dynamodbav:"parkedAt"`
	Retry     bool      `dynamodbav:"retry,omitempty"` // it is to be tried again
}

// ParkedEvents holds the parked events.
var ParkedEvents = table.Define[Parked, ParkedKey]("eventstore.parkedevent", table.Def[Parked]{
	PK: "SUBSCRIPTION#{name}", SK: "PARKED#{partition:03}#{position:012}#{type}#{id}#{seqNum:012}",
	Example: func(p *Parked) {
		p.Name, p.Partition, p.Position, p.Attempts, p.Retry = "mails", 0, 1041, 10, false
		p.Type, p.ID.ID, p.Seq, p.EventType, p.Reason = "order", "1001", 2, "OrderPaid", "mail server: mailbox unavailable"
	},
	Doc: "An event that a subscription's handler could not handle.",
})

// ParkedOf queries the parked events of a subscription, by partition and position.
var ParkedOf = table.NewQuery(ParkedEvents, table.QueryDef[Key]{
	ID: "S3", Question: "the parked events of a subscription", Prefix: "PARKED#",
	Load: table.Load{PerSecond: 0.01, Items: 10, ItemBytes: 400},
})

// parkedIn queries the parked events of a partition.
var parkedIn = table.NewQuery(ParkedEvents, table.QueryDef[PartitionKey]{
	ID: "S4", Question: "the parked events of a partition of a subscription", Prefix: "PARKED#{partition:03}#",
	Load: table.Load{PerSecond: 0.01, Items: 10, ItemBytes: 400},
})

// Schema holds what subscriptions store. Add it to the schema of the table.
var Schema = table.MustSchema("eventstore.subscriptions", Records, Partitions, ParkedEvents, All, PartitionsOf, ParkedOf, parkedIn, lease.Leases, lease.Of, lease.Members, lease.MembersOf)
