package salvage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/logfile"
)

// collector collects the newest version of every row in a scratch store.
type collector struct {
	ctx      context.Context
	fs       vfs.FS
	dir      string
	tables   sstable.ReaderOptions // options for reading row files
	scratch  *pebble.DB
	erased   []erasure
	gaps     []gap
	report   func(Loss)
	progress func(done, total int64)
	done     int64
	total    int64
	passed   int
}

// file is one of the store's files.
type file struct {
	name   string
	number uint64
	size   int64
	extra  bool // not named in the manifest
}

// collect reads all files.
func (c *collector) collect() error {
	tables, err := c.list(".sst")
	if err != nil {
		return err
	}
	logs, err := c.list(".log")
	if err != nil {
		return err
	}
	m, whole := c.manifest()
	if whole {
		tables = c.counted(tables, m)
		logs = slices.DeleteFunc(logs, func(f file) bool { return f.number < m.Log })
	}
	for _, f := range append(slices.Clone(tables), logs...) {
		c.total += f.size
	}
	for _, f := range tables {
		if err := c.table(f, m.Tables[f.number]); err != nil {
			return err
		}
	}
	for _, f := range logs {
		if err := c.log(f); err != nil {
			return err
		}
	}
	return nil
}

// list returns the files of a type, oldest first.
func (c *collector) list(suffix string) (files []file, err error) {
	names, err := c.fs.List(c.dir)
	if err != nil {
		return nil, fmt.Errorf("salvage: list %s: %w", c.dir, err)
	}
	for _, name := range names {
		number, ok := logfile.Number(name, suffix)
		if !ok {
			continue
		}
		info, err := c.fs.Stat(c.fs.PathJoin(c.dir, name))
		if err != nil {
			return nil, fmt.Errorf("salvage: %w", err)
		}
		files = append(files, file{name: name, number: number, size: info.Size()})
	}
	slices.SortFunc(files, func(a, b file) int { return int(a.number) - int(b.number) })
	return files, nil
}

// manifest determines which files are part of the store. If it cannot be read, all are.
func (c *collector) manifest() (m logfile.Manifest, whole bool) {
	m, _, err := logfile.ReadManifest(c.fs, c.dir)
	if err != nil {
		c.report(Loss{File: "manifest", Text: fmt.Sprintf("the list of files cannot be read (%v), so all files were: rows that were deleted or changed shortly before may be there as they were", err)})
	}
	return m, err == nil
}

// counted returns the files that are part of the store, and files that a truncated manifest may
// lack: a recently written file only contains rows that are also in the log, or in files that the
// manifest names.
func (c *collector) counted(there []file, m logfile.Manifest) (files []file) {
	newest, missing := uint64(0), maps.Clone(m.Tables)
	for number := range m.Tables {
		newest = max(newest, number)
	}
	for _, f := range there {
		_, named := m.Tables[f.number]
		if f.extra = !named; named || f.number > newest {
			files = append(files, f)
		}
		delete(missing, f.number)
	}
	for number, b := range missing {
		c.lose(fmt.Sprintf("%06d.sst", number), b.Least, b.Greatest, "the file is missing")
	}
	return files
}

// lose records that rows of a file could not be read.
func (c *collector) lose(name string, after, until []byte, why string) {
	if n := len(c.gaps); n > 0 && c.gaps[n-1].file == name && bytes.Equal(c.gaps[n-1].until, after) && after != nil {
		c.gaps[n-1].until = bytes.Clone(until)
		return
	}
	c.gaps = append(c.gaps, gap{name, bytes.Clone(after), bytes.Clone(until), why})
}

