// Package fleetparquet writes the answers to queries of fleets as Parquet. It is apart so that programs
// without such queries, such as functions, need not contain the library.
package fleetparquet

import (
	"io"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/onefold/onefold/telemetry/query"
)

// row is a row in Parquet. Numbers are doubles; the text has all digits.
type row struct {
	Group string    `parquet:"group,dict"`
	At    time.Time `parquet:"at,timestamp(millisecond)"`
	State string    `parquet:"state,dict,optional"`
	Value *float64  `parquet:"value,optional"`
	Text  string    `parquet:"text"`
}

// Write writes rows as a Parquet file. Errors: those of the writer.
func Write(file io.Writer, rows []query.Row) error {
	w := parquet.NewGenericWriter[row](file, parquet.Compression(&parquet.Zstd))
	for i := range rows {
		r := &rows[i]
		one := row{Group: r.Group, At: r.At, State: r.State, Text: r.Value.String()}
		if r.Value.IsNumber() {
			f := r.Value.Float()
			one.Value = &f
		}
		if _, err := w.Write([]row{one}); err != nil {
			return err
		}
	}
	return w.Close()
}
