package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
)

// Options configure a store. All fields except Reserve are required.
type Options struct {
	FS            vfs.FS
	Memory        bool // FS is in memory: there is no log, and the disk cannot fail
	ReadOnly      bool
	CacheBytes    int64
	MemTableBytes int
	Reserve       int64 // free disk space to keep, in bytes; 0: the default, negative: none
	Logger        *slog.Logger
	OnFatal       func(error) // called at most once, if the disk fails while the store is open
}

// Store is an open store. Reads use Pebble's methods; the methods that write are below.
type Store struct {
	*pebble.DB
	disk *disk
	room *room
	lock *pebble.Lock
	work sync.WaitGroup // the watch
	save func()         // called before closing
	seal func() error   // called when closed
	warn func(msg string, args ...any)

	cacheBytes int64 // maximum size of cached blocks
	tables     sstable.ReaderOptions
	damaged    *damage.Log
}

// Open opens the store in a directory. If the store was closed properly, it compares the files with
// their state then.
func Open(dir string, o Options) (*Store, error) {
	lock, err := lockDir(dir, o)
	if err != nil {
		return nil, err
	}
	if err := unseal(o.FS, dir, o.ReadOnly, o.Logger.Warn); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s, err := open(dir, o, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func lockDir(dir string, o Options) (*pebble.Lock, error) {
	if !o.ReadOnly {
		if err := o.FS.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	return Lock(o.FS, dir)
}

// ErrInUse is returned if a directory is already open, in this process or another.
var ErrInUse = errors.New("engine: directory is in use")

// Lock prevents others from opening a directory. Pebble's file systems have no typed error for a
// lock that is held: if another process holds it, it is the operating system's error; in the same
// process it is only a text.
func Lock(fs vfs.FS, dir string) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil && (errors.Is(err, syscall.EAGAIN) || err.Error() == "lock held by current process") {
		err = fmt.Errorf("%w (%w)", ErrInUse, err)
	}
	return lock, err
}

func open(dir string, o Options, lock *pebble.Lock) (*Store, error) {
	r := &room{reserve: o.Reserve, usage: func() (vfs.DiskUsage, error) { return o.FS.GetDiskUsage(dir) }}
	told := damage.NewLog(o.Logger)
	s := &Store{room: r, damaged: told, disk: newDisk(o.FS, dir, r, o.OnFatal), lock: lock, save: func() {}, seal: func() error { return nil }, warn: o.Logger.Warn, cacheBytes: o.CacheBytes}
	if !o.Memory && !o.ReadOnly {
		raw := o.FS
		s.save, s.seal = s.saveLog, func() error { return seal(raw, dir) }
		o.FS = s.disk
	}
	with := settings(o, s.disk)
	with.Lock = lock
	s.tables = with.MakeReaderOptions()
	listen(with, s.disk, told)
	var err error
	s.DB, err = pebble.Open(dir, with)
	if failed := s.disk.failure(); failed != nil {
		if err == nil {
			_ = s.DB.Close() // the first error is reported
		}
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	s.disk.opened.Store(true)
	if failed := s.disk.failure(); failed != nil { // the disk failed in between
		_ = s.DB.Close() // the first error is reported
		return nil, failed
	}
	if !o.Memory && !o.ReadOnly {
		s.work.Go(s.disk.watch)
	}
	return s, nil
}

// Failure returns an ErrFatal if the store is unusable, otherwise nil. If it returns nil,
// everything awaited before the call is on disk.
func (s *Store) Failure() error { return s.disk.failure() }

// Fail makes the store unusable, like a failing disk.
func (s *Store) Fail(cause error) { s.disk.fail(cause) }

// Admit rejects a write of the given size, in batches about to be applied, if there is no space for
// it. Errors: a dynamo.Failure of kind Full.
func (s *Store) Admit(w Write, bytes int) error { return s.room.admit(w, bytes) }

// Space returns the current disk space.
func (s *Store) Space() Space { return s.room.look() }

// Look checks the disk at once. Otherwise it is checked once a second.
func (s *Store) Look() { s.disk.look() }

// Commit applies a batch if there is space for it.
func (s *Store) Commit(b *pebble.Batch, w Write, o *pebble.WriteOptions) error {
	if err := s.Admit(w, b.Len()); err != nil {
		return err
	}
	return s.Apply(b, o)
}

// Apply calls Pebble's Apply, and also fails if the disk is dead.
func (s *Store) Apply(b *pebble.Batch, o *pebble.WriteOptions) error {
	return cmp.Or(s.DB.Apply(b, o), s.Failure())
}

// ApplyNoSyncWait calls Pebble's ApplyNoSyncWait. Wait waits for the disk.
func (s *Store) ApplyNoSyncWait(b *pebble.Batch, o *pebble.WriteOptions) error {
	return s.DB.ApplyNoSyncWait(b, o) // Wait reports a failure
}

// Wait waits until a batch applied by ApplyNoSyncWait is on disk.
func (s *Store) Wait(b *pebble.Batch) error { return cmp.Or(b.SyncWait(), s.Failure()) }

// Set calls Pebble's Set, and also fails if the disk is dead.
func (s *Store) Set(key, value []byte, o *pebble.WriteOptions) error {
	return cmp.Or(s.DB.Set(key, value, o), s.Failure())
}

// LogData calls Pebble's LogData, and also fails if the disk is dead.
func (s *Store) LogData(data []byte, o *pebble.WriteOptions) error {
	return cmp.Or(s.DB.LogData(data, o), s.Failure())
}

// Close closes the store, to which all writes have ended. If the disk has no room for the end of the
// log or the seal, that is not an error: the files are then as after a crash. But it is an error if the log or manifest cannot be read as written: row.ErrCorrupt.
func (s *Store) Close() error {
	s.save()
	s.disk.end()
	s.disk.closing.Store(true)
	err := s.DB.Close()
	s.work.Wait()
	if s.Failure() != nil && s.disk.unended {
		s.warn("engine: store: the disk is full, so the log has no end; its entries are read when the database is opened again")
		return s.lock.Close()
	}
	if failed := s.Failure(); failed != nil || err != nil {
		return errors.Join(cmp.Or(failed, err), s.lock.Close())
	}
	err = s.seal()
	if errors.Is(err, row.ErrCorrupt) {
		return errors.Join(err, s.lock.Close())
	}
	if err != nil {
		s.warn("engine: store: damage of the log or the manifest may not be noticed when the database is opened again, because the seal was not written", "error", err)
	}
	return s.lock.Close()
}

// Verify verifies the checksum of every block in the row files of a directory.
func Verify(ctx context.Context, dir string, o Options) error {
	return damage.Verify(ctx, o.FS, dir, TableOptions(o))
}

// TableOptions returns options to read the store's row files without the store.
func TableOptions(o Options) sstable.ReaderOptions {
	return settings(o, newDisk(o.FS, "", new(room), o.OnFatal)).MakeReaderOptions()
}

// memTables is the maximum number of memory tables: one being filled, two being written out.
const memTables = 3

// settings configures Pebble for the engine's rows: mostly new keys, point reads of keys that often
// do not exist, and two cores. Bloom filters show that a key does not exist without reading a
// block. For measurements, see the engine's bench_test.go.
func settings(o Options, d *disk) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		ReadOnly:                    o.ReadOnly,
		CacheSize:                   o.CacheBytes + memTables*int64(o.MemTableBytes), // memory tables are allocated from the cache
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: memTables,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       20,
		LBaseMaxBytes:               128 << 20,
		MaxOpenFiles:                openFiles(),
		BytesPerSync:                1 << 20,
		WALBytesPerSync:             0,
		DisableWAL:                  o.Memory,
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      logger{o.Logger, d},
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].BlockSize = 16 << 10
		p.Levels[i].IndexBlockSize = 256 << 10
		p.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.FastestCompression }
	}
	p.Levels[len(p.Levels)-1].Compression = func() *sstable.CompressionProfile { return sstable.BalancedCompression }
	p.Experimental.SpanPolicyFunc = oneSpace
	return p
}

