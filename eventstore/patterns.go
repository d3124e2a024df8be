package eventstore

import (
	"context"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// The access patterns. Their loads are those of a thousand appends a minute; a test compares them
// with the metered units of the engine.

// Schema holds all entities and access patterns of this package.
var Schema = table.MustSchema("eventstore",
	Heads, Events, Snapshots, Marks, Reservations, PersonalReservations, Types, FeedEntries, FeedChunks, FeedHeads, TableRules, TagHeads, TagEntries,
	AppendEvents, AppendEvent, Replay, ReplayBackwards, SnapshotByID, HeadByID, EventsOfType, AggregatesOfType, AggregatesOfShard, AggregatesByID, AggregatesByIDBackwards, MarkByID, ReservationByValue, ReservationsOf, AllTypes,
	FeedFrom, FeedHeadNow, RulesNow, EventsOfTag, tagHeadsNow, ProjectChanges,
	fold.Schema,
	remarks,
)

// AppendEvents is the transaction of Append: the head, at which concurrent writers conflict, the
// events, and the mark of an append with a commit ID.
var AppendEvents = table.NewOperation(Events, table.OperationDef{
	ID: "E1", Question: "append events at an expected version", Operation: "TransactWriteItems",
	Condition: "head: absent, or currentSeqNum = n and open; events and mark: absent",
	Load:      table.Load{PerSecond: 17, Items: 2, ItemBytes: 600},
	Example: func(ctx context.Context, t *table.Table) error {
		s, err := New(t, Options{})
		if err == nil {
			_, err = s.Append(ctx, ID{Type: "order", ID: "1001"}, NoStream(), []NewEvent{{Type: "OrderPlaced", Payload: []byte(`{"total":"12.50"}`)}}, CommitID("place-1001"))
		}
		return err
	},
})

// AppendEvent creates one event. It is the whole append in put mode.
var AppendEvent = table.NewCreate(Events, table.CreateDef{
	ID: "E1b", Question: "append one event without a transaction (put mode)",
	Load: table.Load{PerSecond: 17, Items: 1, ItemBytes: 600},
})

// EndOfStream is greater than any event's number: keys have twelve digits for it.
const EndOfStream = 999_999_999_999

// ReplayIn selects the events of an aggregate in [From, To); EndOfStream leaves To open.
type ReplayIn struct {
	ID
	From int64 `dynamodbav:"from"`
	To   int64 `dynamodbav:"to"`
}

// Replay queries the events of an aggregate in order. Store.Read also detects holes.
var Replay = table.NewQuery(Events, table.QueryDef[ReplayIn]{
	ID: "E2", Question: "the events of an aggregate from a sequence number on",
	From: "EVENT#{from:012}", To: "EVENT#{to:012}",
	Load: table.Load{PerSecond: 10, Items: 20, ItemBytes: 600},
})

// ReplayBackwards queries the events of an aggregate, last first.
var ReplayBackwards = table.NewQuery(Events, table.QueryDef[ReplayIn]{
	ID: "E3", Question: "the last events of an aggregate", Desc: true,
	From: "EVENT#{from:012}", To: "EVENT#{to:012}",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 600},
})

// SnapshotByID reads the snapshot of an aggregate.
var SnapshotByID = table.NewGet[SnapshotKey](Snapshots, table.GetDef{
	ID: "E4", Question: "the snapshot of an aggregate", Load: table.Load{PerSecond: 10, Items: 1, ItemBytes: 2000},
})

// HeadByID reads the head of a stream.
var HeadByID = table.NewGet[ID](Heads, table.GetDef{
	ID: "E5", Question: "the version of an aggregate", Load: table.Load{PerSecond: 5, Items: 1, ItemBytes: 300},
})

// TypeIn selects the events of a type from an event ID on; "" means all. Shards is the number of
// partitions of the type, see Store.TypeShards.
type TypeIn struct {
	EventType string `dynamodbav:"eventType"`
	From      string `dynamodbav:"from"`
	To        string `dynamodbav:"to"`
	Shards    int    `dynamodbav:"-"`
}

// EventsOfType queries the events of a type over all aggregates by event ID, which orders them by
// time. The index lags behind, and IDs are created before the append, so new events may appear
// before the end; Feed misses none.
var EventsOfType = table.NewQuery(Events, table.QueryDef[TypeIn]{
	ID: "E6", Question: "the events of a type across aggregates, in time order", Index: "gsi1",
	PK: "EVENT_TYPE#{eventType}[#{shard}]", From: "EVENT#{from}", To: "EVENT#{to}",
	FanOut: "shard", Over: func(in TypeIn) []int { return upTo(max(in.Shards, 1)) },
	Load: table.Load{PerSecond: 0.1, Items: 100, ItemBytes: 600},
})

