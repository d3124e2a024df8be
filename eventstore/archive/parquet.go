package archive

import (
	"encoding/json"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/onefold/onefold/eventstore"
)

// row is an event in Parquet, for analytical queries. Events are restored from the lines, not from
// Parquet.
type row struct {
	AggregateType string    `parquet:"aggregate_type,dict"`
	AggregateID   string    `parquet:"aggregate_id"`
	Seq           int64     `parquet:"seq,delta"`
	EventID       string    `parquet:"event_id"`
	EventType     string    `parquet:"event_type,dict"`
	Schema        int32     `parquet:"schema"`
	OccurredAt    time.Time `parquet:"occurred_at,timestamp(millisecond)"`
	RecordedAt    time.Time `parquet:"recorded_at,timestamp(millisecond)"`
	Payload       []byte    `parquet:"payload"`
	Correlation   string    `parquet:"correlation_id"`
	Causation     string    `parquet:"causation_id"`
	Actor         string    `parquet:"actor,dict"`
	Tenant        string    `parquet:"tenant,dict"`
	Metadata      string    `parquet:"metadata"` // JSON; "": none
	CommitID      string    `parquet:"commit_id"`
}

// rowGroup is the size of a row group in bytes, which is held in memory.
const rowGroup = 32 << 20

type parquetWriter struct {
	*parquet.GenericWriter[row]
	file *summed
	rows []row
	size int // of the current row group
}

func newParquet(name string) (*parquetWriter, error) {
	f, err := create(name)
	if err != nil {
		return nil, err
	}
	return &parquetWriter{file: f, GenericWriter: parquet.NewGenericWriter[row](f, parquet.Compression(&zstd.Codec{}))}, nil
}

func (w *parquetWriter) event(e *eventstore.Event) error {
	metadata := ""
	if len(e.Metadata) > 0 {
		b, err := json.Marshal(e.Metadata)
		if err != nil {
			return err
		}
		metadata = string(b)
	}
	w.rows = append(w.rows[:0], row{
		AggregateType: e.Type, AggregateID: e.EventKey.ID.ID, Seq: e.Seq, EventID: e.EventID, EventType: e.EventType, Schema: int32(max(e.Schema, 1)),
		OccurredAt: e.OccurredAt, RecordedAt: e.RecordedAt, Payload: e.Payload, Correlation: e.Correlation, Causation: e.Causation,
		Actor: e.Actor, Tenant: e.Tenant, Metadata: metadata, CommitID: e.CommitID,
	})
	if _, err := w.Write(w.rows); err != nil {
		return err
	}
	if w.size += len(e.Payload) + 300; w.size < rowGroup {
		return nil
	}
	w.size = 0
	return w.Flush()
}
