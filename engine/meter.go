package engine

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/internal/capacity"
)

// Meter is the capacity used since the database was opened, in DynamoDB's units.
type Meter struct {
	Tables map[string]TableUse // by table name
}

// The parts of a Meter.
type (
	TableUse  = capacity.TableUse
	EntityUse = capacity.EntityUse
	Use       = capacity.Use
)

// Metered returns the capacity used since the database was opened.
func (db *DB) Metered() Meter {
	m := Meter{Tables: map[string]TableUse{}}
	for name, t := range *db.tables.Load() {
		m.Tables[name] = t.meter.Report()
	}
	return m
}

// meterUse adds to the table's meters.
func (s *schema) meterUse(d capacity.Direction, u capacity.Usage) { s.table.meter.Count(d, s.desc, u) }

// meterChange adds a change to the meters, also under its entity.
func (ch *change) meterChange() {
	ch.s.meterUse(capacity.Writing, ch.use)
	ch.s.table.meter.CountEntity(ch.sortKey(), ch.use)
}

// sortKey returns the text of a sort key of type S, else nothing.
func (ch *change) sortKey() string {
	if s, ok := ch.keyed[ch.s.rng.Name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
