package eventstore

import (
	"context"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// The access patterns. Their loads are those of a thousand appends a minute; a test compares them
// with the metered units of the engine.

// Schema holds all entities and access patterns of this package.
var Schema = table.MustSchema("eventstore",
	Heads, Pages, ListOf, TypeEntries, Snapshots, PastSnapshots, Marks, Reservations, PersonalReservations, Types, FeedEntries, FeedChunks, FeedHeads, TableRules, TagHeads, TagEntries,
	AppendEvents, AppendByPut, PagesFrom, PagesBackwards, SnapshotByID, PastSnapshotsBackwards, HeadByID, EventsOfType, AggregatesOfType, AggregatesOfShard, AggregatesByID, AggregatesByIDBackwards, MarkByID, ReservationByValue, ReservationsOf, AllTypes,
	FeedFrom, FeedHeadNow, RulesNow, EventsOfTag, tagHeadsNow, ProjectChanges,
	fold.Schema,
	annotations,
)

// AppendEvents is the transaction of Append: the head with the events, at which concurrent writers
// conflict, the entry for the feed, and where needed a page, the entry in the list of aggregates,
// and the mark of an append with a commit ID.
var AppendEvents = table.NewOperation(Heads, table.OperationDef{
	ID: "E1", Question: "append events at an expected version", Operation: "TransactWriteItems",
	Condition: "head: absent, or currentSeqNum = n and open; page: absent, or not as long; mark: absent",
	Load:      table.Load{PerSecond: 17, Items: 2, ItemBytes: 2500},
	Example:   exampleAppend("1001", Options{}),
})

// AppendByPut is the append in put mode. The head is written last, so that the append has happened
// when it is there.
var AppendByPut = table.NewOperation(Heads, table.OperationDef{
	ID: "E1b", Question: "append events without a transaction (put mode)", Operation: "UpdateItem",
	Condition: "head: absent, or currentSeqNum = n and open; page: absent, or not as long",
	Load:      table.Load{PerSecond: 17, Items: 1, ItemBytes: 2500},
	Example:   exampleAppend("1002", Options{PutMode: true}),
})

func exampleAppend(id string, o Options) func(context.Context, *table.Table) error {
	return func(ctx context.Context, t *table.Table) error {
		s, err := New(t, o)
		if err != nil {
			return err
		}
		s.agreed.Store(o.PutMode)          // examples of both modes share a table
		s.ids = ulid.Monotonic(zeros{}, 1) // the documents show the bytes of records
		_, err = s.Append(ctx, ID{Type: "order", ID: id}, NoStream(), []NewEvent{{Type: "OrderPlaced", Payload: []byte(`{"total":"12.50"}`)}}, CommitID("place-"+id))
		return err
	}
}

// zeros is a source of IDs that are the same each time.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// EndOfStream is greater than any event's number: keys have twelve digits for it.
const EndOfStream = 999_999_999_999

// PagesIn selects the pages of an aggregate whose first events are in [From, To).
type PagesIn struct {
	ID
	From int64 `dynamodbav:"from"`
	To   int64 `dynamodbav:"to"`
}

// PagesFrom queries the pages of an aggregate in order. Store.Read also reads the head, and detects
// holes.
var PagesFrom = table.NewQuery(Pages, table.QueryDef[PagesIn]{
	ID: "E2", Question: "the events of an aggregate from a sequence number on, except the last ones",
	From: "PAGE#{from:012}", To: "PAGE#{to:012}",
	Load: table.Load{PerSecond: 3, Items: 1, ItemBytes: 4500},
})

// PagesBackwards queries the pages of an aggregate, last first. The first one is the page with the
// event before To.
var PagesBackwards = table.NewQuery(Pages, table.QueryDef[PagesIn]{
	ID: "E3", Question: "the page with an event of an aggregate, and those before it", Desc: true,
	From: "PAGE#{from:012}", To: "PAGE#{to:012}",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 4500},
})

