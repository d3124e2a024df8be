package eventschema

import (
	"time"

	"github.com/onefold/onefold/table"
)

// Key names a schema.
type Key struct {
	EventType string `dynamodbav:"eventType"` // 1 to 128 bytes without '#'
	Version   int    `dynamodbav:"version"`   // of the form of the data, from 1
}

// Record is a schema as it is stored.
type Record struct {
	Key
	Text      string    `dynamodbav:"schema"` // JSON, at most 64 KB
	CreatedAt time.Time `dynamodbav:"createdAt"`
	UpdatedAt time.Time `dynamodbav:"updatedAt"`
}

// Records holds the schemas.
var Records = table.Define[Record, Key]("eventstore.eventschema", table.Def[Record]{
	PK: "EVENTSCHEMAS", SK: "TYPE#{eventType}#VERSION#{version:07}", Access: table.Access{Ingest: table.Rights{Reads: table.Whole}},
	Example: func(r *Record) {
		r.EventType, r.Version, r.Text = "OrderPlaced", 1, `{"type":"object","required":["total"],"properties":{"total":{"type":"number"}}}`
	},
	Doc: "The JSON Schema of a version of an event type.",
})

// VersionsOf queries the schemas of an event type by version.
var VersionsOf = table.NewQuery(Records, table.QueryDef[struct {
	EventType string `dynamodbav:"eventType"`
}]{
	ID: "E20", Question: "the schemas of an event type", Prefix: "TYPE#{eventType}#VERSION#",
	Load: table.Load{PerSecond: 0.5, Items: 1, ItemBytes: 1000},
})

// Tables holds what this package stores. Add it to the schema of the table.
var Tables = table.MustSchema("eventstore.eventschemas", Records, VersionsOf)
