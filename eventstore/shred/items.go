package shred

import (
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

const subjectShards = 4 // number of partitions for the list of subjects; part of stored keys, must never change

// SubjectKey names a subject: a person whom events are about.
type SubjectKey struct {
	Subject string `dynamodbav:"subject"`
}

// Subject has the key of a person, until the person is erased.
type Subject struct {
	SubjectKey
	Wrapped    []byte    `dynamodbav:"key,omitempty"`    // the key, encrypted with the master key; nil: erased
	Master     string    `dynamodbav:"master,omitempty"` // name of the master key
	Shard      int       `dynamodbav:"shard"`            // in the list of subjects; a function of the ID
	CreatedAt  time.Time `dynamodbav:"createdAt"`
	Erased     time.Time `dynamodbav:"forgottenAt,omitempty"` // deletion of the key
	Remade     time.Time `dynamodbav:"remadeAt,omitempty"`    // first completion of all consequences
	Finished   time.Time `dynamodbav:"finishedAt,omitempty"`  // when the change stream had nothing left either
	Aggregates int       `dynamodbav:"aggregates,omitempty"`  // number of aggregates when last erased
}

// Subjects holds the keys of persons.
var Subjects = table.Define[Subject, SubjectKey]("eventstore.subject", table.Def[Subject]{
	PK: "SUBJECT#{subject}", SK: "KEY",
	Indexes: []table.Index[Subject]{{Name: "gsi1", PK: "SUBJECTS#{shard}", SK: "SUBJECT#{subject}"}},
	Doc:     "The encryption key of a person, until the person is erased.",
})

// LinkKey names an aggregate that a subject is in.
type LinkKey struct {
	Subject string `dynamodbav:"subject"`
	eventstore.ID
}

// Link records that a subject is in an aggregate. It is written before the first event, and
// permanent.
type Link struct{ LinkKey }

// Links holds aggregates by subject.
var Links = table.Define[Link, LinkKey]("eventstore.link", table.Def[Link]{
	PK: "SUBJECT#{subject}", SK: "AGGREGATE#{type}#{id}",
	Doc: "An aggregate with data of a person, by person.",
})

// Backlinks holds subjects by aggregate.
var Backlinks = table.Define[Link, LinkKey]("eventstore.backlink", table.Def[Link]{
	PK: "AGGREGATE#{type}#{id}", SK: "SUBJECT#{subject}",
	Doc: "A person with data in an aggregate, by aggregate.",
})

// AggregatesOf queries the aggregates that a subject is in.
var AggregatesOf = table.NewQuery(Links, table.QueryDef[SubjectKey]{
	ID: "E31", Question: "the aggregates with data of a person", Prefix: "AGGREGATE#", Load: table.Load{PerSecond: 0.01, Items: 10, ItemBytes: 150},
})

// SubjectsOf queries the subjects in an aggregate.
var SubjectsOf = table.NewQuery(Backlinks, table.QueryDef[eventstore.ID]{
	ID: "E32", Question: "the persons with data in an aggregate", Prefix: "SUBJECT#", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 150},
})

// SubjectByID reads a subject.
var SubjectByID = table.NewGet[SubjectKey](Subjects, table.GetDef{
	ID: "E33", Question: "the encryption key of a person", Load: table.Load{PerSecond: 5, Items: 1, ItemBytes: 250},
})

// EveryIn selects all subjects.
type EveryIn struct{}

// EverySubject queries all subjects, by ID.
var EverySubject = table.NewQuery(Subjects, table.QueryDef[EveryIn]{
	ID: "E34", Question: "all persons with keys", Index: "gsi1", Prefix: "SUBJECT#",
	FanOut: "shard", Over: func(EveryIn) []int { return []int{0, 1, 2, 3} },
	Load: table.Load{PerSecond: 0.0001, Items: 1000, ItemBytes: 250},
})

// Tables holds all entities and access patterns of this package.
var Tables = table.MustSchema("eventstore.subjects",
	Subjects, Links, Backlinks, MastersInUse, MastersNow, AggregatesOf, SubjectsOf, SubjectByID, EverySubject,
)

// Schema holds those of this package and of package eventstore.
var Schema = table.MustSchema("eventstore.shred", Tables, eventstore.Schema)