// table reads a row file.
func (c *collector) table(f file, b logfile.Bounds) error {
	t, err := openTable(c.ctx, c.fs, c.fs.PathJoin(c.dir, f.name), c.tables)
	if err != nil {
		if !f.extra { // otherwise it was being written when the process ended
			c.lose(f.name, before(b.Least), b.Greatest, "the file cannot be opened")
		}
		return c.step(f.size)
	}
	defer func() { _ = t.Close() }() // it was only read
	erased, err := t.erasures(c.ctx)
	if err != nil {
		c.report(Loss{File: f.name, Text: "what was deleted as a whole cannot be read: trimmed records of streams, or rows of deleted tables and indexes, may be there"})
	}
	c.erased = append(c.erased, erased...)
	err = t.each(c.keep, func(after, until []byte) {
		if after == nil {
			after = before(b.Least)
		}
		if until == nil {
			until = b.Greatest
		}
		c.lose(f.name, after, until, "a block of it cannot be read")
	})
	return errors.Join(err, c.step(f.size))
}

// before returns a key below the given one, with few keys in between.
func before(key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	return key[:len(key)-1]
}

// log reads a write-ahead log.
func (c *collector) log(f file) (err error) {
	in, err := c.fs.Open(c.fs.PathJoin(c.dir, f.name), vfs.SequentialReadsOption)
	if err != nil {
		c.report(Loss{File: f.name, Text: fmt.Sprintf("the log cannot be opened (%v): the last writes are lost", err)})
		return c.step(f.size)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	lost, err := logfile.Read(in, f.size, f.number, func(rec []byte) error { return c.batch(f, rec) })
	if err != nil {
		return err
	}
	for _, s := range lost {
		why := "a write that was cut off when the process ended, or damage"
		if s.Damaged || s.Closed {
			why = "the writes in them are lost, others before and behind them are not"
		}
		c.report(Loss{File: f.name, Text: fmt.Sprintf("%s cannot be read: %s", s, why)})
	}
	return c.step(f.size)
}

// batch processes one record of a log.
func (c *collector) batch(f file, rec []byte) error {
	h, ok := batchrepr.ReadHeader(rec)
	if !ok {
		c.report(Loss{File: f.name, Text: "a record is no batch of writes: it is lost"})
		return nil
	}
	in, seq := batchrepr.Read(rec), uint64(h.SeqNum)
	for {
		kind, key, value, ok, err := in.Next()
		if err != nil {
			c.report(Loss{File: f.name, Text: "a batch of writes cannot be read to its end: the rest of it is lost"})
		}
		if err != nil || !ok {
			return nil
		}
		switch kind {
		case pebble.InternalKeyKindLogData:
			continue // it has no sequence number
		case pebble.InternalKeyKindRangeDelete:
			c.erased = append(c.erased, erasure{bytes.Clone(key), bytes.Clone(value), seq})
		case pebble.InternalKeyKindSet:
			err = c.keep(version{key: key, value: value, seq: seq})
		default:
			err = c.keep(version{key: key, seq: seq, deleted: true})
		}
		if err != nil {
			return err
		}
		seq++
	}
}

const noteLen = 8 + 1 // prefix of values in the scratch store: sequence number, and whether the row was deleted

// keep stores a version unless a newer one is stored.
func (c *collector) keep(v version) error {
	if c.passed++; c.passed%1024 == 0 {
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	there, closer, err := c.scratch.Get(v.key)
	if err == nil {
		newer := binary.BigEndian.Uint64(there) >= v.seq
		if err := closer.Close(); err != nil || newer {
			return err
		}
	} else if !errors.Is(err, pebble.ErrNotFound) {
		return fmt.Errorf("salvage: scratch: %w", err)
	}
	return note(c.scratch, v)
}

func note(scratch *pebble.DB, v version) error {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, noteLen+len(v.value)), v.seq)
	deleted := byte(0)
	if v.deleted {
		deleted = 1
	}
	return scratch.Set(v.key, append(append(b, deleted), v.value...), pebble.NoSync)
}

func (c *collector) step(bytes int64) error {
	c.done += bytes
	c.progress(c.done, c.total)
	return c.ctx.Err()
}
