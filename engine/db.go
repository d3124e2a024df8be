package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/internal/backup"
	"github.com/onefold/onefold/engine/internal/calls"
	"github.com/onefold/onefold/engine/internal/capacity"
	"github.com/onefold/onefold/engine/internal/catalog"
	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/expr"
	"github.com/onefold/onefold/engine/internal/inventory"
	"github.com/onefold/onefold/engine/internal/request"
	"github.com/onefold/onefold/engine/internal/row"
	"github.com/onefold/onefold/engine/internal/store"
	"github.com/onefold/onefold/engine/internal/stripe"
)

// DB is an embedded DynamoDB. It is safe for concurrent use.
//
// A write takes the item's stripe, reads the old row, evaluates the condition, stages all changed
// rows in one batch, and applies it. It then releases its locks and waits until the log is on disk.
//
// Batches with stream records are applied one at a time under order, where they also get their
// sequence numbers. So the order of the numbers is the order of commits, and readers see the
// records in this order, without gaps.
type DB struct {
	inventoryReader // dynamo.Inventory

	o       Options
	store   *store.Store
	dir     string
	memory  bool
	parser  *expr.Parser
	stripes stripe.Set // locks on items
	tokens  stripe.Set // locks on idempotency tokens, taken after those of items
	commits sync.Pool  // *commit

	control sync.Mutex // held while tables are changed; guards nextID and format
	nextID  uint32
	format  byte // format version of the store
	tables  atomic.Pointer[map[string]*table]
	streams atomic.Pointer[map[uint32]*stream]

	order    sync.Mutex // guards the following fields and the open shards of all streams
	seq      uint64     // last sequence number assigned
	reserved uint64     // sequence numbers below it can be used without another write to disk

	applied atomic.Uint64 // last sequence number visible to readers
	unsaved atomic.Int64  // commits that readers may see but are not on disk yet

	postponed delayQueue
	counting  atomic.Bool // a recount is running after a crash
	recounts  sync.Mutex  // held during the recount of a table: two at once would apply the same correction twice

	calls   *calls.Gate
	closing context.CancelFunc
	work    sync.WaitGroup // maintenance, backfills and recounts
	backup  sync.Mutex     // held while a backup is made
	ctx     context.Context
}

var (
	_ dynamo.API       = (*DB)(nil)
	_ dynamo.Streams   = (*DB)(nil)
	_ dynamo.Inventory = (*DB)(nil)
)

type inventoryReader = inventory.Reader

// sequenceBlock is the number of sequence numbers reserved by one write to disk.
const sequenceBlock = 1 << 20

// firstID is the first ID of tables, indexes and streams. 0 means none.
const firstID = 1

const parserCache = 4096

// Open opens the database in a directory, and creates it if absent. Errors: ErrInUse, ErrBackup,
// ErrFormat, ErrCorrupt, ErrOptions, ErrNoDirectory, ErrFatal.
func Open(dir string, o Options) (*DB, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, ErrNoDirectory
	}
	if backup.Is(o.FS, dir) {
		return nil, fmt.Errorf("%w: %s", ErrBackup, dir)
	}
	return open(dir, o, false)
}

// OpenMemory opens an empty database in memory, which is lost when closed. Errors: ErrOptions.
func OpenMemory(o Options) (*DB, error) {
	o.FS = vfs.NewMem()
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return open("", o, true)
}

func open(dir string, o Options, memory bool) (*DB, error) {
	s, err := store.Open(dir, o.store(memory))
	if err != nil {
		return nil, fmt.Errorf("engine: open %s: %w", dir, damage.Of(err))
	}
	db := &DB{o: o, store: s, dir: dir, memory: memory, calls: calls.New(), parser: expr.NewParser(parserCache)}
	db.inventoryReader = inventory.Reader{Begin: db.begin, Has: func(table string) bool { _, err := db.schemaOf(&table); return err == nil }}
	db.commits.New = func() any { return &commit{db: db, kind: store.Shrinkage} }
	db.ctx, db.closing = context.WithCancel(context.Background())
	if err := db.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("engine: open %s: %w", dir, err), s.Close())
	}
	if err := db.markOpen(); err != nil {
		return nil, errors.Join(fmt.Errorf("engine: open %s: %w", dir, err), s.Close())
	}
	db.resumeBackfills()
	db.startUpkeep()
	return db, nil
}

// Close closes the database. It cancels long calls such as backups, and waits for running calls and
// background work. From its start, all calls return ErrClosed, as does a second Close, which does
// not wait. Do not call Close from a callback of another call, such as that of Check: it would
// deadlock.
func (db *DB) Close() error {
	if !db.calls.Close() {
		return ErrClosed
	}
	db.closing()
	db.calls.Wait()
	db.work.Wait()                                                     // after the calls, which may start some
	if err := db.saveCounts(true); err != nil && !dynamo.IsFull(err) { // without saved counts, the next Open counts again
		return errors.Join(err, db.store.Close())
	}
	if err := db.store.Close(); err != nil {
		return fmt.Errorf("engine: close: %w", err)
	}
	return nil
}

// operate starts a long call such as a backup, which Close cancels. The caller must call done.
func (db *DB) operate(ctx context.Context) (_ context.Context, done func(), err error) {
	call, err := db.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(db.ctx, cancel)
	return ctx, func() { stop(); cancel(); call.End() }, nil
}