// SnapshotByID reads the snapshot of an aggregate.
var SnapshotByID = table.NewGet[SnapshotKey](Snapshots, table.GetDef{
	ID: "E4", Question: "the snapshot of an aggregate", Load: table.Load{PerSecond: 10, Items: 1, ItemBytes: 2000},
})

// HeadByID reads the head of a stream.
var HeadByID = table.NewGet[ID](Heads, table.GetDef{
	ID: "E5", Question: "the version of an aggregate and its last events", Load: table.Load{PerSecond: 15, Items: 1, ItemBytes: 2500},
})

// TypeIn selects the events of a type from an event ID on; "" means all. Shards is the number of
// partitions of the type, see Store.TypeShards.
type TypeIn struct {
	EventType string `dynamodbav:"eventType"`
	From      string `dynamodbav:"from"`
	To        string `dynamodbav:"to"`
	Shards    int    `dynamodbav:"-"`
}

// EventsOfType queries the index for the events of a type over all aggregates by event ID, which
// orders them by time. Store.Resolve reads the events. A fold writes the index, and IDs are created
// before the append, so new events may appear before the end; Feed misses none.
var EventsOfType = table.NewQuery(TypeEntries, table.QueryDef[TypeIn]{
	ID: "E6", Question: "the events of a type across aggregates, in time order",
	From: "EVENT#{from}", To: "EVENT#{to}",
	FanOut: "shard", Over: func(in TypeIn) []int { return upTo(max(in.Shards, 1)) },
	Load: table.Load{PerSecond: 0.1, Items: 100, ItemBytes: 200},
})

// AggregatesIn selects a type of aggregates.
type AggregatesIn struct {
	Type string `dynamodbav:"type"`
}

// AggregatesOfType queries the list of all aggregates of a type, by ID. Store.HeadsOfType also reads
// their heads.
var AggregatesOfType = table.NewQuery(ListOf, table.QueryDef[AggregatesIn]{
	ID: "E8", Question: "the aggregates of a type",
	FanOut: "shard", Over: func(AggregatesIn) []int { return upTo(HeadShards) },
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 150},
})

// AggregatesFrom selects the aggregates of a type in one of the HeadShards parts of their list,
// from an ID on; "" means all.
type AggregatesFrom struct {
	Type  string `dynamodbav:"type"`
	Shard int    `dynamodbav:"shard"`
	From  string `dynamodbav:"from"`
	To    string `dynamodbav:"to"`
}

// AggregatesOfShard queries a part of the list of a type's aggregates by ID, for work that is
// divided and resumed.
var AggregatesOfShard = table.NewQuery(ListOf, table.QueryDef[AggregatesFrom]{
	ID: "E8b", Question: "the aggregates of a type in a range of IDs",
	From: "AGGREGATE#{from}", To: "AGGREGATE#{to}",
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 150},
})

// AggregatesBetween selects the aggregates of a type with IDs in [From, To); "" leaves an end open.
type AggregatesBetween struct {
	Type string `dynamodbav:"type"`
	From string `dynamodbav:"from"`
	To   string `dynamodbav:"to"`
}

// AggregatesByID queries the list of a type's aggregates in a range of IDs, by ID.
var AggregatesByID = table.NewQuery(ListOf, table.QueryDef[AggregatesBetween]{
	ID: "E8c", Question: "the aggregates of a type whose IDs are in a range, such as those with a prefix",
	From: "AGGREGATE#{from}", To: "AGGREGATE#{to}",
	FanOut: "shard", Over: func(AggregatesBetween) []int { return upTo(HeadShards) },
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 150},
})

// AggregatesByIDBackwards queries the list of a type's aggregates in a range of IDs, last first.
var AggregatesByIDBackwards = table.NewQuery(ListOf, table.QueryDef[AggregatesBetween]{
	ID: "E8d", Question: "the aggregates of a type whose IDs are in a range, last first", Desc: true,
	From: "AGGREGATE#{from}", To: "AGGREGATE#{to}",
	FanOut: "shard", Over: func(AggregatesBetween) []int { return upTo(HeadShards) },
	Load: table.Load{PerSecond: 0.01, Items: 1000, ItemBytes: 150},
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
