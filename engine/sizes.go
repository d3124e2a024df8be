package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/inspect"
)

type (
	// Sizes is the size of a database by table, index and stream.
	Sizes = inspect.Sizes
	// TableSize is the size of a table with its indexes and expiry rows.
	TableSize = inspect.TableSize
	// Size is the size of a set of rows.
	Size = inspect.Size
)

// Sizes returns the sizes of the database at the moment of the call; it may be in use. With count,
// it reads all rows. Without, it returns at once: rows and bytes of tables are those of
// DescribeTable, and others are -1.
func (db *DB) Sizes(ctx context.Context, count bool) (_ *Sizes, err error) {
	ctx, done, err := db.operate(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	counted := db.counted()
	snap := db.store.NewSnapshot()
	defer func() { err = errors.Join(err, snap.Close()) }()
	s, err := inspect.Measure(ctx, sourceOf(snap), db.diskUsage, count)
	if err != nil {
		return nil, fmt.Errorf("engine: sizes: %w", err)
	}
	for i := range s.Tables {
		if t := &s.Tables[i]; !count {
			t.Rows, t.Bytes = counted[t.Name][0], counted[t.Name][1]
		}
	}
	return s, nil
}

func (db *DB) diskUsage(lower, upper []byte) (uint64, error) {
	n, err := db.store.EstimateDiskUsage(lower, upper)
	return n, damage.Of(err)
}

// DiskUse is the size of the database's files in bytes.
type DiskUse struct {
	Tables int64 `json:"tables"` // files of rows
	Log    int64 `json:"log"`    // log of writes; parts whose rows are in files are dropped later
}

// DiskUse returns DiskBytes by type of file, without other files. It is zero once the database is
// closed.
func (db *DB) DiskUse() DiskUse {
	call, ok := db.calls.Enter()
	if !ok {
		return DiskUse{}
	}
	defer call.End()
	m := db.store.Metrics()
	return DiskUse{Tables: int64(m.Total().TablesSize), Log: int64(m.WAL.PhysicalSize)}
}

// DiskBytes returns the total size of the database's files, including the log; 0 once the database
// is closed.
func (db *DB) DiskBytes() int64 {
	call, ok := db.calls.Enter()
	if !ok {
		return 0
	}
	defer call.End()
	return int64(db.store.Metrics().DiskSpaceUsage())
}

// Compact rewrites the files without deleted and replaced rows. The database may be in use; during
// the call it is slower and up to twice its size. Calling Compact is never necessary, because files
// are compacted automatically.
func (db *DB) Compact(ctx context.Context) error {
	ctx, done, err := db.operate(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := db.store.Compact(ctx, []byte{0}, []byte{0xff}, true); err != nil {
		return fmt.Errorf("engine: compact: %w", damage.Of(err))
	}
	return nil
}
