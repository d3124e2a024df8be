package eventstore

import (
	"time"

	"github.com/onefold/onefold/table"
)

// HeadShards is the number of partitions of the list of a type's aggregates. It is part of stored
// keys and must never change.
const HeadShards = 4

const aggregatePK = "AGGREGATE#{type}#{id}"

// Growth assumes appends of one event, to aggregates of ten, without a fold delay and with one of
// 30 seconds. A test compares it with the metered units of the engine.

// flushesPerSecond is how often a worker writes derived items, however many appends there are.
const flushesPerSecond = 4

// Heads holds the version and state of streams, and their last events.
var Heads = table.Define[Head, ID]("eventstore.head", table.Def[Head]{
	PK: aggregatePK, SK: "#METADATA", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole, Updates: table.Whole}},
	Example: exampleHead,
	Doc:     "The version of an aggregate's stream, whether the stream is open, and its last events.",
	Growth:  table.Growth{Writes: 1, Items: 0.1, Bytes: 2500, Transact: true},
})

// PageKey names a page by the number of its first event.
type PageKey struct {
	ID
	First int64 `dynamodbav:"first"`
}

// Page holds consecutive events of an aggregate that are not in its head any more, or never were.
type Page struct {
	PageKey
	Last int64 `dynamodbav:"last"` // number of the last event
	// Direct is set if the page was written by the append of its events, which was too large for
	// the head. The events of other pages were in the head before.
	Direct  bool     `dynamodbav:"direct,omitempty"`
	Records []Record `dynamodbav:"events"`
}

// Pages holds the events before those in heads.
var Pages = table.Define[Page, PageKey]("eventstore.page", table.Def[Page]{
	PK: aggregatePK, SK: "PAGE#{first:012}", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	Example: examplePage,
	Doc:     "Consecutive events of an aggregate. Events never change and do not expire.",
	Growth:  table.Growth{Writes: 0.01, Items: 0.01, Bytes: 4500, Transact: true}, // most aggregates end before
})

// ListedKey names an aggregate in the list of its type.
type ListedKey struct {
	ID
	Shard int `dynamodbav:"shard"` // partition of the list; a function of the ID
}

// Listed lists an aggregate by type. It is written with the first append, or just before it in put
// mode: then the aggregate may have no events.
type Listed struct {
	ListedKey
	CreatedAt time.Time `dynamodbav:"createdAt"`
}

// ListOf holds the lists of aggregates.
var ListOf = table.Define[Listed, ListedKey]("eventstore.listed", table.Def[Listed]{
	PK: "AGGREGATE_TYPE#{type}#{shard}", SK: "AGGREGATE#{id}", Access: table.Access{Ingest: table.Rights{Puts: table.Whole}},
	Doc:    "An aggregate in the list of its type.",
	Growth: table.Growth{Writes: 0.1, Items: 0.1, Bytes: 150, Transact: true},
})

// ListKey returns the key of an aggregate in the list of its type.
func ListKey(id ID) ListedKey { return ListedKey{id, table.Shard(id.ID, HeadShards)} }

// TypeEntryKey names an event in the index by event type.
type TypeEntryKey struct {
	EventType string `dynamodbav:"eventType"`
	Shard     int    `dynamodbav:"shard"`
	EventID   string `dynamodbav:"eventId"`
}

// TypeEntry is an event in the index by event type.
type TypeEntry struct {
	TypeEntryKey
	ID
	Seq  int64 `dynamodbav:"seqNum"`
	Page int64 `dynamodbav:"page,omitempty"` // first event of its page; 0: unknown
}

// TypeEntries holds the index by event type.
var TypeEntries = table.Define[TypeEntry, TypeEntryKey]("eventstore.typeentry", table.Def[TypeEntry]{
	PK: "EVENT_TYPE#{eventType}[#{shard}]", SK: "EVENT#{eventId}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Example: exampleTypeEntry,
	Doc:     "Where an event of a type is.",
	Growth:  table.Growth{Writes: 1, Items: 1, Bytes: 200},
})

// SnapshotKey names the snapshot of an aggregate.
type SnapshotKey struct{ ID }

// Snapshot is the state of an aggregate after one of its events, so that loads need not replay
// earlier ones.
type Snapshot struct {
	SnapshotKey
	LastSeq int64     `dynamodbav:"lastSeqNum"`
	Reducer int       `dynamodbav:"reducer"` // version of the fold that computed it
	State   Payload   `dynamodbav:"state"`
	MadeAt  time.Time `dynamodbav:"madeAt"`
}

// Snapshots holds states that can be recomputed.
var Snapshots = table.Define[Snapshot, SnapshotKey]("eventstore.snapshot", table.Def[Snapshot]{
	PK: aggregatePK, SK: "#SNAPSHOT", MaxBytes: maxItemBytes,
	Example: exampleSnapshot,
	Doc:     "The state of an aggregate after one of its events.",
})

// MarkKey names an append by its caller's commit ID.
type MarkKey struct {
	ID
	CommitID string `dynamodbav:"commitId"`
}

// Mark records the events of an append with a commit ID, so that a repeated append is recognized,
// whatever was appended since and whatever version it expects.
type Mark struct {
	MarkKey
	First  int64  `dynamodbav:"first"`
	N      int    `dynamodbav:"n"`
	Parts  int    `dynamodbav:"parts,omitempty"`  // aggregates of the append; 0: unknown
	Digest []byte `dynamodbav:"digest,omitempty"` // hash of the events' content, to detect reuse of the ID; nil: unknown
	Sealed []byte `dynamodbav:"sealed,omitempty"` // hash of their sealed fields, with the persons' keys; nil: none, or unknown
}

// Marks holds appends by commit ID.
var Marks = table.Define[Mark, MarkKey]("eventstore.mark", table.Def[Mark]{
	PK: aggregatePK, SK: "COMMIT#{commitId}", Immutable: true, Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	Doc: "The events that an append stored, by commit ID.",
})

// ReservationKey names a reserved value, such as an address in the scope email. Value is a hash
// with the table's secret, because values may have any length and may identify people.
type ReservationKey struct {
	Scope string `dynamodbav:"scope"`
	Value string `dynamodbav:"value"` // HMAC-SHA-256 in hex
}

// Reservation records the owner of a value.
type Reservation struct {
	ReservationKey
	Owner   string    `dynamodbav:"owner"`             // type/id
	Subject string    `dynamodbav:"subject,omitempty"` // person that the value is about
	At      time.Time `dynamodbav:"at"`
}

// Reservations holds values that only one aggregate may have.
var Reservations = table.Define[Reservation, ReservationKey]("eventstore.reservation", table.Def[Reservation]{
	PK: "UNIQUE#{scope}#{value}", SK: "RESERVATION", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole, Deletes: table.Whole}},
	Doc: "A value that only one aggregate may have, and which aggregate has it.",
})

// PersonalReservationKey names a reserved value about a person.
type PersonalReservationKey struct {
	Subject string `dynamodbav:"subject"`
	ReservationKey
}

// PersonalReservation lists a value by person, so that it can be released when the person is
// erased.
type PersonalReservation struct{ PersonalReservationKey }

// PersonalReservations holds the reserved values by person.
var PersonalReservations = table.Define[PersonalReservation, PersonalReservationKey]("eventstore.personalreservation", table.Def[PersonalReservation]{
	PK: "SUBJECT#{subject}", SK: "RESERVATION#{scope}#{value}", Access: table.Access{Ingest: table.Rights{Puts: table.Whole, Deletes: table.Whole}},
	Doc: "A reserved value with data of a person, by person.",
})
