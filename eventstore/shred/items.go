package shred

import (
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

const subjectShards = 4 // over how many partitions subjects are listed; part of stored keys, never changes

// SubjectKey names a subject: a person, whom events are about.
type SubjectKey struct {
	Subject string `dynamodbav:"subject"`
}

// Subject has the key of a person, until the person is forgotten.
type Subject struct {
	SubjectKey
	Wrapped    []byte    `dynamodbav:"key,omitempty"`    // encrypted with the master; none: forgotten
	Master     string    `dynamodbav:"master,omitempty"` // which one
	Shard      int       `dynamodbav:"shard"`            // of the list of subjects; a function of the id
	CreatedAt  time.Time `dynamodbav:"createdAt"`
	Forgotten  time.Time `dynamodbav:"forgottenAt,omitempty"` // when the key was deleted
	Remade     time.Time `dynamodbav:"remadeAt,omitempty"`    // when all that follows from it was done the first time
	Finished   time.Time `dynamodbav:"finishedAt,omitempty"`  // when nothing was left in the change stream either
	Aggregates int       `dynamodbav:"aggregates,omitempty"`  // the person was in, as far as Finished says
}

// Subjects are the keys of persons.
var Subjects = table.Define[Subject, SubjectKey]("eventstore.subject", table.Def[Subject]{
	PK: "SUBJECT#{subject}", SK: "KEY",
	Indexes: []table.Index[Subject]{{Name: "gsi1", PK: "SUBJECTS#{shard}", SK: "SUBJECT#{subject}"}},
	Doc:     "The key of a person in events, until the person is forgotten.",
})

// LinkKey names an aggregate that a subject is in.
type LinkKey struct {
	Subject string `dynamodbav:"subject"`
	eventstore.ID
}

// Link says that a subject is in an aggregate. It is there before the first event is, and stays.
type Link struct{ LinkKey }

// Links are the aggregates of subjects.
var Links = table.Define[Link, LinkKey]("eventstore.link", table.Def[Link]{
	PK: "SUBJECT#{subject}", SK: "AGGREGATE#{type}#{id}",
	Doc: "An aggregate that a person is in.",
})

// Backlinks are the subjects of aggregates.
var Backlinks = table.Define[Link, LinkKey]("eventstore.backlink", table.Def[Link]{
	PK: "AGGREGATE#{type}#{id}", SK: "SUBJECT#{subject}",
	Doc: "A person who is in an aggregate.",
})

// AggregatesOf are the aggregates that a subject is in.
var AggregatesOf = table.NewQuery(Links, table.QueryDef[SubjectKey]{
	ID: "E31", Question: "the aggregates that a person is in", Prefix: "AGGREGATE#", Load: table.Load{PerSecond: 0.01, Items: 10, ItemBytes: 150},
})

// SubjectsOf are the subjects in an aggregate.
var SubjectsOf = table.NewQuery(Backlinks, table.QueryDef[eventstore.ID]{
	ID: "E32", Question: "the persons who are in an aggregate", Prefix: "SUBJECT#", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 150},
})

// SubjectByID is a subject.
var SubjectByID = table.NewGet[SubjectKey](Subjects, table.GetDef{
	ID: "E33", Question: "the key of a person", Load: table.Load{PerSecond: 5, Items: 1, ItemBytes: 250},
})

// EveryIn asks for all.
type EveryIn struct{}

// EverySubject are all subjects, by id.
var EverySubject = table.NewQuery(Subjects, table.QueryDef[EveryIn]{
	ID: "E34", Question: "all persons with keys", Index: "gsi1", Prefix: "SUBJECT#",
	FanOut: "shard", Over: func(EveryIn) []int { return []int{0, 1, 2, 3} },
	Load: table.Load{PerSecond: 0.0001, Items: 1000, ItemBytes: 250},
})

// Schema is all that this package stores and asks, with what it builds on.
var Schema = table.MustSchema("eventstore.shred",
	Subjects, Links, Backlinks, AggregatesOf, SubjectsOf, SubjectByID, EverySubject, eventstore.Schema,
)
