package jobs

import (
	"errors"
	"time"

	"github.com/onefold/onefold/table"
)

// Key identifies the kind and the subject of a job.
type Key struct {
	Kind string `dynamodbav:"kind"` // such as verify
	On   string `dynamodbav:"on"`   // the subject, such as a site's ID
}

// Item is the last published state of a job.
type Item struct {
	Key
	ID        string    `dynamodbav:"id"`   // of the job; a later job on the same subject has another
	UpdatedAt time.Time `dynamodbav:"told"` // time of the last update
	Ended     bool      `dynamodbav:"ended,omitempty"`
	State     []byte    `dynamodbav:"state"` // JSON
}

const (
	every    = 2 * time.Second  // interval of updates
	patience = 30 * time.Second // a job without updates for so long is lost: its server was killed, or cannot reach the table
	keep     = 24 * time.Hour   // how long the result of a job is kept
)

// Jobs has the last job of each kind and subject.
var Jobs = table.Define[Item, Key]("server.job", table.Def[Item]{
	PK: "JOB#{kind}", SK: "ON#{on}", MaxBytes: 64 << 10,
	Expires: func(i *Item) time.Time { return i.UpdatedAt.Add(keep) },
	Doc:     "The progress or result of a long-running job of a server, kept for a day.",
})

// LastJob reads the last job of a kind on a subject. Errors: table.ErrNotFound if there was none
// recently.
var LastJob = table.NewGet[Key](Jobs, table.GetDef{
	ID: "J1", Question: "the progress of a job of one kind on an object",
	Load: table.Load{PerSecond: 0.1, Items: 1, ItemBytes: 600},
})

var jobID = table.FieldOf(Jobs, func(i *Item) *string { return &i.ID })

// Schema has all entities and access patterns of this package.
var Schema = table.MustSchema("jobs", Jobs, LastJob)

// ErrBusy is returned when a job of the kind is running on the same subject, or when this server
// already runs as many as it may.
var ErrBusy = errors.New("jobs: another job is running")

// ErrStopping is returned when the server is stopping.
var ErrStopping = errors.New("jobs: the server is stopping")
