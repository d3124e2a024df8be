package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/inspect"
)

type (
	// Sizes is how large a database is, apart by table, index and stream.
	Sizes = inspect.Sizes
	// TableSize is how large a table is, with its indexes and expiry rows.
	TableSize = inspect.TableSize
	// Size is how large some rows are.
	Size = inspect.Size
)

// Sizes measures the database as it is at the moment of the call; it may be in use. With count it reads all rows, which
// takes as long as reading does. Without, rows and bytes of tables are those that DescribeTable tells, those of the rest
// are -1, and it takes no time.
func (db *DB) Sizes(ctx context.Context, count bool) (_ *Sizes, err error) {
	ctx, done, err := db.operate(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	told := db.counted()
	snap := db.store.NewSnapshot()
	defer func() { err = errors.Join(err, snap.Close()) }()
	s, err := inspect.Measure(ctx, sourceOf(snap), db.diskUsage, count)
	if err != nil {
		return nil, fmt.Errorf("engine: sizes: %w", err)
	}
	for i := range s.Tables {
		if t := &s.Tables[i]; !count {
			t.Rows, t.Bytes = told[t.Name][0], told[t.Name][1]
		}
	}
	return s, nil
}

func (db *DB) diskUsage(lower, upper []byte) (uint64, error) {
	n, err := db.store.EstimateDiskUsage(lower, upper)
	return n, damage.Of(err)
}

// DiskUse is how many bytes files take.
type DiskUse struct {
	Tables int64 `json:"tables"` // of rows that were written out
	Log    int64 `json:"log"`    // of writes, of which those that were written out are dropped later
}

// DiskUse is DiskBytes apart, without what is neither; zero once the database is closed.
func (db *DB) DiskUse() DiskUse {
	call, ok := db.calls.Enter()
	if !ok {
		return DiskUse{}
	}
	defer call.End()
	m := db.store.Metrics()
	return DiskUse{Tables: int64(m.Total().TablesSize), Log: int64(m.WAL.PhysicalSize)}
}

// DiskBytes is how many bytes the database's files take, the log included; 0 once the database is closed.
func (db *DB) DiskBytes() int64 {
	call, ok := db.calls.Enter()
	if !ok {
		return 0
	}
	defer call.End()
	return int64(db.store.Metrics().DiskSpaceUsage())
}

// Compact rewrites the files so that what was deleted or replaced takes no room any more. The database may be in use; it
// is slower meanwhile, and up to twice its size. It is never necessary: compactions go on by themselves as rows are
// written.
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
