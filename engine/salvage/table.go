package salvage

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// version is one version of a row, or its deletion.
type version struct {
	key, value []byte
	seq        uint64 // higher is newer
	deleted    bool
}

// erasure is a range of rows deleted together, from start to below end.
type erasure struct {
	start, end []byte
	seq        uint64
}

// tableFile is an open row file.
type tableFile struct{ *sstable.Reader }

func openTable(ctx context.Context, fs vfs.FS, path string, o sstable.ReaderOptions) (*tableFile, error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(ctx, readable, o)
	if err != nil {
		return nil, errors.Join(err, readable.Close())
	}
	return &tableFile{r}, nil
}

// each calls fn for every readable version of a row, and lost for the key ranges of unreadable
// blocks. Errors are those of fn.
func (t *tableFile) each(fn func(version) error, lost func(after, until []byte)) (err error) {
	it, err := t.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		lost(nil, nil)
		return nil
	}
	defer func() { _ = it.Close() }() // repeats errors already handled
	ends := t.blockEnds()
	var last []byte
	for kv := it.First(); ; {
		for ; kv != nil; kv = it.Next() {
			last = append(last[:0], kv.K.UserKey...)
			value, _, err := kv.Value(nil)
			if err != nil {
				lost(last[:len(last)-1], last)
				continue
			}
			v := version{key: last, value: value, seq: uint64(kv.SeqNum())}
			switch kv.Kind() {
			case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
			default:
				v.deleted = true
			}
			if err := fn(v); err != nil {
				return err
			}
		}
		if it.Error() == nil {
			return nil
		}
		n, found := slices.BinarySearchFunc(ends, last, bytes.Compare)
		if found && n+1 < len(ends) && bytes.Equal(ends[n], last) {
			n++
		}
		if n >= len(ends) {
			lost(last, nil)
			return nil
		}
		lost(last, ends[n])
		last = append(last[:0], ends[n]...)
		kv = it.SeekGE(append(ends[n], 0), 0)
		ends = ends[n+1:]
	}
}

// blockEnds returns keys that separate the blocks: no row of a block is above its key, and all rows
// of the next block are. Blocks with an unreadable index are missing.
func (t *tableFile) blockEnds() (ends [][]byte) {
	layout, err := t.Layout()
	if err != nil {
		return nil
	}
	for _, handle := range layout.Index {
		b, err := t.BlockReader().Read(context.Background(), block.NoReadEnv, nil, handle, blockkind.Index, colblk.InitIndexBlockMetadata)
		if err != nil {
			continue
		}
		var index colblk.IndexIter
		if err := index.InitHandle(t.Comparer, b, sstable.NoTransforms); err != nil {
			continue
		}
		for ok := index.First(); ok; ok = index.Next() {
			ends = append(ends, bytes.Clone(index.Separator()))
		}
		_ = index.Close() // only memory
	}
	return ends
}

// erasures returns the ranges deleted together.
func (t *tableFile) erasures(ctx context.Context) (all []erasure, err error) {
	it, err := t.NewRawRangeDelIter(ctx, sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if it == nil || err != nil {
		return nil, err
	}
	defer it.Close()
	for s, err := it.First(); ; s, err = it.Next() {
		if s == nil || err != nil {
			return all, err
		}
		for _, k := range s.Keys {
			all = append(all, erasure{bytes.Clone(s.Start), bytes.Clone(s.End), uint64(k.SeqNum())})
		}
	}
}
