package engine

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/layout"
	"github.com/onefold/onefold/engine/internal/row"
)

// Meter is the capacity consumed since the database was opened, in DynamoDB's units.
type Meter struct {
	Tables map[string]TableUse // by table name
}

// The parts of a Meter.
type (
	TableUse  = capacity.TableUse
	EntityUse = capacity.EntityUse
	Use       = capacity.Use
	KeyUse    = capacity.KeyUse
)

// Names in TableUse.Prefixes for reads and writes without a prefix of their own: keys without a
// '#', Scans, and prefixes beyond the first 255 of a table.
const (
	NoPrefix    = capacity.NoPrefix
	ScanPrefix  = capacity.ScanPrefix
	OtherPrefix = capacity.OtherPrefix
)

// DynamoDB's limits for one partition, in units per second. A key of TableUse.Hottest with a higher
// peak would be throttled no matter what capacity the table has.
const (
	PartitionReadUnits  = capacity.PartitionReadUnits
	PartitionWriteUnits = capacity.PartitionWriteUnits
)

// Metered returns the capacity consumed since the database was opened.
func (db *DB) Metered() Meter {
	m := Meter{Tables: map[string]TableUse{}}
	for name, t := range *db.tables.Load() {
		if s := t.schema.Load(); s != nil {
			m.Tables[name] = t.meter.Report(s.desc, db.now().Unix())
		}
	}
	return m
}

// meterRead adds a read to the table's meters: for the partition of the row, in the table or in
// index x, or for many partitions if rowKey is too short to identify one. second is the time in
// seconds since 1970.
func (s *schema) meterRead(second int64, x *layout.Index, rowKey []byte, u capacity.Usage) {
	at := capacity.Access{Primary: rowKey[row.ItemPrefixLen:], Second: second}
	if x != nil {
		at.Index, at.Primary = 1+x.Ordinal, rowKey[len(x.Prefix):]
	}
	s.table.meter.Count(capacity.Reading, s.desc, at, 1, u)
}

// meterChange adds a change to the table's meters, including that of its entity.
func (ch *change) meterChange(second int64) {
	meter := ch.s.table.meter
	meter.Count(capacity.Writing, ch.s.desc, capacity.Access{Primary: ch.primary(), Second: second}, 1, ch.use)
	meter.CountEntity(ch.sortKey(), ch.use)
}

// meterEntry adds a change of an index entry to the heat of its partition, or of its former
// partition if it is removed.
func (ch *change) meterEntry(x *layout.Index, was, is capacity.Row, halves, second int64) {
	if halves == 0 {
		return
	}
	key := is.Key
	if key == nil {
		key = was.Key
	}
	ch.s.table.meter.CountEntry(capacity.Access{Primary: key[len(x.Prefix):], Index: 1 + x.Ordinal, Second: second}, halves)
}

// sortKey returns a sort key of type S, or "" for other types.
func (ch *change) sortKey() string {
	if s, ok := ch.keyed[ch.s.Range.Name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
