package warehouse

import (
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Column is a column of a dataset's files.
type Column struct {
	Name     string
	Type     string // string, int, bigint, double, boolean, timestamp or binary: the type names of Hive SQL
	Optional bool   // whether it may be null
}

// Columns returns the columns of a dataset's files, in order. Two columns of text are missing,
// because they are in the path: Dataset.Column, and date.
func (d Dataset) Columns() []Column {
	schemas := map[Dataset]*parquet.Schema{
		Events: parquet.SchemaOf(EventRow{}), Readings: parquet.SchemaOf(ReadingRow{}), DomainEvents: parquet.SchemaOf(DomainEventRow{}),
	}
	schema, ok := schemas[d]
	if !ok {
		return nil
	}
	var all []Column
	for _, f := range schema.Fields() {
		all = append(all, Column{Name: f.Name(), Type: typeOf(f), Optional: f.Optional()})
	}
	return all
}

func typeOf(f parquet.Field) string {
	logical, kind := f.Type().LogicalType(), f.Type().Kind()
	if logical != nil {
		switch logical.Value.(type) {
		case *format.TimestampType:
			return "timestamp"
		case *format.StringType:
			return "string"
		}
	}
	switch {
	case kind == parquet.Boolean:
		return "boolean"
	case kind == parquet.Int32:
		return "int"
	case kind == parquet.Int64:
		return "bigint"
	case kind == parquet.Double:
		return "double"
	}
	return "binary"
}