// load reads the descriptors and counters, or initializes an empty store.
func (db *DB) load() error {
	format, err := db.store.Read(row.KeyFormat)
	if err != nil {
		return err
	}
	if format == nil {
		if err := db.store.Set(row.KeyFormat, []byte{catalog.FormatFirst}, db.writeSync()); err != nil {
			return err
		}
		format = []byte{catalog.FormatFirst}
	} else if len(format) != 1 || format[0] > catalog.FormatSupported {
		return ErrFormat
	}
	db.format = format[0]
	if db.o.IndexDelay > 0 && db.format < catalog.FormatPostponed {
		db.format = catalog.FormatPostponed
		if err := db.store.Set(row.KeyFormat, []byte{db.format}, db.writeSync()); err != nil {
			return err
		}
	}
	next, err := db.store.Counter(row.KeyIDs, firstID)
	if err != nil {
		return err
	}
	db.nextID = uint32(next)
	if db.reserved, err = db.store.Counter(row.KeySequence, 1); err != nil {
		return err
	}
	db.seq = db.reserved - 1
	db.applied.Store(db.seq)
	if err := db.loadStreams(); err != nil {
		return err
	}
	if err := db.loadTables(); err != nil || db.format < catalog.FormatPostponed {
		return err
	}
	return db.applyPostponed(math.MaxInt64)
}

func (db *DB) loadStreams() error {
	streams := map[uint32]*stream{}
	err := db.store.Each([]byte{row.SpaceStream}, func(_, v []byte) error {
		d, err := catalog.DecodeStream(v)
		if err == nil {
			streams[d.ID] = newStream(d)
		}
		return err
	})
	db.streams.Store(&streams)
	return err
}

func (db *DB) loadTables() error {
	tables := map[string]*table{}
	err := db.store.Each([]byte{row.SpaceTable}, func(_, v []byte) error {
		d, err := catalog.DecodeTable(v)
		if err == nil {
			tables[d.Name] = db.newTable(d)
		}
		return err
	})
	if err != nil {
		return err
	}
	db.tables.Store(&tables)
	return nil
}

func (db *DB) newTable(d *catalog.Table) *table {
	t := &table{meter: capacity.NewTable(db.o.KeyPrefix)}
	t.schema.Store(newSchema(t, d, (*db.streams.Load())[d.Stream], db.tableARN(d.Name)))
	return t
}

// joinClose closes c and returns err or, if that is nil, the error of closing.
func joinClose(err error, c io.Closer) error {
	if cerr := damage.Of(c.Close()); err == nil { // iterators repeat their read error when closed
		return cerr
	}
	return err
}

// dropStream removes a stream. The caller must hold control.
func (db *DB) dropStream(id uint32) {
	next := maps.Clone(*db.streams.Load())
	delete(next, id)
	db.streams.Store(&next)
}

// now returns the time by the injected clock.
func (db *DB) now() time.Time { return db.o.Clock() }

const account = "000000000000"

func (db *DB) tableARN(name string) string {
	return "arn:aws:dynamodb:" + db.o.Region + ":" + account + ":table/" + name
}

// begin is the first step of every request. The request must end the returned call, for which Close
// waits.
func (db *DB) begin(ctx context.Context) (calls.Call, error) {
	call, ok := db.calls.Enter()
	if !ok {
		return call, ErrClosed
	}
	if err := cmp.Or(ctx.Err(), db.store.Failure()); err != nil {
		call.End()
		return calls.Call{}, err
	}
	return call, nil
}

// begin is db.begin for a request. It replaces a nil input with an empty one, like the SDK's
// client.
func begin[In any](ctx context.Context, db *DB, in **In) (calls.Call, error) {
	if *in == nil {
		*in = new(In)
	}
	return db.begin(ctx)
}

// schemaOf returns the schema of a table for reading.
func (db *DB) schemaOf(name *string) (*schema, error) {
	t := (*db.tables.Load())[request.TableName(name)]
	if t == nil {
		return nil, request.NoTable()
	}
	s := t.schema.Load()
	if s == nil {
		return nil, request.NoTable()
	}
	return s, nil
}

// enter returns the schema of a table for writing. The caller must leave it.
func (db *DB) enter(name *string) (*schema, error) {
	t := (*db.tables.Load())[request.TableName(name)]
	if t == nil {
		return nil, request.NoTable()
	}
	t.gate.RLock()
	s := t.schema.Load()
	if s == nil {
		t.gate.RUnlock()
		return nil, request.NoTable()
	}
	return s, nil
}

func (s *schema) leave() { s.table.gate.RUnlock() }

// setTable publishes a table under its name, or removes the name if t is nil. The caller must hold
// control.
func (db *DB) setTable(name string, t *table) {
	next := maps.Clone(*db.tables.Load())
	if t == nil {
		delete(next, name)
	} else {
		next[name] = t
	}
	db.tables.Store(&next)
}

// setStream publishes a stream. The caller must hold control.
func (db *DB) setStream(st *stream) {
	next := maps.Clone(*db.streams.Load())
	next[st.id] = st
	db.streams.Store(&next)
}