// AggregatesIn selects a type of aggregates.
type AggregatesIn struct {
	Type string `dynamodbav:"type"`
}

// AggregatesOfType queries the heads of all aggregates of a type, by ID.
var AggregatesOfType = table.NewQuery(Heads, table.QueryDef[AggregatesIn]{
	ID: "E8", Question: "the aggregates of a type", Index: "gsi1",
	FanOut: "shard", Over: func(AggregatesIn) []int { return upTo(HeadShards) },
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 300},
})

// AggregatesFrom selects the aggregates of a type in one of the HeadShards parts of their list,
// from an ID on; "" means all.
type AggregatesFrom struct {
	Type  string `dynamodbav:"type"`
	Shard int    `dynamodbav:"shard"`
	From  string `dynamodbav:"from"`
	To    string `dynamodbav:"to"`
}

// AggregatesOfShard queries the heads of a part of a type's aggregates by ID, for work that is
// divided and resumed.
var AggregatesOfShard = table.NewQuery(Heads, table.QueryDef[AggregatesFrom]{
	ID: "E8b", Question: "the aggregates of a type in a range of IDs", Index: "gsi1",
	From: "AGGREGATE#{from}", To: "AGGREGATE#{to}",
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 300},
})

// AggregatesBetween selects the aggregates of a type with IDs in [From, To); "" leaves an end open.
type AggregatesBetween struct {
	Type string `dynamodbav:"type"`
	From string `dynamodbav:"from"`
	To   string `dynamodbav:"to"`
}

// AggregatesByID queries the heads of a type's aggregates in a range of IDs, by ID.
var AggregatesByID = table.NewQuery(Heads, table.QueryDef[AggregatesBetween]{
	ID: "E8c", Question: "the aggregates of a type whose IDs are in a range, such as those with a prefix", Index: "gsi1",
	From: "AGGREGATE#{from}", To: "AGGREGATE#{to}",
	FanOut: "shard", Over: func(AggregatesBetween) []int { return upTo(HeadShards) },
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 300},
})

// AggregatesByIDBackwards queries the heads of a type's aggregates in a range of IDs, last first.
var AggregatesByIDBackwards = table.NewQuery(Heads, table.QueryDef[AggregatesBetween]{
	ID: "E8d", Question: "the aggregates of a type whose IDs are in a range, last first", Index: "gsi1", Desc: true,
	From: "AGGREGATE#{from}", To: "AGGREGATE#{to}",
	FanOut: "shard", Over: func(AggregatesBetween) []int { return upTo(HeadShards) },
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 300},
})

// MarkByID reads the mark of a commit ID.
var MarkByID = table.NewGet[MarkKey](Marks, table.GetDef{
	ID: "E9", Question: "the events that an append stored", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 200},
})

// ReservationByValue reads the owner of a reserved value.
var ReservationByValue = table.NewGet[ReservationKey](Reservations, table.GetDef{
	ID: "E10", Question: "the aggregate that has a unique value", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 250},
})

// SubjectIn selects a person.
type SubjectIn struct {
	Subject string `dynamodbav:"subject"`
}

// ReservationsOf queries the reserved values about a person.
var ReservationsOf = table.NewQuery(PersonalReservations, table.QueryDef[SubjectIn]{
	ID: "E10b", Question: "the reserved values with data of a person", Prefix: "RESERVATION#", Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 200},
})

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// ProjectChanges is what folds do with changes of the stream: they read a derived item and write it
// with the position in the stream up to which it counts, on condition that nobody else wrote it.
var ProjectChanges = table.NewOperation(Types, table.OperationDef{
	ID: "E7", Question: "update a projection from the change stream, such as the counts of a type", Operation: "PutItem",
	Condition: "the derived item: absent, or fv as it was read",
	Load:      table.Load{PerSecond: 1, Items: 1, ItemBytes: 250},
	Example: func(ctx context.Context, t *table.Table) error {
		w, err := fold.NewWorker(t, nil, []*fold.Fold{foldTypes()}, fold.Options{Group: "example", Owner: "worker-1"})
		if err != nil {
			return err
		}
		head := Head{ID: ID{Type: "shipment", ID: "7"}, Version: 1, UpdatedAt: t.Now()}
		image, err := Heads.Encode(&head)
		if err == nil {
			_, err = w.Handle(ctx, []fold.Change{{Shard: "shardId-1", Seq: "1", At: t.Now(), Kind: fold.Insert, New: image}})
		}
		return err
	},
})
