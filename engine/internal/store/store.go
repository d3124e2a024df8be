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

// Options say how a store is opened. All fields but Reserve are required.
type Options struct {
	FS            vfs.FS
	Memory        bool // FS is in memory: there is no log, and no disk to fail
	ReadOnly      bool
	CacheBytes    int64
	MemTableBytes int
	Reserve       int64 // bytes of the disk that growth leaves free; 0: the default, negative: none
	Logger        *slog.Logger
	OnFatal       func(error) // called at most once, when the disk fails while the store is open
}

// Store is an open store. Reading is Pebble's; the methods that write are below.
type Store struct {
	*pebble.DB
	disk *disk
	room *room
	lock *pebble.Lock
	work sync.WaitGroup // the watch
	save func()         // before it is closed
	seal func() error   // when it is closed
	warn func(msg string, args ...any)

	cacheBytes int64 // of blocks, at most
	tables     sstable.ReaderOptions
	damaged    *damage.Log
}

// Open opens the store in a directory. It compares the files with what they were when the store was closed, if it was.
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

// ErrInUse is returned when a directory is open elsewhere, in this process or another.
var ErrInUse = errors.New("engine: directory is in use")

// Lock keeps others from opening a directory. Pebble's file systems know no error of their own for a lock that is held: it is
// the operating system's in another process, and a text in the same.
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
			_ = s.DB.Close() // it says no more
		}
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	s.disk.opened.Store(true)
	if failed := s.disk.failure(); failed != nil { // between the two
		_ = s.DB.Close() // it says no more
		return nil, failed
	}
	if !o.Memory && !o.ReadOnly {
		s.work.Go(s.disk.watch)
	}
	return s, nil
}

// Failure is why the store is of no use any more, an ErrFatal; nil while it is. What was waited for before it was asked
// is on disk when it returns nil.
func (s *Store) Failure() error { return s.disk.failure() }

// Fail ends the use of the store, as a disk that fails does.
func (s *Store) Fail(cause error) { s.disk.fail(cause) }

// Admit refuses a write of so many bytes, in batches about to be applied, for which there is no room. Errors: a
// dynamo.Failure of the kind Full.
func (s *Store) Admit(w Write, bytes int) error { return s.room.admit(w, bytes) }

// Space is what is known of the room on the disk now.
func (s *Store) Space() Space { return s.room.look() }

// Look is one step of the watch, which takes one a second by itself.
func (s *Store) Look() { s.disk.look() }

// Commit applies a batch for which there is room.
func (s *Store) Commit(b *pebble.Batch, w Write, o *pebble.WriteOptions) error {
	if err := s.Admit(w, b.Len()); err != nil {
		return err
	}
	return s.Apply(b, o)
}

// Apply is Pebble's.
func (s *Store) Apply(b *pebble.Batch, o *pebble.WriteOptions) error {
	return cmp.Or(s.DB.Apply(b, o), s.Failure())
}

// ApplyNoSyncWait is Pebble's. Wait waits for the disk.
func (s *Store) ApplyNoSyncWait(b *pebble.Batch, o *pebble.WriteOptions) error {
	return s.DB.ApplyNoSyncWait(b, o) // whoever waits learns of a failure
}

// Wait returns when a batch that ApplyNoSyncWait has applied is on disk.
func (s *Store) Wait(b *pebble.Batch) error { return cmp.Or(b.SyncWait(), s.Failure()) }

// Set is Pebble's.
func (s *Store) Set(key, value []byte, o *pebble.WriteOptions) error {
	return cmp.Or(s.DB.Set(key, value, o), s.Failure())
}

// LogData is Pebble's.
func (s *Store) LogData(data []byte, o *pebble.WriteOptions) error {
	return cmp.Or(s.DB.LogData(data, o), s.Failure())
}

// Close closes the store. What keeps it from noting how the files are is no error: they are as after a crash then. It is one that the
// log or the manifest cannot be read as they were written: row.ErrCorrupt.
func (s *Store) Close() error {
	s.save()
	s.disk.end()
	err := s.DB.Close()
	s.work.Wait()
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

// Verify compares every block of the tables in a directory with its checksum.
func Verify(ctx context.Context, dir string, o Options) error {
	return damage.Verify(ctx, o.FS, dir, TableOptions(o))
}

// TableOptions are what the store's tables of rows are read with, apart from the store.
func TableOptions(o Options) sstable.ReaderOptions {
	return settings(o, newDisk(o.FS, "", new(room), o.OnFatal)).MakeReaderOptions()
}

// memTables is how many memory tables there may be: one being filled, two being written out.
const memTables = 3

// settings sets Pebble up for the engine's rows: mostly new keys, point reads of keys that are often absent, and
// two cores. Bloom filters answer "absent" without touching a block. The measurements are in the engine's bench_test.go.
func settings(o Options, d *disk) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		ReadOnly:                    o.ReadOnly,
		CacheSize:                   o.CacheBytes + memTables*int64(o.MemTableBytes), // memory tables are taken from the cache
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

// listen passes on what Pebble tells while it is open.
func listen(p *pebble.Options, d *disk, told *damage.Log) {
	p.EventListener = &pebble.EventListener{
		DataCorruption:  told.Reading,
		BackgroundError: func(err error) { told.Background(err); d.room.failed(err) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { d.held.Store(true); d.stalls.begin() },
		WriteStallEnd:   func() { d.held.Store(false); d.stalls.end() },
	}
}

// oneSpace keeps rows of different spaces in different files: a file of new stream records then overlaps no older one,
// which saves a fifth of the processor time of an import. Expiry rows are nothing but keys, read once in their life: in
// the last level they are packed as tightly as can be. Packing items like that would trade processor time of every
// compaction for bytes; what it saves and costs was not measured well enough to tell.
func oneSpace(start []byte) (pebble.SpanPolicy, []byte, error) {
	return pebble.SpanPolicy{PreferFastCompression: start[0] != row.SpaceExpiry}, []byte{start[0] + 1}, nil
}

// logger passes on what Pebble has to say, apart from its routine notes.
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

// Fatalf must not return: Pebble calls it when its own state is not what it must be. Errors of the disk do not come here.
// The panic is in a goroutine of its own because that of a request may be recovered, and locks are held.
func (l logger) Fatalf(format string, args ...any) {
	msg := "engine: store: " + fmt.Sprintf(format, args...)
	l.disk.fail(errors.New(msg))
	go panic(msg)
	select {}
}