// listen handles Pebble's events while it is open.
func listen(p *pebble.Options, d *disk, told *damage.Log) {
	p.EventListener = &pebble.EventListener{
		DataCorruption:  told.Reading,
		BackgroundError: func(err error) { told.Background(err); d.room.failed(err) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { d.held.Store(true); d.stalls.begin() },
		WriteStallEnd:   func() { d.held.Store(false); d.stalls.end() },
	}
}

// oneSpace stores rows of different types in different files. A file of new stream records then
// overlaps no older file, which saves a fifth of the CPU time of an import. Expiry rows consist
// only of keys and are read once, so they are compressed as much as possible in the last level.
// Compressing items as much would trade CPU time in every compaction for space; its costs and
// savings have not been measured well enough.
func oneSpace(start []byte) (pebble.SpanPolicy, []byte, error) {
	return pebble.SpanPolicy{PreferFastCompression: start[0] != row.SpaceExpiry}, []byte{start[0] + 1}, nil
}

// logger logs Pebble's messages; routine ones at debug level.
type logger struct {
	log  *slog.Logger
	disk *disk
}

func (l logger) Infof(format string, args ...any) {
	l.log.Debug("engine: store: " + fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.log.Error("engine: store: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return: Pebble calls it when its own state is invalid. It is not called for disk
// errors. The panic is in a separate goroutine, because that of a request could be recovered while
// locks are held.
func (l logger) Fatalf(format string, args ...any) {
	msg := "engine: store: " + fmt.Sprintf(format, args...)
	l.disk.fail(errors.New(msg))
	go panic(msg)
	select {}
}
