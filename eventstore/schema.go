package eventstore

import (
	"time"

	"github.com/onefold/onefold/table"
)

// HeadShards is over how many partitions the aggregates of a type are listed. It is part of stored keys and never changes.
const HeadShards = 4

const aggregatePK = "AGGREGATE#{type}#{id}"

// Growth is that of appends of one event each, to aggregates of ten: without a fold delay, and with one of 30 seconds. A test holds it to
// what the engine meters.

// flushesPerSecond is how often a worker writes what it derives of appends, however many there are.
const flushesPerSecond = 4

// Heads are what is known of streams without reading them.
var Heads = table.Define[Head, ID]("eventstore.head", table.Def[Head]{
	PK: aggregatePK, SK: "#METADATA",
	Indexes: []table.Index[Head]{{Name: "gsi1", PK: "AGGREGATE_TYPE#{type}#{shard}", SK: "AGGREGATE#{id}"}},
	Example: exampleHead,
	Doc:     "The version of an aggregate's stream, and whether it is open.",
	Growth:  table.Growth{Writes: 1, Items: 0.1, Bytes: 300, Indexes: 1, Transact: true},
})

// Events are the facts.
var Events = table.Define[Event, EventKey]("eventstore.event", table.Def[Event]{
	PK: aggregatePK, SK: "EVENT#{seqNum:012}",
	Indexes:   []table.Index[Event]{{Name: "gsi1", PK: "EVENT_TYPE#{eventType}[#{shard}]", SK: "EVENT#{eventId}"}},
	Immutable: true,
	MaxBytes:  maxEventBytes,
	Example:   exampleEvent,
	Doc:       "What happened to an aggregate, once and for ever.",
	Growth:    table.Growth{Writes: 1, Items: 1, Bytes: 600, Indexes: 1, Transact: true},
})

// SnapshotKey names the snapshot of an aggregate.
type SnapshotKey struct{ ID }

// Snapshot is the state of an aggregate as it was after an event, so that nobody has to replay those before.
type Snapshot struct {
	SnapshotKey
	LastSeq int64     `dynamodbav:"lastSeqNum"`
	Reducer int       `dynamodbav:"reducer"` // version of what made it of the events
	State   Payload   `dynamodbav:"state"`
	MadeAt  time.Time `dynamodbav:"madeAt"`
}

// Snapshots are states that can be made again.
var Snapshots = table.Define[Snapshot, SnapshotKey]("eventstore.snapshot", table.Def[Snapshot]{
	PK: aggregatePK, SK: "#SNAPSHOT", MaxBytes: maxEventBytes,
	Example: exampleSnapshot,
	Doc:     "The state of an aggregate after one of its events.",
})

// MarkKey names an append by the id that its caller gave it.
type MarkKey struct {
	ID
	CommitID string `dynamodbav:"commitId"`
}

// Mark says which events an append made whose caller gave it an id, so that the same append is found whatever came after
// it, and whatever version it expects the next time.
type Mark struct {
	MarkKey
	First  int64  `dynamodbav:"first"`
	N      int    `dynamodbav:"n"`
	Parts  int    `dynamodbav:"parts,omitempty"`  // aggregates that the append was to; 0: not known
	Digest []byte `dynamodbav:"digest,omitempty"` // of what the events say, so that the id is not given to others; none: not known
	Sealed []byte `dynamodbav:"sealed,omitempty"` // the same of what of them is sealed, with the keys of the persons; none: nothing is, or not known
}

// Marks are appends by the ids that their callers gave them.
var Marks = table.Define[Mark, MarkKey]("eventstore.mark", table.Def[Mark]{
	PK: aggregatePK, SK: "COMMIT#{commitId}", Immutable: true,
	Doc: "Which events an append made, by the id that its caller gave it.",
})

// ReservationKey names a value that only one aggregate may have, such as an address in the scope email. Value is a hash with the secret of the table:
// values may be of any length, and name people.
type ReservationKey struct {
	Scope string `dynamodbav:"scope"`
	Value string `dynamodbav:"value"` // HMAC-SHA-256 in hex
}

// Reservation says whose a value is.
type Reservation struct {
	ReservationKey
	Owner   string    `dynamodbav:"owner"`             // type/id
	Subject string    `dynamodbav:"subject,omitempty"` // the person whom the value is about
	At      time.Time `dynamodbav:"at"`
}

// Reservations are values that only one aggregate may have.
var Reservations = table.Define[Reservation, ReservationKey]("eventstore.reservation", table.Def[Reservation]{
	PK: "UNIQUE#{scope}#{value}", SK: "RESERVATION",
	Doc: "A value that only one aggregate may have, and whose it is.",
})

// PersonalReservationKey names a value that is about a person.
type PersonalReservationKey struct {
	Subject string `dynamodbav:"subject"`
	ReservationKey
}

// PersonalReservation says that a value is about a person, so that it can be released when the person is forgotten.
type PersonalReservation struct{ PersonalReservationKey }

// PersonalReservations are the values that are about persons.
var PersonalReservations = table.Define[PersonalReservation, PersonalReservationKey]("eventstore.personalreservation", table.Def[PersonalReservation]{
	PK: "SUBJECT#{subject}", SK: "RESERVATION#{scope}#{value}",
	Doc: "A reserved value that is about a person.",
})
