package engine

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/onefold/onefold/engine/internal/damage"
	"github.com/onefold/onefold/engine/internal/row"
)

// memTables is how many memory tables there may be: one being filled, two being written out.
const memTables = 3

// storeOptions sets Pebble up for this package's rows: mostly new keys, point reads of keys that are often absent, and
// two cores. Bloom filters answer "absent" without touching a block. The measurements are in bench_test.go.
func storeOptions(o Options, memory bool) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		CacheSize:                   o.CacheBytes + memTables*int64(o.MemTableBytes), // memory tables are taken from the cache
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: memTables,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       20,
		LBaseMaxBytes:               128 << 20,
		MaxOpenFiles:                1000,
		BytesPerSync:                1 << 20,
		WALBytesPerSync:             0,
		DisableWAL:                  memory,
		FormatMajorVersion:          pebble.FormatTableFormatV6,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      storeLogger{o.Logger},
	}
	told := damage.NewLog(o.Logger)
	p.EventListener = &pebble.EventListener{DataCorruption: told.Reading, BackgroundError: told.Background}
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

// oneSpace keeps rows of different spaces in different files: a file of new stream records then overlaps no older one,
// which saves a fifth of the processor time of an import. Expiry rows are nothing but keys, read once in their life: in
// the last level they are packed as tightly as can be. Packing items like that would trade processor time of every
// compaction for bytes; what it saves and costs was not measured well enough to tell.
func oneSpace(start []byte) (pebble.SpanPolicy, []byte, error) {
	return pebble.SpanPolicy{PreferFastCompression: start[0] != row.SpaceExpiry}, []byte{start[0] + 1}, nil
}

// storeLogger passes on what Pebble has to say, apart from its routine notes.
type storeLogger struct{ log *slog.Logger }

func (l storeLogger) Infof(format string, args ...any) {
	l.log.Debug("engine: store: " + fmt.Sprintf(format, args...))
}

func (l storeLogger) Errorf(format string, args ...any) {
	l.log.Error("engine: store: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return. Damaged files do not come here: Pebble calls it when the log can no longer be written, and going on would acknowledge writes
// that are lost.
func (l storeLogger) Fatalf(format string, args ...any) {
	msg := "engine: store: " + fmt.Sprintf(format, args...)
	l.log.Error(msg)
	panic(msg)
}
