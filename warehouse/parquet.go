package warehouse

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// extension is the file name extension of files of rows.
const extension = ".parquet"

// groupRows is the number of rows in a row group. A writer keeps one group in memory, and a reader
// that looks for a time skips whole groups. batchRows is the number of rows that are read or
// written at once.
const (
	groupRows = 100_000
	batchRows = 256
)

// form reads and writes the rows of one dataset.
type form interface {
	write(w io.Writer, rows iter.Seq2[Row, error]) error
	// read yields the rows with times in [from, to]. It yields other rows too: only row groups
	// without any such row are skipped. Yielded rows stay valid.
	read(f *parquet.File, from, to int64) iter.Seq2[Row, error]
}

// forms has the forms of the datasets' rows. keyForms has forms that read only the keys.
var (
	forms = map[Dataset]form{
		Events: formOf[EventRow, *EventRow]{}, Readings: formOf[ReadingRow, *ReadingRow]{}, DomainEvents: formOf[DomainEventRow, *DomainEventRow]{},
	}
	keyForms = map[Dataset]form{
		Events: formOf[eventKeys, *eventKeys]{}, Readings: formOf[readingKeys, *readingKeys]{}, DomainEvents: formOf[domainEventKeys, *domainEventKeys]{},
	}
)

type formOf[T any, P interface {
	*T
	Row
}] struct{}

func (formOf[T, P]) write(w io.Writer, rows iter.Seq2[Row, error]) error {
	out := parquet.NewGenericWriter[T](w, parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}), parquet.MaxRowsPerRowGroup(groupRows),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("time"))), parquet.CreatedBy("onefold", "", ""))
	batch := make([]T, 0, batchRows)
	flush := func() error {
		_, err := out.Write(batch)
		batch = batch[:0]
		return err
	}
	for r, err := range rows {
		if err != nil {
			return err
		}
		p, ok := r.(P)
		if !ok {
			return fmt.Errorf("warehouse: write: a row is a %T", r)
		}
		if batch = append(batch, *p); len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return fmt.Errorf("warehouse: write: %w", err)
			}
		}
	}
	if err := flush(); err != nil {
		return fmt.Errorf("warehouse: write: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("warehouse: write: %w", err)
	}
	return nil
}

func (formOf[T, P]) read(f *parquet.File, from, to int64) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, group := range f.RowGroups() {
			if outside(group, from, to) {
				continue
			}
			if more, err := eachRow(group, func(r *T) bool { return yield(P(r), nil) }); err != nil {
				yield(nil, err)
				return
			} else if !more {
				return
			}
		}
	}
}

// eachRow reads the rows of a group until do returns false.
func eachRow[T any](group parquet.RowGroup, do func(*T) bool) (more bool, err error) {
	in := parquet.NewGenericRowGroupReader[T](group)
	defer func() { err = errors.Join(err, in.Close()) }()
	for {
		batch := make([]T, batchRows) // a new batch each time, because the caller may keep the rows
		n, err := readBatch(in, batch)
		for i := range batch[:n] {
			if !do(&batch[i]) {
				return false, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("%w: read rows: %w", ErrDamaged, err)
		}
	}
}

// readBatch reads rows. Bytes that make the Parquet reader panic give an error.
func readBatch[T any](in *parquet.GenericReader[T], batch []T) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			n, err = 0, fmt.Errorf("not Parquet: %v", r)
		}
	}()
	return in.Read(batch)
}

// outside reports whether a group certainly has no row with a time in [from, to]. The rows of a
// group are sorted by time.
func outside(group parquet.RowGroup, from, to int64) bool {
	leaf, ok := group.Schema().Lookup("time")
	if !ok {
		return false
	}
	index, err := group.ColumnChunks()[leaf.ColumnIndex].ColumnIndex()
	if err != nil || index.NumPages() == 0 {
		return false
	}
	least, most := index.MinValue(0).Int64(), index.MaxValue(index.NumPages()-1).Int64()
	return most < from || least > to
}
