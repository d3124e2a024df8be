package warehouse

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/onefold/onefold/eventstore"
)

// DomainEventRow is an event of an aggregate. Its aggregate type is also in the path. Sealed fields
// stay sealed.
type DomainEventRow struct {
	Time          int64   `parquet:"time,timestamp(millisecond),delta"` // when it was recorded
	OccurredAt    int64   `parquet:"occurred_at,timestamp(millisecond)"`
	EventID       string  `parquet:"event_id"`
	AggregateType string  `parquet:"aggregate_type,dict"`
	AggregateID   string  `parquet:"aggregate_id,dict"`
	Seq           int64   `parquet:"seq"`
	Schema        int32   `parquet:"schema,dict"`
	Data          *string `parquet:"data,optional"`
	Binary        []byte  `parquet:"binary,optional"`
	CorrelationID string  `parquet:"correlation_id,dict"`
	CausationID   string  `parquet:"causation_id,dict"`
	Actor         string  `parquet:"actor,dict"`
	Tenant        string  `parquet:"tenant,dict"`
	Metadata      string  `parquet:"metadata,optional"`
	Tags          string  `parquet:"tags,optional"`
	CommitID      string  `parquet:"commit_id,dict"`
	Nth           int32   `parquet:"nth"`
	Of            int32   `parquet:"of"`
}

// Key orders events by the time when they were recorded, and by ID.
func (r *DomainEventRow) Key() Key { return Key{At: r.Time, ID: r.EventID} }

// Expires returns 0, which means never: the table keeps events until they are truncated, and the
// warehouse keeps them even then.
func (r *DomainEventRow) Expires() int64 { return 0 }

type domainEventKeys struct {
	Time    int64  `parquet:"time,timestamp(millisecond),delta"`
	EventID string `parquet:"event_id"`
}

func (r *domainEventKeys) Key() Key       { return Key{At: r.Time, ID: r.EventID} }
func (r *domainEventKeys) Expires() int64 { return 0 }

// NewDomainEventRow returns the row of an event of an aggregate.
func NewDomainEventRow(e *eventstore.Event) (*DomainEventRow, error) {
	r := &DomainEventRow{
		Time: e.RecordedAt.UnixMilli(), OccurredAt: e.OccurredAt.UnixMilli(), EventID: e.EventID,
		AggregateType: e.Type, AggregateID: e.EventKey.ID.ID, Seq: e.Seq, Schema: int32(max(e.Schema, 1)),
		CorrelationID: e.Correlation, CausationID: e.Causation, Actor: e.Actor, Tenant: e.Tenant,
		CommitID: e.CommitID, Nth: int32(e.Nth), Of: int32(e.Of),
	}
	if payload := string(e.Payload); utf8.ValidString(payload) && len(payload) > 0 {
		r.Data = &payload
	} else if len(payload) > 0 {
		r.Binary = e.Payload
	}
	if len(e.Tags) > 0 {
		b, err := json.Marshal(e.Tags)
		if err != nil {
			return nil, err
		}
		r.Tags = string(b)
	}
	var err error
	r.Metadata, err = object(e.Metadata)
	return r, err
}
