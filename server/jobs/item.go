package jobs

import (
	"errors"
	"time"

	"github.com/onefold/onefold/table"
)

// Key names what a job works on.
type Key struct {
	Kind string `dynamodbav:"kind"` // such as verify
	On   string `dynamodbav:"on"`   // such as a site's id
}

// Item is what a job has told last.
type Item struct {
	Key
	ID    string    `dynamodbav:"id"`   // of the job; another one may follow on the same thing
	Told  time.Time `dynamodbav:"told"` // when
	Ended bool      `dynamodbav:"ended,omitempty"`
	State []byte    `dynamodbav:"state"` // JSON
}

const (
	every    = 2 * time.Second  // how often a job tells how far it is
	patience = 30 * time.Second // with one that is silent; its server was killed, or has lost the table
	keep     = 24 * time.Hour   // how long it is told how a job ended
)

// Jobs are the last jobs on each thing.
var Jobs = table.Define[Item, Key]("server.job", table.Def[Item]{
	PK: "JOB#{kind}", SK: "ON#{on}", MaxBytes: 64 << 10,
	Expires: func(i *Item) time.Time { return i.Told.Add(keep) },
	Doc:     "How far long work of a server is, or how it ended, for a day.",
})

// LastJob is the last job of a kind on a thing. Error: table.ErrNotFound when there was none of late.
var LastJob = table.NewGet[Key](Jobs, table.GetDef{
	ID: "J1", Question: "how far the work of a kind on a thing is",
	Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 600},
})

var jobID = table.FieldOf(Jobs, func(i *Item) *string { return &i.ID })

// Schema is all that this package stores and asks.
var Schema = table.MustSchema("jobs", Jobs, LastJob)

// ErrBusy says that a job of the kind is under way on the same thing, or that this server has as many as it does at a time.
var ErrBusy = errors.New("jobs: one is under way")

// ErrStopping says that the server ends.
var ErrStopping = errors.New("jobs: the server is stopping")
