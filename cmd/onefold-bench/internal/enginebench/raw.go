package enginebench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// raw is Pebble on a copy of the engine's files, without the engine: the same rows of the same
// sizes.
type raw struct {
	store *pebble.DB
	keys  [][]byte // keys of items, evenly spread over the table
	heads [][]byte // keys of the first items of partitions
	write []sample // rows of one put: item, index row, stream record
}

// sample is a row to be written again under other keys.
type sample struct{ key, value []byte }

// First bytes of keys, from docs/format/engine.md.
const (
	spaceItem   = 0x10
	spaceIndex  = 0x20
	spaceRecord = 0x30
)

// cloneStore copies a closed database. Its table files never change, so they are hard links.
func cloneStore(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if filepath.Ext(e.Name()) == ".sst" && os.Link(source, target) == nil {
			continue
		}
		if err := copyFile(source, target); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

// openRaw opens Pebble with the options of the engine.
func openRaw(dir string) (*raw, error) {
	const memTable = 32 << 20
	o := &pebble.Options{
		CacheSize: 64<<20 + 3*memTable, MemTableSize: memTable, MemTableStopWritesThreshold: 3,
		L0CompactionThreshold: 4, L0StopWritesThreshold: 20, LBaseMaxBytes: 128 << 20, BytesPerSync: 1 << 20,
		FormatMajorVersion:         pebble.FormatTableFormatV6,
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
		Logger:                     quiet{},
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		o.Levels[i].BlockSize, o.Levels[i].IndexBlockSize = 16<<10, 256<<10
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.FastestCompression }
	}
	store, err := pebble.Open(dir, o)
	if err != nil {
		return nil, fmt.Errorf("enginebench: open the reference: %w", err)
	}
	r := &raw{store: store}
	if err := r.sample(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return r, nil
}

func (r *raw) close() error { return r.store.Close() }

// sampled is the number of partitions, and of items, that are read in turn.
const sampled = 10_000

// sample reads the requested keys, and a row of each kind.
func (r *raw) sample() error {
	it, err := r.store.NewIter(&pebble.IterOptions{LowerBound: []byte{spaceItem}, UpperBound: []byte{spaceItem + 1}})
	if err != nil {
		return err
	}
	n := 0
	for ok := it.First(); ok && len(r.heads) < sampled; ok = it.Next() {
		if n%perPartition == 0 {
			r.heads = append(r.heads, clone(it.Key()))
		}
		if n%7 == 0 && len(r.keys) < sampled {
			r.keys = append(r.keys, clone(it.Key()))
		}
		n++
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	for _, space := range []byte{spaceItem, spaceIndex, spaceRecord} {
		s, err := r.first(space)
		if err != nil {
			return err
		}
		r.write = append(r.write, s)
	}
	return nil
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

func (r *raw) first(space byte) (sample, error) {
	it, err := r.store.NewIter(&pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}})
	if err != nil {
		return sample{}, err
	}
	if !it.First() {
		return sample{}, errors.Join(fmt.Errorf("enginebench: the table has no row of kind %#x", space), it.Error(), it.Close())
	}
	v, err := it.ValueAndErr()
	s := sample{clone(it.Key()), clone(v)}
	return s, errors.Join(err, it.Close())
}

// put writes the rows of several puts in one synced batch. Calls with different IDs write different
// keys.
func (r *raw) put(id uint64, puts int) error {
	b := r.store.NewBatch()
	for i := range puts {
		for _, s := range r.write {
			op := b.SetDeferred(len(s.key), len(s.value))
			copy(op.Key, s.key)
			spread := (id*uint64(puts) + uint64(i)) * 0x9e3779b97f4a7c15
			if s.key[0] == spaceRecord {
				spread = 1<<62 + id*uint64(puts) + uint64(i) // records are appended
				binary.BigEndian.PutUint64(op.Key[9:], spread)
			} else {
				binary.BigEndian.PutUint64(op.Key[len(op.Key)-9:], spread)
			}
			copy(op.Value, s.value)
			if err := op.Finish(); err != nil {
				return errors.Join(err, b.Close())
			}
		}
	}
	return errors.Join(b.Commit(pebble.Sync), b.Close())
}

// get reads the row of an item.
func (r *raw) get(key []byte) error {
	_, closer, err := r.store.Get(key)
	if err != nil {
		return err
	}
	return closer.Close()
}

// errShort is returned if there are fewer rows than expected.
var errShort = errors.New("enginebench: a partition of the reference is short")

// iterate reads so many rows from a key on.
func (r *raw) iterate(from []byte, rows int) error {
	it, err := r.store.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: []byte{spaceItem + 1}})
	if err != nil {
		return err
	}
	bytes := 0
	for ok := it.First(); ok && rows > 0; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		bytes, rows = bytes+len(v), rows-1
	}
	if rows > 0 && bytes == 0 {
		return errors.Join(errShort, it.Error(), it.Close())
	}
	return errors.Join(it.Error(), it.Close())
}

// quiet drops Pebble's routine log messages, and stops on fatal ones.
type quiet struct{}

func (quiet) Infof(string, ...any) {}
func (quiet) Errorf(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "enginebench: reference: "+format+"\n", a...)
}
func (quiet) Fatalf(format string, a ...any) {
	panic(fmt.Sprintf("enginebench: reference: "+format, a...))
}
